#include "backends/cpu/plan_builder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/cpu/channels_last.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_widened.h"
#include "backends/cpu/pointwise_builder.h"
#include "kernels/views.h"
#include "support/checked.h"
#include "tensor/strided_loop.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kMaxBufferBytes = int64_t{1} << 42;

bool AnyTensor(const RuntimeValue& value,
               const std::function<bool(const Tensor&)>& predicate) {
  if (value.is_tensor()) return predicate(value.tensor());
  if (!value.is_list()) return false;
  return std::any_of(
      value.list().begin(), value.list().end(),
      [&](const RuntimeValue& item) { return AnyTensor(item, predicate); });
}

void ForEachTensor(RuntimeValue* value,
                   const std::function<void(Tensor*)>& visit) {
  if (value->is_tensor()) {
    visit(&value->tensor());
  } else if (value->is_list()) {
    for (RuntimeValue& item : value->list()) ForEachTensor(&item, visit);
  }
}

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

// Copies a constant's whole storage to fresh memory.
class CopyBytesStep : public Step {
 public:
  CopyBytesStep(Ref from, Ref to, size_t size_bytes)
      : from_(from), to_(to), size_bytes_(size_bytes) {}
  bool Run(Frame& frame) override {
    std::memcpy(frame.at<std::byte>(to_), frame.at<std::byte>(from_),
                size_bytes_);
    return true;
  }
  std::string_view name() const override { return "copy_bytes"; }

 private:
  Ref from_, to_;
  size_t size_bytes_;
};

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

// --- channels last ---

void PlanBuilder::ForgetTwins(uint32_t written) {
  twins_.erase(written);
  if (buffers_[written].kind != BufferKind::kInput) return;
  // Inputs may alias each other, so a write to one may be a write to any.
  std::erase_if(twins_, [&](const auto& entry) {
    return buffers_[entry.first].kind == BufferKind::kInput;
  });
}

Tensor PlanBuilder::FindChannelsLast(const Tensor& tensor) const {
  if (HasChannelsLast(tensor)) return tensor;
  const auto buffer = buffer_of_storage_.find(tensor.storage().get());
  if (buffer == buffer_of_storage_.end()) return Tensor();
  const auto at = twins_.find(buffer->second);
  if (at == twins_.end()) return Tensor();
  const Tensor& known = at->second.tensor;
  const bool is_same =
      known.dtype() == tensor.dtype() && known.sizes() == tensor.sizes() &&
      known.strides() == tensor.strides() && known.offset() == tensor.offset();
  return is_same ? at->second.last : Tensor();
}

Tensor PlanBuilder::ViewOfTwin(const Tensor& view) const {
  const auto buffer = buffer_of_storage_.find(view.storage().get());
  if (buffer == buffer_of_storage_.end()) return Tensor();
  const auto at = twins_.find(buffer->second);
  if (at == twins_.end() || view.numel() == 0) return Tensor();
  const Tensor& known = at->second.tensor;
  if (!known.is_contiguous() || known.dtype() != view.dtype() ||
      view.offset() < known.offset()) {
    return Tensor();
  }
  // An element lies in the tensor at (n * channels + c) * plane + i, in the
  // twin at (n * plane + i) * channels + c. A step of the view goes along one
  // of n, c and i, as long as it never carries into the next.
  const int64_t channels = known.size(1);
  const int64_t image = known.numel() / known.size(0);
  const int64_t plane = image / channels;
  const int64_t start = view.offset() - known.offset();
  int64_t last_channel = start % image / plane, last_pixel = start % plane;
  const int64_t offset = start / image * image + last_pixel * channels +
                         last_channel + at->second.last.offset();
  Sizes strides;
  for (int64_t d = 0; d < view.dim(); ++d) {
    const int64_t step = view.stride(d), reach = step * (view.size(d) - 1);
    if (step % image == 0) {
      strides.push_back(step);
    } else if (step % plane == 0) {
      strides.push_back(step / plane);
      last_channel += reach / plane;
    } else {
      strides.push_back(step * channels);
      last_pixel += reach;
    }
  }
  if (last_channel >= channels || last_pixel >= plane) return Tensor();
  return at->second.last.View(view.sizes(), strides, offset);
}

