#include "analysis/wiring_state.h"

#include "analysis/wiring_tags.h"

namespace tenon {

void WiringState::HashAll() {
  const StateTable& state = program_.state;
  const Context& context = program_.context();
  entries_.resize(state.entries.size());
  storages_.resize(state.storages.size());
  std::vector<StringId> first_fqn(state.storages.size());
  for (size_t i = 0; i < state.entries.size(); ++i) {
    const StateEntry& e = state.entries[i];
    Hasher h;
    h.Add(uint64_t{kTagState});
    h.Add(static_cast<uint64_t>(e.kind));
    h.Add(context.view(e.fqn));
    h.Add(leaves_.Type(e.type));
    if (e.type.valid()) {
      leaves_.AddSymInt(program_.type(e.type).storage_offset, &h);
    }
    bool is_first = false;
    if (e.storage.valid()) {
      StringId& first = first_fqn[e.storage.index];
      is_first = !first.valid();
      if (is_first) {
        first = e.fqn;
      } else {
        h.Add(context.view(first));
      }
    }
    entries_[i] = h.Finish();
    // By position in the table: two entries may have one name.
    if (is_first) storages_[e.storage.index] = entries_[i];
  }
}

}  // namespace tenon
