#include "backends/cpu/pointwise_builder.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/channels_last.h"
#include "backends/cpu/constants.h"
#include "backends/cpu/loops/library_tiles.h"
#include "backends/cpu/narrow_types.h"
#include "backends/cpu/plan_builder.h"
#include "kernels/broadcast.h"

namespace tenon::cpu {
namespace {

constexpr size_t kMaxDims = 16;  // after merging; what a step can walk

// Operands of the result's sizes have their channels last, and the others are
// the same all over a plane.
bool AreChannelsLast(const PlanBuilder& builder, const Tensor& out,
                     std::span<const Tensor> operands) {
  if ((out.dtype() != DType::kFloat32 && !IsHalf(out.dtype())) ||
      (out.dim() != 3 && out.dim() != 4) || !out.is_contiguous() ||
      HasChannelsLast(out)) {
    return false;
  }
  bool found = false;
  for (const Tensor& t : operands) {
    if (t.sizes() == out.sizes()) {
      if (!builder.FindChannelsLast(t).defined()) return false;
      found = true;
      continue;
    }
    const int64_t num_plane_dims = std::min(out.dim() - 2, t.dim());
    for (int64_t d = t.dim() - num_plane_dims; d < t.dim(); ++d) {
      if (t.size(d) != 1) return false;
    }
  }
  return found;
}

}  // namespace

PointwiseBuilder::PointwiseBuilder(PlanBuilder* builder, const Tensor& out,
                                   std::span<const Tensor> operands)
    : builder_(builder), result_(out), out_(out) {
  if (AreChannelsLast(*builder, out, operands)) {
    out_ = builder->NewChannelsLast(out);
    if (!out_.defined()) out_ = out;
  }
  BeginProgram();
}

void PointwiseBuilder::BeginProgram() {
  const Tensor& out = out_;
  program_.count = out.numel();
  for (size_t d = 0; d < out.sizes().size(); ++d) {
    if (out.sizes()[d] > 1) order_.push_back(d);
  }
  std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
    return out.strides()[a] > out.strides()[b];
  });
  if (program_.count > 0) program_.output = Access(out, out.strides());
}

TileAccess PointwiseBuilder::Access(const Tensor& tensor,
                                    const Sizes& strides) {
  using Kind = TileAccess::Kind;
  TileAccess access;
  access.item_bytes = static_cast<uint8_t>(SizeBytes(tensor.dtype()));
  access.ref = builder_->RefOf(tensor);
  for (const size_t d : order_) {
    const StridedDim dim{out_.sizes()[d],
                         strides[d] * static_cast<int64_t>(access.item_bytes)};
    if (!access.dims.empty() &&
        access.dims.back().stride_bytes == dim.stride_bytes * dim.size) {
      access.dims.back().size *= dim.size;
      access.dims.back().stride_bytes = dim.stride_bytes;
    } else {
      access.dims.push_back(dim);
    }
  }
  if (access.dims.empty()) {
    access.kind = Kind::kLinear;
  } else if (access.dims.size() > 1) {
    access.kind = Kind::kStrided;
    if (access.dims.size() > kMaxDims) is_valid_ = false;
  } else if (access.dims[0].stride_bytes == access.item_bytes) {
    access.kind = Kind::kLinear;
  } else if (access.dims[0].stride_bytes == 0) {
    access.kind = Kind::kSplat;
  } else {
    access.kind = Kind::kStrided;
  }
  if (access.kind != Kind::kStrided) access.dims.clear();
  return access;
}

TileValue PointwiseBuilder::Load(const Tensor& tensor) {
  const bool is_narrow = IsNarrow(tensor.dtype());
  if (program_.count == 0) return {0, tensor.dtype(), is_narrow};
  if (!BroadcastsTo(tensor.sizes(), out_.sizes())) {
    is_valid_ = false;
    return {0, tensor.dtype(), is_narrow};
  }
  // Read in the order in which the result is written.
  const Tensor last = tensor.sizes() == out_.sizes() && HasChannelsLast(out_)
                          ? builder_->FindChannelsLast(tensor)
                          : Tensor();
  const Tensor expanded =
      last.defined() ? last : ExpandTo(tensor, out_.sizes());
  TileAccess access = Access(expanded, expanded.strides());
  if (access.kind == TileAccess::Kind::kStrided && !last.defined() &&
      tensor.sizes() == out_.sizes()) {
    // A permuted tensor whose twin lies just so.
    const Tensor view = builder_->ViewOfTwin(tensor);
    if (view.defined()) {
      TileAccess other = Access(view, view.strides());
      if (other.kind == TileAccess::Kind::kLinear) access = std::move(other);
    }
  }
  if (tensor.numel() == 1 && program_.count > 1 &&
      builder_->is_constant(tensor)) {
    access.kind = TileAccess::Kind::kBlock;
    access.ref = builder_->TileOf(tensor);
  }
  const auto at =
      std::find(program_.inputs.begin(), program_.inputs.end(), access);
  const auto index = static_cast<TileRegister>(at - program_.inputs.begin());
  if (at == program_.inputs.end()) program_.inputs.push_back(access);
  if (program_.inputs.size() > PointwiseStep::kMaxInputs) is_valid_ = false;
  return {index, tensor.dtype(), is_narrow};
}