Tensor PlanBuilder::InChannelsLast(const Tensor& tensor) {
  Tensor last = FindChannelsLast(tensor);
  if (last.defined()) return last;
  last = NewTensor(tensor.dtype(), tensor.sizes(),
                   StridesWithChannelsLast(tensor.sizes()));
  if (!last.defined() || !EmitCopy(tensor, last)) return Tensor();
  twins_[BufferOf(tensor)] = {tensor, last};
  return last;
}

Tensor PlanBuilder::NewChannelsLast(const Tensor& result) {
  if (HasChannelsLast(result)) return result;
  return NewTensor(result.dtype(), result.sizes(),
                   StridesWithChannelsLast(result.sizes()));
}

void PlanBuilder::SetChannelsLast(const Tensor& result, const Tensor& last) {
  if (result.SharesStorage(last)) return;
  EmitCopy(last, result);
  twins_[BufferOf(result)] = {result, last};
}

// --- writing in place ---

bool PlanBuilder::updates_in_place() const {
  return may_update_ && (*request_.in_place_updates)[current_.index];
}

void PlanBuilder::Retarget(const Storage* from,
                           const std::shared_ptr<Storage>& to) {
  for (RuntimeValue& value : values_) {
    ForEachTensor(&value, [&](Tensor* t) {
      if (t->storage().get() != from) return;
      *t = Tensor(to, t->dtype(), t->sizes(), t->strides(), t->offset());
    });
  }
}

Tensor PlanBuilder::Writable(const Tensor& target) {
  if (!is_constant(target)) return target;
  const size_t size_bytes = target.storage()->size_bytes();
  const Ref from{BufferOf(target), 0};
  const uint32_t id = AddBuffer(BufferKind::kArena, size_bytes);
  const Tensor whole(stand_ins_[id], target.dtype(), target.sizes(),
                     target.strides(), target.offset());
  const Tensor reads[] = {target};
  const Tensor writes[] = {whole};
  Emit(std::make_unique<CopyBytesStep>(from, Ref{id, 0}, size_bytes), reads,
       writes);
  steps_.back().is_copy = true;
  Retarget(target.storage().get(), stand_ins_[id]);
  return whole;
}

bool PlanBuilder::Overwrite(Tensor* target, const Tensor& value) {
  const size_t item = SizeBytes(target->dtype());
  const bool fills_buffer = target->is_dense() && target->offset() == 0 &&
                            target->numel() > 0 &&
                            static_cast<size_t>(target->numel()) * item ==
                                target->storage()->size_bytes();
  const bool is_alike =
      value.dtype() == target->dtype() && value.sizes() == target->sizes() &&
      value.strides() == target->strides() && value.offset() == 0;
  if (fills_buffer && is_alike && InputOf(*target) < 0 && !is_constant(value) &&
      InputOf(value) < 0) {
    Retarget(target->storage().get(), value.storage());
    *target = value;
    return true;
  }
  *target = Writable(*target);
  return EmitCopy(value, *target);
}

// --- lowering ---

