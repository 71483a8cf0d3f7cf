#include "weights/state_tensor.h"

#include <algorithm>

namespace tenon {
namespace {

Sizes Literals(const std::vector<SymInt>& values) {
  Sizes out;
  out.reserve(values.size());
  for (const SymInt& value : values) out.push_back(value.value);
  return out;
}

}  // namespace

bool IsPlainTensor(const Program& program, const StateEntry& entry) {
  return entry.type.valid() && program.type(entry.type).is_tensor() &&
         !entry.is_pickled && entry.storage.valid() &&
         entry.storage.index < program.state.storages.size();
}

Sizes LiteralSizes(const Type& type) { return Literals(type.sizes); }

Tensor TensorOver(const Type& type, Bytes bytes,
                  std::shared_ptr<const void> owner) {
  Tensor tensor(Storage::BorrowConst(bytes, std::move(owner)), type.dtype,
                Literals(type.sizes), Literals(type.strides),
                type.storage_offset.value);
  return tensor.FitsStorage() ? tensor : Tensor();
}

Tensor StateTensor(const Program& program, const StateEntry& entry) {
  if (!IsPlainTensor(program, entry)) return Tensor();
  const StorageRecord& storage = program.state.storage(entry.storage);
  if (storage.is_weightless) return Tensor();
  return TensorOver(program.type(entry.type), storage.bytes, storage.owner);
}

Status CheckExpansion(const Program& program, Diagnostics& diags) {
  constexpr uint64_t kAlwaysBytes = uint64_t{1} << 30;
  const size_t errors_before = diags.num_errors();
  for (const StateEntry& entry : program.state.entries) {
    const Tensor tensor = StateTensor(program, entry);
    if (!tensor.defined()) continue;
    const uint64_t max_bytes =
        std::max(kAlwaysBytes, tensor.storage()->size_bytes() * kMaxExpansion);
    const auto count = static_cast<uint64_t>(tensor.numel());
    if (count <= max_bytes / SizeBytes(tensor.dtype())) continue;
    diags.Error(Rule::kUnsupported,
                Place::Node(std::string(program.view(entry.fqn))))
        << "a tensor of " << count << " elements over a storage of "
        << tensor.storage()->size_bytes() << " bytes";
  }
  if (diags.num_errors() > errors_before) return Failure{};
  return {};
}

}  // namespace tenon
