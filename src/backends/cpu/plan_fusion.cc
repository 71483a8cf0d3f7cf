// Elementwise steps that become part of the convolution whose result they read.
//
//   convolution -> a                        convolution + shift + relu -> c
//   b = a * scale + shift      becomes      with the scale in the weights
//   c = relu(b)
//
// The fused step stands where the elementwise one stood, since what that reads
// besides may be computed only shortly before; so the convolution's own
// operands have to last until there.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "backends/cpu/plan_builder.h"

namespace tenon::cpu {
namespace {

using PostOp = ConvolutionPostOp;
using dnnl::algorithm;

constexpr size_t kMaxPostOps = 8;

bool Contains(const std::vector<uint32_t>& list, uint32_t item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

PostOp Activation(algorithm what, float alpha = 0, float beta = 0) {
  PostOp op;
  op.algorithm = what;
  op.alpha = alpha;
  op.beta = beta;
  return op;
}

// Reads a tile program as work on a convolution's result.
class EpilogueReader {
 public:
  EpilogueReader(const TileProgram& program, const std::vector<Buffer>& buffers,
                 bool keeps_nan, FusedConvolutionShape shape)
      : program_(program),
        buffers_(buffers),
        keeps_nan_(keeps_nan),
        shape_(std::move(shape)) {}

  // The convolution with the program's work added; none if it can't be.
  std::optional<FusedConvolutionShape> Read() {
    if (program_.count != shape_.count() || program_.code.empty() ||
        !IsElement(program_.output)) {
      return std::nullopt;
    }
    if (!FindResult()) return std::nullopt;
    for (size_t c = 0; c < program_.code.size(); ++c) {
      if (IsSilu(c)) {
        ++c;
        if (!Push(Activation(algorithm::eltwise_swish, 1))) return std::nullopt;
      } else if (!Add(program_.code[c])) {
        return std::nullopt;
      }
      current_ = ~static_cast<TileRegister>(c);
    }
    if (program_.result != current_ || shape_.post_ops.size() > kMaxPostOps) {
      return std::nullopt;
    }
    shape_.out = program_.output.ref;
    return std::move(shape_);
  }

 private:
  // Element i lies at i: with the channels last, as the convolution's result.
  static bool IsElement(const TileAccess& access) {
    return access.kind == TileAccess::Kind::kLinear && access.item_bytes == 4;
  }

  // The convolution's result is one of the inputs, read where it lies.
  bool FindResult() {
    bool found = false;
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      const TileAccess& access = program_.inputs[i];
      if (access.ref.buffer != shape_.out.buffer) continue;
      if (found || !IsElement(access) || !(access.ref == shape_.out)) {
        return false;
      }
      current_ = result_ = static_cast<TileRegister>(i);
      found = true;
    }
    return found;
  }

  // One value for each channel.
  bool IsChannel(const TileAccess& access) const {
    if (access.item_bytes != 4) return false;
    if (access.kind != TileAccess::Kind::kStrided) return false;
    return access.dims.size() == 2 && access.dims[0].stride_bytes == 0 &&
           access.dims[1].stride_bytes == 4 &&
           access.dims[1].size == shape_.out_channels;
  }

  // The value of an operand that is one known number.
  std::optional<float> Number(TileRegister r) const {
    const TileAccess& access = program_.inputs[static_cast<size_t>(r)];
    const Buffer& buffer = buffers_[access.ref.buffer];
    if (access.kind != TileAccess::Kind::kBlock ||
        buffer.kind != BufferKind::kConstant || access.item_bytes != 4) {
      return std::nullopt;
    }
    float value;
    std::memcpy(&value, buffer.storage->data() + access.ref.offset_bytes,
                sizeof value);
    return value;
  }

  // x * sigmoid(x), in two instructions.
  bool IsSilu(size_t at) const {
    if (at + 1 >= program_.code.size()) return false;
    const TileInstruction& code = program_.code[at];
    const TileInstruction& next = program_.code[at + 1];
    const TileRegister gate = ~static_cast<TileRegister>(at);
    return code.op == TileOp::kSigmoid && code.dtype == DType::kFloat32 &&
           code.inputs[0] == current_ && next.op == TileOp::kMul &&
           next.dtype == DType::kFloat32 &&
           ((next.inputs[0] == current_ && next.inputs[1] == gate) ||
            (next.inputs[0] == gate && next.inputs[1] == current_));
  }

  bool Add(const TileInstruction& code) {
    if (code.dtype != DType::kFloat32) return false;
    if (code.num_inputs == 1) {
      return code.inputs[0] == current_ && AddUnary(code);
    }
    if (code.num_inputs != 2) return false;
    const bool is_first = code.inputs[0] == current_;
    const TileRegister other = code.inputs[is_first ? 1 : 0];
    if ((!is_first && code.inputs[1] != current_) || other < 0 ||
        other == result_) {
      return false;
    }
    return AddBinary(code.op, other);
  }

  bool AddUnary(const TileInstruction& code) {
    const auto slope = static_cast<float>(code.params[0]);
    if (code.op == TileOp::kRelu) {
      return Push(Activation(algorithm::eltwise_relu));
    }
    if (code.op == TileOp::kLeakyRelu && slope != 0) {
      return Push(Activation(algorithm::eltwise_relu, slope));
    }
    if (code.op == TileOp::kHardSwish) {
      return Push(Activation(algorithm::eltwise_hardswish));
    }
    if (code.op == TileOp::kSilu) {
      return Push(Activation(algorithm::eltwise_swish, 1));
    }
    if (code.op == TileOp::kSigmoid) {
      return Push(Activation(algorithm::eltwise_logistic));
    }
    return false;
  }

  // The operations here are the same with their operands exchanged.
  bool AddBinary(TileOp op, TileRegister other) {
    const auto number = Number(other);
    if (number) return AddNumber(op, *number);
    if (op != TileOp::kMul && op != TileOp::kAdd) return false;
    const TileAccess& access = program_.inputs[static_cast<size_t>(other)];
    PostOp post;
    post.operand = access.ref;
    post.algorithm =
        op == TileOp::kMul ? algorithm::binary_mul : algorithm::binary_add;
    if (IsChannel(access)) {
      if (op == TileOp::kMul ? AddScale(access.ref) : AddShift(access.ref)) {
        return true;
      }
      post.kind = PostOp::Kind::kChannel;
    } else if (IsElement(access)) {
      post.kind = PostOp::Kind::kElement;
    } else {
      return false;
    }
    return Push(post);
  }

  // Into the weights, where that has to be done once only.
  bool AddScale(Ref scale) {
    if (!shape_.post_ops.empty() || shape_.has_scale || shape_.has_shift ||
        !shape_.weight_source.is_fixed) {
      return false;
    }
    shape_.has_scale = true;
    shape_.scale = scale;
    return true;
  }

  bool AddShift(Ref shift) {
    if (!shape_.post_ops.empty() || shape_.has_shift) return false;
    shape_.has_shift = true;
    shape_.shift = shift;
    return true;
  }

  bool AddNumber(TileOp op, float number) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    if (number != number) return false;  // a bound that nothing keeps
    if (op == TileOp::kMax) {
      return Push(Activation(algorithm::eltwise_clip, number, kInfinity));
    }
    if (op == TileOp::kMin) {
      // max, then min: one operation.
      if (!shape_.post_ops.empty()) {
        PostOp& last = shape_.post_ops.back();
        if (last.algorithm == algorithm::eltwise_clip &&
            last.beta == kInfinity && last.alpha <= number) {
          last.beta = number;
          return true;
        }
      }
      return Push(Activation(algorithm::eltwise_clip, -kInfinity, number));
    }
    if (op != TileOp::kMul && op != TileOp::kAdd) return false;
    const bool is_product = op == TileOp::kMul;
    if (!shape_.post_ops.empty() &&
        shape_.post_ops.back().algorithm == algorithm::eltwise_linear) {
      PostOp& last = shape_.post_ops.back();
      if (is_product) last.alpha *= number;
      last.beta = is_product ? last.beta * number : last.beta + number;
      return true;
    }
    return Push(is_product ? Activation(algorithm::eltwise_linear, number, 0)
                           : Activation(algorithm::eltwise_linear, 1, number));
  }

