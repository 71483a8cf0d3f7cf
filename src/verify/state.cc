// V-STATE: parameters, buffers, constants.
//
// An entry's type says all of it in numbers. A tensor has a storage, and its
// view lies inside: the last element that sizes and strides reach is there,
// and no product of them overflows. A storage holds whole elements. No two
// entries of the state dict, and no two of the constants, have one name: a
// format that keeps them by name would lose one. A parameter is marked as one.
#include <algorithm>
#include <string>
#include <vector>

#include "ir/reach.h"
#include "verify/verification.h"

namespace tenon {
namespace {

DiagnosticBuilder EntryError(const Verification& v, Rule rule,
                             const StateEntry& entry) {
  return v.diags.Error(rule,
                       Place::Node(std::string(v.program.view(entry.fqn))))
         << Name(entry.kind) << ": ";
}

bool IsAllLiteral(const Type& t) {
  if (!t.has_static_sizes() || !t.storage_offset.is_literal()) return false;
  for (const SymInt& s : t.strides) {
    if (!s.is_literal() || s.value < 0) return false;
  }
  return true;
}

void CheckEntry(const Verification& v, const StateEntry& entry) {
  const Program& p = v.program;
  const Type& type = p.type(entry.type);
  // V-STATE-01: a tensor in numbers, or an object where the kind says so.
  const bool is_object = entry.kind == StateKind::kObject;
  if (is_object != (type.kind == TypeKind::kObject) ||
      (!is_object && (!type.is_tensor() || !IsAllLiteral(type)))) {
    EntryError(v, Rule::kState01, entry)
        << "the type is " << v.TypeText(entry.type) << ", expected "
        << (is_object ? "an object"
                      : "a tensor with sizes and strides in numbers");
    return;
  }
  // V-STATE-02: a tensor has a storage.
  if (entry.storage.valid() ? entry.storage.index >= p.state.storages.size()
                            : !is_object && !entry.is_pickled) {
    EntryError(v, Rule::kState02, entry) << "there is no such storage";
    return;
  }
  // V-STATE-05: marked as a parameter if it is one.
  if (entry.kind == StateKind::kParameter && !entry.is_param) {
    EntryError(v, Rule::kState05, entry)
        << "the entry isn't marked as a parameter of its file";
  }
  if (is_object || entry.is_pickled || !entry.storage.valid()) return;
  const StorageRecord& storage = p.state.storage(entry.storage);
  if (storage.is_weightless) return;
  const size_t size_bytes = storage.bytes.size();
  // V-STATE-03: whole elements.
  if (size_bytes % SizeBytes(type.dtype) != 0) {
    EntryError(v, Rule::kState03, entry)
        << "the storage has " << size_bytes << " bytes, no whole number of "
        << Name(type.dtype);
    return;
  }
  // V-STATE-04: the view lies inside.
  const auto reach = ReachBytes(type);
  if (!reach || *reach > size_bytes) {
    auto error = EntryError(v, Rule::kState04, entry);
    if (reach) {
      error << "the view reaches byte " << *reach << " of a storage of "
            << size_bytes;
    } else {
      error << "the view's extent overflows";
    }
  }
}

// V-STATE-06: names tell the entries of one dict apart.
void CheckNames(const Verification& v) {
  const Program& p = v.program;
  if (p.state.entries.empty()) return;
  constexpr uint32_t kNone = 0xFFFFFFFFu;
  const size_t num_names = p.context().strings.size();
  // By name, in each of the two dicts: the entry that has it. No name comes
  // last.
  std::vector<uint32_t> owners[2];
  for (uint32_t i = 0; i < p.state.entries.size(); ++i) {
    const StateEntry& entry = p.state.entries[i];
    std::vector<uint32_t>& owner_of = owners[entry.in_state_dict() ? 0 : 1];
    if (owner_of.empty()) owner_of.resize(num_names + 1, kNone);
    uint32_t& owner = owner_of[std::min<size_t>(entry.fqn.index, num_names)];
    if (owner == kNone) {
      owner = i;
    } else {
      EntryError(v, Rule::kState06, entry)
          << "entries " << owner << " and " << i << " have one name";
    }
  }
}

}  // namespace

void VerifyState(const Verification& v) {
  for (const StateEntry& entry : v.program.state.entries) CheckEntry(v, entry);
  CheckNames(v);
}

}  // namespace tenon