TileValue PointwiseBuilder::LoadAs(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype || !builder_->is_constant(tensor)) {
    return Cast(Load(tensor), dtype);
  }
  const Tensor cast = CastConstant(tensor, dtype);
  if (!cast.defined()) is_valid_ = false;
  return cast.defined() ? Load(cast) : TileValue{0, dtype};
}

TileValue PointwiseBuilder::LoadExact(const Tensor& number, DType dtype) {
  TileValue value = LoadAs(number, ComputedAs(dtype));
  value.dtype = dtype;
  return value;
}

TileRegister PointwiseBuilder::Convert(TileRegister from, DType from_type,
                                       DType to_type) {
  if (from_type == to_type) return from;
  TileInstruction code;
  code.run = BestLoops().find_cast(from_type, to_type);
  code.cast_from = from_type;
  code.cast_to = to_type;
  code.inputs[0] = from;
  if (code.run != nullptr) return Append(code, to_type).index;
  // Half precision by way of float32, bytes by way of an integer as wide as
  // those that it may come from.
  DType between = DType::kUnknown;
  if (ComputedAs(from_type) != from_type && ComputedAs(from_type) != to_type) {
    between = ComputedAs(from_type);
  } else if (IsByteInteger(to_type)) {
    between = DType::kInt64;
  } else if (ComputedAs(to_type) != to_type) {
    between = ComputedAs(to_type);
  }
  if (between == DType::kUnknown || between == from_type) {
    is_valid_ = false;
    return from;
  }
  return Convert(Convert(from, from_type, between), between, to_type);
}

TileValue PointwiseBuilder::Widened(TileValue value) {
  if (!value.is_narrow) return value;
  return {Convert(value.index, value.dtype, ComputedAs(value.dtype)),
          value.dtype};
}

TileValue PointwiseBuilder::Narrowed(TileValue value) {
  if (value.is_narrow || !IsNarrow(value.dtype)) return value;
  return {Convert(value.index, ComputedAs(value.dtype), value.dtype),
          value.dtype, true};
}

TileValue PointwiseBuilder::Cast(TileValue value, DType dtype) {
  if (value.dtype == dtype) return value;
  value = Narrowed(value);
  return {Convert(value.index, value.dtype, dtype), dtype, IsNarrow(dtype)};
}

TileValue PointwiseBuilder::Append(const TileInstruction& code, DType dtype) {
  program_.code.push_back(code);
  if (program_.code.size() > PointwiseStep::kMaxInstructions) {
    is_valid_ = false;
  }
  return {~static_cast<TileRegister>(program_.code.size() - 1), dtype};
}

TileValue PointwiseBuilder::Apply(TileOp op,
                                  std::initializer_list<TileValue> operands,
                                  double p, double q) {
  return ApplyTo((operands.end() - 1)->dtype, op, operands, p, q);
}

TileValue PointwiseBuilder::ApplyTo(DType result, TileOp op,
                                    std::initializer_list<TileValue> operands,
                                    double p, double q) {
  TileInstruction code;
  code.num_inputs = 0;
  const DType type = (operands.end() - 1)->dtype;
  const bool moves = op == TileOp::kCopy || op == TileOp::kWhere;
  const auto is_condition = [&](const TileValue& operand) {
    return op == TileOp::kWhere && &operand == operands.begin();
  };
  bool is_narrow = moves && IsNarrow(type);
  for (const TileValue& operand : operands) {
    if (operand.dtype != (is_condition(operand) ? DType::kBool : type)) {
      is_valid_ = false;
    }
    if (!is_condition(operand) && !operand.is_narrow) is_narrow = false;
  }
  for (const TileValue& operand : operands) {
    code.inputs[code.num_inputs++] =
        (is_narrow ? operand : Widened(operand)).index;
  }
  code.op = op;
  code.dtype = is_narrow ? type : ComputedAs(type);
  code.run = FindTileLoop(op, code.dtype);
  code.params[0] = p;
  code.params[1] = q;
  if (code.run == nullptr) is_valid_ = false;
  TileValue value = Append(code, result);
  value.is_narrow = is_narrow;
  return value;
}

bool PointwiseBuilder::Emit(TileValue result) {
  if (!is_valid_ || result.dtype != out_.dtype()) return false;
  if (program_.count == 0) return true;
  program_.result = Narrowed(result).index;
  if (!is_valid_) return false;
  builder_->EmitPointwise(std::move(program_));
  builder_->SetChannelsLast(result_, out_);
  return true;
}

}  // namespace tenon::cpu