  // oneDNN 2.6 gives two activations of one kind the parameters of the first.
  bool Push(const PostOp& op) {
    if (op.kind == PostOp::Kind::kActivation) {
      if (keeps_nan_ && op.algorithm != algorithm::eltwise_linear) return false;
      for (const PostOp& other : shape_.post_ops) {
        if (other.algorithm == op.algorithm) return false;
      }
    }
    shape_.post_ops.push_back(op);
    return true;
  }

  const TileProgram& program_;
  const std::vector<Buffer>& buffers_;
  const bool keeps_nan_;
  FusedConvolutionShape shape_;
  TileRegister result_ = 0;   // the convolution's, which nobody will have
  TileRegister current_ = 0;  // what the work so far gives
};

}  // namespace

// The elementwise step that alone reads a convolution's result; 0 if there is
// none.
size_t PlanBuilder::FindOnlyReader(size_t convolution) const {
  const uint32_t out = steps_[convolution].writes[0];
  const std::vector<size_t>& touches = touches_[out];
  if (buffers_[out].kind != BufferKind::kArena || touches.size() != 2 ||
      touches[0] != convolution || steps_[touches[1]].pointwise == nullptr) {
    return 0;
  }
  return touches[1];
}

std::optional<FusedConvolutionShape> PlanBuilder::Fused(size_t convolution,
                                                        size_t reader) const {
  const PlannedStep& from = steps_[convolution];
  const PlannedStep& to = steps_[reader];
  const uint32_t written = to.writes[0];
  const bool is_input = buffers_[written].kind == BufferKind::kInput;
  for (const uint32_t b : from.reads) {
    // Not overwritten before the step is run, nor while it is.
    if (WritesBetween(b, convolution, reader) || b == written ||
        (is_input && buffers_[b].kind == BufferKind::kInput)) {
      return std::nullopt;
    }
  }
  for (const uint32_t b : to.reads) {
    if (b == from.writes[0] || touches_[b].empty()) continue;
    // Of two convolutions whose results meet, the later takes the step: the
    // operands of the earlier need not last so long.
    for (const size_t s : touches_[b]) {
      if (s > convolution && s < reader && steps_[s].convolution != nullptr &&
          steps_[s].writes[0] == b) {
        return std::nullopt;
      }
    }
  }
  EpilogueReader epilogue(to.pointwise->program(), buffers_, request_.keeps_nan,
                          from.convolution->shape());
  auto shape = epilogue.Read();
  if (!shape) return std::nullopt;
  // Operands must not be what is being written.
  for (const PostOp& op : shape->post_ops) {
    if (op.kind != PostOp::Kind::kActivation && op.operand.buffer == written) {
      return std::nullopt;
    }
  }
  const bool is_alike =
      shape->post_ops.size() == from.convolution->shape().post_ops.size();
  if (!is_alike && !FusedConvolutionStep::IsFast(*shape)) return std::nullopt;
  return shape;
}

