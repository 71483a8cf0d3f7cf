#include "backends/cpu/plan_builder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/cpu/channels_last.h"
#include "backends/cpu/pointwise_builder.h"
#include "kernels/views.h"
#include "support/checked.h"
#include "tensor/strided_loop.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kMaxBufferBytes = int64_t{1} << 42;

// A dimension of stride 0 repeats what was touched already.
uint64_t BytesTouched(const Tensor& tensor) {
  uint64_t bytes = SizeBytes(tensor.dtype());
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.stride(d) != 0 || tensor.size(d) == 0) {
      bytes *= static_cast<uint64_t>(tensor.size(d));
    }
  }
  return bytes;
}

uint64_t BytesTouched(const TileAccess& access, int64_t count) {
  uint64_t bytes = access.item_bytes;
  switch (access.kind) {
    case TileAccess::Kind::kLinear:
      return bytes * static_cast<uint64_t>(count);
    case TileAccess::Kind::kBlock:
    case TileAccess::Kind::kSplat:
      return bytes;
    case TileAccess::Kind::kStrided:
      for (const StridedDim& dim : access.dims) {
        if (dim.stride_bytes != 0) bytes *= static_cast<uint64_t>(dim.size);
      }
      return bytes;
  }
  return bytes;
}

// Saves what a tensor in a region input holds.
class SaveStep : public Step {
 public:
  SaveStep(const Tensor& tensor, Ref ref)
      : ref_(ref), item_bytes_(SizeBytes(tensor.dtype())) {
    const auto item = static_cast<int64_t>(item_bytes_);
    for (StridedLoop loop(tensor.sizes(), {tensor.strides()}); loop.Next();) {
      runs_.push_back({loop.offset(0) * item, loop.run(), loop.step(0) * item});
    }
  }
  bool Run(Frame& frame) override {
    if (frame.undo_log == nullptr) return true;
    const std::byte* at = frame.at<std::byte>(ref_);
    for (const Runs& r : runs_) {
      frame.undo_log->Save(at + r.offset_bytes, r.count, r.step_bytes,
                           item_bytes_);
    }
    return true;
  }
  std::string_view name() const override { return "save"; }

 private:
  struct Runs {
    int64_t offset_bytes = 0;
    int64_t count = 0;
    int64_t step_bytes = 0;
  };
  Ref ref_;
  size_t item_bytes_;
  std::vector<Runs> runs_;
};

}  // namespace

Expected<std::unique_ptr<Plan>> PlanBuilder::Build(const PlanRequest& request,
                                                   Diagnostics& diags) {
  TENON_ASSIGN(auto plan, TryBuild(request, true, diags));
  if (plan != nullptr) return plan;
  return TryBuild(request, false, diags);
}

Expected<std::unique_ptr<Plan>> PlanBuilder::TryBuild(
    const PlanRequest& request, bool keeps_weights, Diagnostics& diags) {
  PlanBuilder builder(request, keeps_weights);
  builder.BindInputs();
  TENON_TRY(builder.LowerAll(diags));
  TENON_TRY(builder.PlanOutputs(diags));
  builder.DropUnusedSteps();
  builder.FuseConvolutions();
  builder.MergePointwiseSteps();
  // Some steps are one for a convolution only now: x * sigmoid(x).
  builder.FuseConvolutions();
  builder.SumInPlace();
  if (!builder.MakeKeptSteps()) return std::unique_ptr<Plan>();
  if (!builder.PrepareConvolutions()) {
    return diags.Error(Rule::kRun01)
           << "backend cpu: oneDNN cannot run a convolution that it took";
  }
  TENON_TRY(builder.PlaceBuffers(diags));
  return builder.Finish();
}

// --- buffers ---

uint32_t PlanBuilder::AddBuffer(BufferKind kind, size_t size_bytes) {
  Buffer buffer;
  buffer.kind = kind;
  buffer.size_bytes = size_bytes;
  buffers_.push_back(std::move(buffer));
  stand_ins_.push_back(Storage::Borrow(nullptr, size_bytes, nullptr));
  const auto id = static_cast<uint32_t>(buffers_.size() - 1);
  buffer_of_storage_[stand_ins_.back().get()] = id;
  return id;
}