void PlanBuilder::BindInputs() {
  values_.resize(request_.region->num_values());
  bound_inputs_.resize(request_.inputs.size());
  may_update_ = request_.in_place_updates != nullptr;
  const auto& ids = request_.region->root().inputs;
  for (uint32_t i = 0; i < ids.size(); ++i) {
    const RuntimeValue& input = request_.inputs[i];
    if (!input.is_tensor()) {
      values_[ids[i].index] = input;
      continue;
    }
    const Tensor& t = input.tensor();
    const size_t skipped =
        static_cast<size_t>(t.offset()) * SizeBytes(t.dtype());
    const uint32_t id =
        AddBuffer(BufferKind::kInput, t.storage()->size_bytes() - skipped);
    buffers_[id].input = i;
    // A copy of a tensor with gaps has none, and those who read it count on
    // that.
    const bool is_replaced = std::any_of(
        request_.replaced.begin(), request_.replaced.end(),
        [&](const DeclaredWrite& write) { return write.input == i; });
    may_update_ = may_update_ && (!is_replaced || t.is_dense());
    bound_inputs_[i] =
        Tensor(stand_ins_[id], t.dtype(), t.sizes(), t.strides(), 0);
    values_[ids[i].index] = bound_inputs_[i];
  }
}

RuntimeValue PlanBuilder::Read(const Arg& arg) const {
  const Program& region = *request_.region;
  switch (arg.kind) {
    case ArgKind::kValue:
      return values_[arg.v.value.index];
    case ArgKind::kInt:
      return arg.i;
    case ArgKind::kFloat:
      return arg.f;
    case ArgKind::kBool:
      return arg.i != 0;
    case ArgKind::kString:
      return std::string(region.view(arg.text));
    case ArgKind::kDtype:
      return arg.dtype();
    case ArgKind::kLayout:
      return arg.layout();
    case ArgKind::kMemoryFormat:
      return arg.memory_format();
    case ArgKind::kDevice:
      return DeviceValue{std::string(region.view(arg.device.type)),
                         arg.device.index};
    case ArgKind::kList: {
      RuntimeValue::List items;
      for (const Arg& item : region.args(arg.list)) items.push_back(Read(item));
      return items;
    }
    case ArgKind::kNone:
    case ArgKind::kComplex:
    case ArgKind::kGraph:
    case ArgKind::kOperator:
    case ArgKind::kObject:
    case ArgKind::kDict:
      break;  // refused, or None
  }
  return {};
}

bool PlanBuilder::Store(NodeId node, std::vector<RuntimeValue> results) {
  const Node& n = request_.region->node(node);
  uint32_t next = 0;
  for (size_t r = 0; r < results.size(); ++r) {
    FormItem item;
    if (n.form.valid()) {
      const Form& form = request_.region->context().form(n.form);
      if (r >= form.size()) return false;
      item = form[r];
    } else if (next >= n.results.count) {
      // Trailing results that nobody named.
      break;
    }
    if (item.kind == FormItem::Kind::kNone) continue;
    if (item.kind == FormItem::Kind::kValue) {
      if (next >= n.results.count) return false;
      values_[n.results[next++].index] = std::move(results[r]);
      continue;
    }
    if (!results[r].is_list() || results[r].list().size() != item.list_size ||
        next + item.list_size > n.results.count) {
      return false;
    }
    for (RuntimeValue& element : results[r].list()) {
      values_[n.results[next++].index] = std::move(element);
    }
  }
  return next == n.results.count;
}

bool PlanBuilder::LowerCall(const Lowering& lowering, KernelCall& call) {
  bool all_constant = true;
  for (size_t i = 0; i < call.num_args(); ++i) {
    all_constant = all_constant &&
                   !AnyTensor(call.arg(i),
                              [&](const Tensor& t) { return !is_constant(t); });
  }
  const Kernel kernel = FindKernel(lowering.name);
  const bool is_computed_now =
      lowering.kind == LoweringKind::kGeometry ||
      (all_constant && lowering.kind == LoweringKind::kPure &&
       kernel != nullptr);
  return is_computed_now ? kernel(call) : LowerWidened(*this, call, lowering);
}

