#include "xnnpack/stored_tensor.h"

#include <algorithm>
#include <utility>

namespace tenon::xnnpack {
namespace {

// Invalid where a value is no state, or state that some call changes.
StateId FixedState(const Program& program, ValueId v) {
  const Value& value = program.value(v);
  const auto& inputs = program.root().inputs;
  if (!value.is_input() || value.index >= inputs.size() ||
      inputs[value.index] != v ||
      value.index >= program.signature.inputs.size()) {
    return StateId();
  }
  const StateId state = program.signature.inputs[value.index].state;
  if (!state.valid()) return state;
  const auto& outputs = program.signature.outputs;
  const bool changes =
      std::any_of(outputs.begin(), outputs.end(), [&](const OutputSpec& o) {
        return o.state == state && (o.kind == OutputKind::kBufferMutation ||
                                    o.kind == OutputKind::kParameterMutation);
      });
  return changes ? StateId() : state;
}

}  // namespace

Tensor StoredTensor(const Program& program, ValueId v) {
  const StateId state = FixedState(program, v);
  if (!state.valid()) return Tensor();
  const StateEntry& entry = program.state.get(state);
  if (entry.kind == StateKind::kObject || entry.is_pickled ||
      !entry.storage.valid()) {
    return Tensor();
  }
  const Type& type = program.type(entry.type);
  const StorageRecord& record = program.state.storage(entry.storage);
  if (!type.is_tensor() || type.layout != Layout::kStrided ||
      !type.has_static_sizes() || record.is_weightless) {
    return Tensor();
  }
  Sizes sizes, strides;
  for (const SymInt& s : type.sizes) sizes.push_back(s.value);
  for (const SymInt& s : type.strides) strides.push_back(s.value);
  Tensor tensor(Storage::BorrowConst(record.bytes, record.owner), type.dtype,
                std::move(sizes), std::move(strides),
                type.storage_offset.value);
  const bool is_aligned =
      SizeBytes(type.dtype) != 0 && tensor.FitsStorage() &&
      reinterpret_cast<uintptr_t>(tensor.raw()) % SizeBytes(type.dtype) == 0;
  return is_aligned ? tensor : Tensor();
}

}  // namespace tenon::xnnpack