Tensor PlanBuilder::NewTensor(DType dtype, Sizes sizes, Sizes strides) {
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 0) return Tensor();
    if (sizes[d] == 0) {
      last = -1;
      break;
    }
    const auto step = CheckedMul(sizes[d] - 1, strides[d]);
    const auto sum = step ? CheckedAdd(last, *step) : std::nullopt;
    if (!sum) return Tensor();
    last = *sum;
  }
  const auto bytes =
      CheckedMul(last + 1, static_cast<int64_t>(SizeBytes(dtype)));
  // More than any machine has: sizes that only a damaged program asks for.
  if (!bytes || *bytes > kMaxBufferBytes) return Tensor();
  const uint32_t id =
      AddBuffer(BufferKind::kArena, static_cast<size_t>(*bytes));
  return Tensor(stand_ins_[id], dtype, std::move(sizes), std::move(strides), 0);
}

Tensor PlanBuilder::NewTensor(DType dtype, Sizes sizes) {
  Sizes strides = ContiguousStrides(sizes);
  return NewTensor(dtype, std::move(sizes), std::move(strides));
}

bool PlanBuilder::is_constant(const Tensor& tensor) const {
  const auto at = buffer_of_storage_.find(tensor.storage().get());
  return at == buffer_of_storage_.end() ||
         buffers_[at->second].kind == BufferKind::kConstant;
}

int64_t PlanBuilder::InputOf(const Tensor& tensor) const {
  const auto at = buffer_of_storage_.find(tensor.storage().get());
  if (at == buffer_of_storage_.end()) return -1;
  const Buffer& buffer = buffers_[at->second];
  return buffer.kind == BufferKind::kInput ? int64_t{buffer.input} : -1;
}

WeightSource PlanBuilder::SourceOf(const Tensor& weight) const {
  WeightSource source;
  const auto buffer = buffer_of_storage_.find(weight.storage().get());
  if (buffer != buffer_of_storage_.end() &&
      kept_roots_.contains(buffer->second)) {
    // Other values come at another address.
    source.is_constant = source.is_fixed = true;
    return source;
  }
  source.input = InputOf(weight);
  source.is_constant = is_constant(weight);
  source.is_fixed =
      source.is_constant ||
      (source.input >= 0 && !request_.inputs[static_cast<size_t>(source.input)]
                                 .tensor()
                                 .storage()
                                 ->writable());
  return source;
}

uint32_t PlanBuilder::BufferOf(const Tensor& tensor) {
  const auto at = buffer_of_storage_.find(tensor.storage().get());
  if (at != buffer_of_storage_.end()) return at->second;
  // A constant that is used for the first time.
  const uint32_t id =
      AddBuffer(BufferKind::kConstant, tensor.storage()->size_bytes());
  buffers_[id].storage = tensor.storage();
  buffer_of_storage_[tensor.storage().get()] = id;
  return id;
}

Ref PlanBuilder::RefOf(const Tensor& tensor) {
  return {BufferOf(tensor),
          tensor.offset() * static_cast<int64_t>(SizeBytes(tensor.dtype()))};
}

Ref PlanBuilder::TileOf(const Tensor& constant) {
  const size_t item = SizeBytes(constant.dtype());
  std::string key(reinterpret_cast<const char*>(constant.raw()), item);
  key += static_cast<char>(constant.dtype());
  const auto at = tiles_.find(key);
  if (at != tiles_.end()) return at->second;
  const uint32_t id = AddBuffer(BufferKind::kConstant, kTileElements * item);
  buffers_[id].storage =
      Storage::Allocate(static_cast<size_t>(kTileElements) * item, false);
  std::byte* to = buffers_[id].storage->mutable_data();
  for (int64_t i = 0; i < kTileElements; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * item, constant.raw(), item);
  }
  return tiles_[key] = Ref{id, 0};
}

