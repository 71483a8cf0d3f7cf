#include "export/sharing.h"

#include <string>
#include <vector>

namespace tenon {
namespace {

std::string Describe(const Program& program, const StateEntry& entry) {
  return "'" + std::string(program.view(entry.fqn)) + "' (" +
         std::string(Name(entry.kind)) + ")";
}

bool IsTensor(const Program& program, const StateEntry& entry) {
  return entry.type.valid() && program.type(entry.type).is_tensor();
}

// False, with a report, when the format keeps the two apart.
bool MayShare(const Program& program, const StateEntry& a, const StateEntry& b,
              Diagnostics& diags) {
  const std::string pair =
      Describe(program, a) + " and " + Describe(program, b);
  if (a.in_state_dict() != b.in_state_dict()) {
    diags.Error(Rule::kT2).Note(
        Place(),
        "make both persistent or neither, or give one a storage of "
        "its own")
        << pair
        << " share a storage, but a .pt2 keeps one with the weights and the "
           "other with the constants";
    return false;
  }
  if (!IsTensor(program, a) || !IsTensor(program, b)) return true;
  const DType seen = program.type(a.type).dtype;
  const DType other = program.type(b.type).dtype;
  if (seen == other) return true;
  diags.Error(Rule::kT2).Note(
      Place(),
      "view one as the other's dtype in the program, or give one a "
      "storage of its own")
      << pair << " share a storage as " << Name(seen) << " and " << Name(other)
      << ", but a record of a .pt2 has one dtype";
  return false;
}

}  // namespace

Status CheckSharing(const Program& program, Diagnostics& diags) {
  const StateTable& state = program.state;
  std::vector<StateId> first(state.storages.size());
  std::vector<bool> is_reported(state.storages.size(), false);
  bool is_fine = true;
  for (uint32_t i = 0; i < state.entries.size(); ++i) {
    const StateEntry& entry = state.entries[i];
    if (!entry.storage.valid()) continue;
    const uint32_t s = entry.storage.index;
    if (!first[s].valid()) first[s] = StateId(i);
    if (is_reported[s]) continue;
    if (MayShare(program, state.get(first[s]), entry, diags)) continue;
    is_reported[s] = true;
    is_fine = false;
  }
  if (!is_fine) return Failure{};
  return {};
}

}  // namespace tenon