bool PlanBuilder::LowerNode(NodeId node, std::string* error) {
  const Program& region = *request_.region;
  current_ = node;
  const std::string_view name = region.op_name(node);
  const Lowering* lowering = FindLowering(name);
  const OpSchema* schema = FindCallSchema(name);
  if (lowering == nullptr || schema == nullptr) {
    *error = "no lowering for '" + std::string(name) + "'";
    return false;
  }
  std::vector<RuntimeValue> args(schema->args.size());
  std::vector<bool> present(schema->args.size(), false);
  int position = 0;
  for (const Arg& arg : region.args(node)) {
    const std::string_view label = region.view(arg.name);
    const int labelled = label.empty() ? -1 : schema->FindArg(label);
    const int at = region.schema(node) != nullptr ? labelled : position;
    ++position;
    if (at < 0 || static_cast<size_t>(at) >= args.size()) {
      *error = "'" + std::string(name) + "' has no parameter '" +
               std::string(label) + "'";
      return false;
    }
    const auto slot = static_cast<size_t>(at);
    args[slot] = Read(arg);
    present[slot] = true;
  }
  if (!CompleteArgs(*schema, &args, present, error)) return false;
  KernelCall call(*schema, std::move(args));
  if (!LowerCall(*lowering, call)) {
    *error = std::string(name) + ": " + call.error();
    return false;
  }
  if (!Store(node, std::move(call.results()))) {
    *error = std::string(name) + ": the results don't fit the node";
    return false;
  }
  return true;
}

Status PlanBuilder::LowerAll(Diagnostics& diags) {
  const Program& region = *request_.region;
  for (const NodeId n : region.nodes(Program::kRoot)) {
    if (region.node(n).kind == NodeKind::kOutput) continue;
    std::string error;
    if (!LowerNode(n, &error)) {
      return diags.Error(Rule::kRun01,
                         Place::Node(region.Describe(Program::kRoot, n)))
             << "backend cpu: " << error;
    }
  }
  return {};
}

bool PlanBuilder::ReplaceInput(const DeclaredWrite& write, Tensor* output,
                               std::string* error) {
  const Tensor& input = bound_inputs_[write.input];
  if (input.sizes() != output->sizes() || input.dtype() != output->dtype()) {
    *error = "output " + std::to_string(write.output) + " is " +
             output->ToString() + " and can't replace input " +
             std::to_string(write.input) + ", " + input.ToString();
    return false;
  }
  if (!EmitUpdate(*output, input)) {
    *error = "cannot copy an output to the input that it replaces";
    return false;
  }
  *output = input;
  return true;
}

Status PlanBuilder::PlanOutputs(Diagnostics& diags) {
  std::vector<RuntimeValue> values;
  for (const Arg& arg : request_.region->outputs(Program::kRoot)) {
    values.push_back(Read(arg));
  }
  // Last of all, when whoever reads the inputs has done so. None of the other
  // outputs views them (BackendOptions::replaceable).
  const auto outputs = request_.region->outputs(Program::kRoot);
  for (const DeclaredWrite& write : request_.replaced) {
    const NodeId def =
        request_.region->value(outputs[write.output].value()).def;
    if (def.valid()) current_ = def;
    std::string error = "an output that replaces an input isn't a tensor";
    if (!values[write.output].is_tensor() ||
        !ReplaceInput(write, &values[write.output].tensor(), &error)) {
      return diags.Error(Rule::kRun01) << "backend cpu: " << error;
    }
  }
  for (RuntimeValue& value : values) {
    PlannedOutput output;
    output.value = std::move(value);
    if (output.value.is_list()) {
      return diags.Error(Rule::kUnsupported)
             << "backend cpu: a region output is a list";
    }
    if (output.value.is_tensor()) {
      output.value = Writable(output.value.tensor());
      output.buffer = BufferOf(output.value.tensor());
      Buffer& buffer = buffers_[output.buffer];
      if (buffer.kind == BufferKind::kArena) buffer.kind = BufferKind::kOutput;
    }
    outputs_.push_back(std::move(output));
  }
  return {};
}

}  // namespace tenon::cpu