// --- steps ---

void PlanBuilder::Emit(std::unique_ptr<Step> step,
                       std::span<const Tensor> reads,
                       std::span<const Tensor> writes) {
  PlannedStep planned;
  planned.step = std::move(step);
  planned.nodes = {current_};
  for (const Tensor& t : reads) {
    if (!t.defined()) continue;
    planned.reads.push_back(BufferOf(t));
    planned.bytes_read.emplace_back(planned.reads.back(), BytesTouched(t));
  }
  for (const Tensor& t : writes) {
    if (!t.defined()) continue;
    planned.writes.push_back(BufferOf(t));
    planned.bytes_written += BytesTouched(t);
  }
  Append(std::move(planned));
}

void PlanBuilder::EmitPartial(std::unique_ptr<Step> step,
                              std::span<const Tensor> reads,
                              const Tensor& target, const Tensor& part) {
  const Tensor writes[] = {target};
  Emit(std::move(step), reads, writes);
  PlannedStep& planned = steps_.back();
  planned.reads.push_back(BufferOf(target));
  planned.bytes_written = BytesTouched(part);
}

void PlanBuilder::EmitPointwise(TileProgram program) {
  PlannedStep planned;
  planned.nodes = {current_};
  for (const TileAccess& access : program.inputs) {
    planned.reads.push_back(access.ref.buffer);
    planned.bytes_read.emplace_back(access.ref.buffer,
                                    BytesTouched(access, program.count));
  }
  planned.writes.push_back(program.output.ref.buffer);
  planned.bytes_written = BytesTouched(program.output, program.count);
  auto step = std::make_unique<PointwiseStep>(std::move(program));
  planned.pointwise = step.get();
  planned.step = std::move(step);
  Append(std::move(planned));
}

void PlanBuilder::EmitConvolution(FusedConvolutionShape shape) {
  PlannedStep planned;
  planned.reads = {shape.x.buffer, shape.weight.buffer};
  if (shape.has_bias) planned.reads.push_back(shape.bias.buffer);
  planned.writes.push_back(shape.out.buffer);
  auto step = std::make_unique<FusedConvolutionStep>(std::move(shape));
  planned.convolution = step.get();
  planned.step = std::move(step);
  Append(std::move(planned));
}

void PlanBuilder::Append(PlannedStep planned) {
  for (const uint32_t b : planned.writes) {
    ForgetTwins(b);
    ForgetOrigins(b);
  }
  steps_.push_back(std::move(planned));
}

bool PlanBuilder::EmitCopy(const Tensor& from, const Tensor& to) {
  if (InputOf(to) >= 0 && to.numel() > 0) {
    const Tensor reads[] = {to};
    Emit(std::make_unique<SaveStep>(to, RefOf(to)), reads, {});
  }
  if (DifferInChannelOrder(from, to)) {
    const Tensor reads[] = {from};
    const Tensor writes[] = {to};
    Emit(TransposeChannels(from, RefOf(from), RefOf(to)), reads, writes);
    return true;
  }
  PointwiseBuilder expression(this, to);
  return expression.Emit(expression.LoadAs(from, to.dtype()));
}

bool PlanBuilder::EmitUpdate(const Tensor& from, const Tensor& to) {
  if (!from.SharesStorage(to)) return EmitCopy(from, to);
  if (from.offset() == to.offset() && from.sizes() == to.sizes() &&
      from.strides() == to.strides() && from.dtype() == to.dtype()) {
    return true;
  }
  const Tensor between = NewTensor(to.dtype(), from.sizes(), LikeStrides(from));
  return between.defined() && EmitCopy(from, between) && EmitCopy(between, to);
}

Tensor PlanBuilder::Contiguous(const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  const Tensor view = ViewOfTwin(tensor);
  if (view.defined() && view.is_contiguous()) return view;
  Tensor copy = NewTensor(tensor.dtype(), tensor.sizes());
  if (copy.defined() && !EmitCopy(tensor, copy)) return Tensor();
  return copy;
}

}  // namespace tenon::cpu
