// Who a program's state is, for the wiring digest: an entry is its kind, FQN,
// type and place in its storage; the first entry over a storage stands for it.
#pragma once

#include <vector>

#include "analysis/wiring_leaves.h"
#include "ir/program.h"
#include "support/hash.h"

namespace tenon {

class WiringState {
 public:
  WiringState(const Program& program, WiringLeaves* leaves)
      : program_(program), leaves_(*leaves) {}

  // References hold as long as the object.
  const Digest& OfEntry(StateId id) {
    if (entries_.empty()) HashAll();
    return entries_[id.index];
  }
  // Zero for a storage that no entry names.
  const Digest& OfStorage(StorageId id) {
    if (entries_.empty()) HashAll();
    return storages_[id.index];
  }

 private:
  void HashAll();

  const Program& program_;
  WiringLeaves& leaves_;
  std::vector<Digest> entries_;   // empty = not computed
  std::vector<Digest> storages_;  // of the first entry over it
};

}  // namespace tenon