bool PlanBuilder::TryFuse(size_t convolution, size_t reader) {
  auto shape = Fused(convolution, reader);
  if (!shape) return false;
  PlannedStep& from = steps_[convolution];
  PlannedStep& to = steps_[reader];
  touches_[from.writes[0]].clear();
  std::erase(to.reads, from.writes[0]);
  for (const uint32_t b : from.reads) {
    std::vector<size_t>& touches = touches_[b];
    std::erase(touches, convolution);
    if (Contains(to.reads, b)) continue;
    to.reads.push_back(b);
    touches.insert(std::lower_bound(touches.begin(), touches.end(), reader),
                   reader);
  }
  to.convolution = from.convolution;
  to.convolution->set_shape(*std::move(shape));
  to.pointwise = nullptr;
  to.step = std::move(from.step);
  from = PlannedStep();
  return true;
}

void PlanBuilder::FuseConvolutions() {
  FindTouches();
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (steps_[s].convolution == nullptr) continue;
    for (size_t at = s; at != 0;) {
      const size_t reader = FindOnlyReader(at);
      at = reader != 0 && TryFuse(at, reader) ? reader : 0;
    }
  }
  std::erase_if(steps_, [](const PlannedStep& s) { return s.step == nullptr; });
}

// A residual that is added may be where the result goes, if nobody needs it
// any more: oneDNN has faster kernels for that.
void PlanBuilder::SumInPlace(size_t convolution) {
  FusedConvolutionStep& step = *steps_[convolution].convolution;
  FusedConvolutionShape shape = step.shape();
  const Buffer& out = buffers_[shape.out.buffer];
  if (out.kind != BufferKind::kArena ||
      touches_[shape.out.buffer].front() != convolution ||
      shape.out.offset_bytes != 0) {
    return;
  }
  for (PostOp& op : shape.post_ops) {
    const uint32_t b = op.operand.buffer;
    if (op.kind != PostOp::Kind::kElement ||
        op.algorithm != algorithm::binary_add || op.operand.offset_bytes != 0 ||
        buffers_[b].kind != BufferKind::kArena ||
        buffers_[b].size_bytes != out.size_bytes ||
        touches_[b].back() != convolution || b == shape.x.buffer ||
        b == shape.weight.buffer ||
        (shape.has_bias && b == shape.bias.buffer)) {
      continue;
    }
    const auto num_uses = std::count_if(
        shape.post_ops.begin(), shape.post_ops.end(), [&](const PostOp& other) {
          return other.kind != PostOp::Kind::kActivation &&
                 other.operand.buffer == b;
        });
    if (num_uses != 1) continue;
    op.kind = PostOp::Kind::kSum;
    if (FusedConvolutionStep::IsFast(shape)) step.set_shape(std::move(shape));
    return;
  }
}

void PlanBuilder::SumInPlace() {
  FindTouches();
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (steps_[s].convolution != nullptr) SumInPlace(s);
  }
}

bool PlanBuilder::PrepareConvolutions() {
  std::unordered_map<uint32_t, int> uses;  // of each weight
  for (PlannedStep& planned : steps_) {
    if (planned.convolution == nullptr) continue;
    const FusedConvolutionShape& shape = planned.convolution->shape();
    const int use = shape.has_scale ? uses[shape.weight.buffer]++ : 0;
    const auto scratch_bytes =
        planned.convolution->Prepare(packed_weights(), use);
    if (!scratch_bytes) return false;
    const uint32_t scratch = AddBuffer(BufferKind::kArena, *scratch_bytes);
    planned.convolution->set_scratch({scratch, 0});
    planned.writes.push_back(scratch);
  }
  return true;
}

}  // namespace tenon::cpu
