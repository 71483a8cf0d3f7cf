// Says what a file can't say of entries that share a storage.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/program.h"

namespace tenon {

class LostSharing {
 public:
  LostSharing(const Program* program, std::vector<std::string>* notes)
      : program_(*program), notes_(*notes) {}

  // The entry's storage gets a record: noted when it has one already, of
  // another dtype or among the other kind of state.
  void NoteNewRecord(const StateEntry& entry) {
    const auto [first, is_new] = first_user_.emplace(entry.storage, entry.fqn);
    if (is_new) return;
    notes_.push_back("'" + std::string(program_.view(first->second)) +
                     "' and '" + std::string(program_.view(entry.fqn)) +
                     "' share a storage, which the format can't say of them; "
                     "it was written twice");
  }

 private:
  const Program& program_;
  std::vector<std::string>& notes_;
  std::unordered_map<StorageId, StringId> first_user_;
};

}  // namespace tenon
