// Values on a CUDA device: what delegates there read and write, and the copies
// between them and the host.
//
// A value is copied when somebody on the other side wants it for the first
// time; neighbouring delegates of one device pass each other tensors there. All
// calls of delegates are in the root graph, so that a copy which ran once has
// run for whatever comes later.
#include <algorithm>

#include "executorch/plan_emitter.h"
#include "executorch/state_chains.h"

namespace tenon::executorch {
namespace {

constexpr int32_t kNoValue = -1;

bool Declares(const DelegateRegion& region, const StateLink& link) {
  const auto& writes = region.compiled.writes;
  return std::any_of(writes.begin(), writes.end(), [&](const DeclaredWrite& w) {
    return w.input == link.input && w.output == link.output;
  });
}

}  // namespace

void PlanEmitter::FindDeviceState() {
  device_index_.assign(program_.num_values(), kNoValue);
  resident_on_.assign(program_.num_values(), MemoryBlock::kHost);
  // State of several methods has a place in common, on the host.
  if (state_ != nullptr) return;
  for (const StateChain& chain : FindStateChains(program_)) {
    const auto region_of = [&](const StateLink& link) -> const DelegateRegion& {
      return delegates_[program_.node(link.call).delegate.index];
    };
    const auto is_call = [&](const StateLink& link) {
      const Node& node = program_.node(link.call);
      return node.kind == NodeKind::kDelegateCall &&
             node.delegate.index < delegates_.size();
    };
    if (!is_call(chain.links[0])) continue;
    const int8_t device = region_of(chain.links[0]).device;
    const bool stays = std::all_of(
        chain.links.begin(), chain.links.end(), [&](const StateLink& link) {
          return is_call(link) && region_of(link).device == device &&
                 Declares(region_of(link), link);
        });
    if (stays) resident_on_[chain.start.index] = device;
  }
}

void PlanEmitter::PutOnDevice(int8_t device, PteTensor* tensor) {
  if (!tensor->extra) tensor->extra.emplace();
  tensor->extra->device = PteDevice::kCuda;
  tensor->extra->device_index = device;
}

void PlanEmitter::EmitDeviceState(ValueId input, std::string name,
                                  PteTensor tensor, Bytes data,
                                  std::shared_ptr<const void> owner) {
  const int8_t device = resident_on_[input.index];
  if (!data.empty()) {
    PteTensor initial = tensor;
    weights_->Store(method_, name, data, owner, &initial);
    MemoryBlock constant;
    constant.size_bytes = data.size();
    constant.is_foreign = true;
    const int32_t from =
        draft_.AddTensor(std::move(initial), draft_.AddBlock(constant));
    to_fill_.emplace_back(from, kNoValue);
  }
  MemoryBlock block;
  block.size_bytes = data.size();
  block.is_state = true;
  block.device = device;
  tensor.extra.emplace();
  tensor.extra->name = std::move(name);
  PutOnDevice(device, &tensor);
  const int32_t index =
      draft_.AddTensor(std::move(tensor), draft_.AddBlock(block));
  if (!data.empty()) to_fill_.back().second = index;
  device_index_[input.index] = index;
}

// The runtime would write initial bytes to a device as if it were the host's
// memory. So the first call copies them there:
//
//   if needs_state { copy each to the device; needs_state = false }
void PlanEmitter::FillDeviceState() {
  if (to_fill_.empty()) return;
  PteTensor flag;
  flag.type = PteScalarType::kBool;
  PteTensor never = flag;
  MemoryBlock block;
  block.size_bytes = 1;
  block.is_foreign = true;
  static constexpr std::byte no{0}, yes{1};
  weights_->Store(method_, "tenon.false", {&no, 1}, nullptr, &never);
  const int32_t done =
      draft_.AddTensor(std::move(never), draft_.AddBlock(block));
  block.is_foreign = false;
  block.is_state = true;
  flag.data_index = mutable_data_->Add({&yes, 1}, nullptr);
  const int32_t needs_state =
      draft_.AddTensor(std::move(flag), draft_.AddBlock(block));
  const uint32_t jump = draft_.JumpIfFalse(needs_state);
  fills_.begin = draft_.next_instruction();
  for (const auto& [from, to] : to_fill_) {
    draft_.CallKernel("et_copy::_h2d_copy.out", {from, to, to});
  }
  fills_.end = draft_.next_instruction();
  draft_.CallKernel("aten::copy_",
                    {needs_state, done, draft_.AddBool(false), needs_state});
  draft_.JumpHere(jump);
}

std::optional<int32_t> PlanEmitter::NewTensorOn(int8_t device, ValueId v,
                                                const Place& place) {
  auto tensor = TensorOf(program_.type(v), place);
  if (!tensor) return std::nullopt;
  const auto bytes = BytesOf(*tensor);
  if (!bytes) {
    diags_.Error(Rule::kPte11, place) << "a value's bytes don't fit 63 bits";
    return std::nullopt;
  }
  if (device != MemoryBlock::kHost) PutOnDevice(device, &*tensor);
  MemoryBlock block;
  block.size_bytes = *bytes;
  block.device = device;
  return draft_.AddTensor(std::move(*tensor), draft_.AddBlock(block));
}

std::optional<int32_t> PlanEmitter::OnDevice(GraphId graph, NodeId n, ValueId v,
                                             int8_t device) {
  int32_t& index = device_index_[v.index];
  if (index != kNoValue) {
    if (draft_.block(index).device == device) return index;
    // From one device to another by way of the host.
    if (!ToHost(v, PlaceOf(graph, n))) return std::nullopt;
  }
  const auto there = NewTensorOn(device, v, PlaceOf(graph, n));
  if (!there) return std::nullopt;
  draft_.CallKernel("et_copy::_h2d_copy.out", {IndexOf(v), *there, *there});
  index = *there;
  return there;
}

bool PlanEmitter::ToHost(ValueId v, const Place& place) {
  const int32_t there = device_index_[v.index];
  if (there == kNoValue || IndexOf(v) != kNoValue) return true;
  const auto here = NewTensorOn(MemoryBlock::kHost, v, place);
  if (!here) return false;
  draft_.CallKernel("et_copy::_d2h_copy.out", {there, *here, *here});
  SetIndex(v, *here);
  return true;
}

bool PlanEmitter::OperandsToHost(GraphId graph, NodeId n) {
  bool holds = true;
  program_.ForEachOperand(
      n, [&](ValueId v) { holds = holds && ToHost(v, PlaceOf(graph, n)); });
  return holds;
}

bool PlanEmitter::EmitDeviceDelegate(GraphId graph, NodeId n) {
  const Node& node = program_.node(n);
  const DelegateRegion& region = delegates_[node.delegate.index];
  PteDelegateCall call;
  call.delegate_index = static_cast<int32_t>(draft_.plan.delegates.size());
  const auto args = program_.args(n);
  for (uint32_t i = 0; i < args.size(); ++i) {
    if (region.Absorbs(i)) continue;
    if (!args[i].is_value() || !program_.type(args[i].value()).is_tensor()) {
      return Refuse(graph, n, Rule::kUnsupported,
                    "a number that is passed to a delegate on a device");
    }
    const auto index = OnDevice(graph, n, args[i].value(), region.device);
    if (!index) return false;
    call.args.push_back(*index);
  }
  for (uint32_t j = 0; j < node.results.count; ++j) {
    const ValueId v = node.results[j];
    if (!program_.type(v).is_tensor()) {
      return Refuse(graph, n, Rule::kUnsupported,
                    "a delegate that gives a number");
    }
    int32_t& index = device_index_[v.index];
    for (const DeclaredWrite& write : region.compiled.writes) {
      if (write.output != j) continue;
      index = device_index_[args[write.input].value().index];
    }
    if (index == kNoValue) {
      const auto there = NewTensorOn(region.device, v, PlaceOf(graph, n));
      if (!there) return false;
      index = *there;
    }
    call.args.push_back(index);
  }
  AddDelegateCall(n, std::move(call));
  return true;
}

void PlanEmitter::CopyBack(ValueId from, ValueId state) {
  // Nothing that is returned shows the old state (CopyOldState), so its memory
  // may be written.
  const int32_t to = IndexOf(state);
  draft_.CallKernel("et_copy::_d2h_copy.out",
                    {device_index_[from.index], to, to});
}

}  // namespace tenon::executorch
