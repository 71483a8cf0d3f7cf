// Parameters, buffers, constants: keyed by storage, found by FQN.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/ids.h"
#include "ir/kinds.h"
#include "support/byte_cursor.h"

namespace tenon {

// The bytes of one tensor storage, little endian, borrowed from `owner` (a
// mapped file, a buffer). Entries that name one storage alias each other.
struct StorageRecord {
  Bytes bytes;
  std::shared_ptr<const void> owner;
  // Sizes only: a program without its weights ("fake" tensors).
  bool is_weightless = false;
};

struct StateEntry {
  StringId fqn;
  StateKind kind = StateKind::kConstant;
  // Tensor entries: sizes, strides and offset are literals. Objects: kObject.
  TypeId type;
  StorageId storage;  // invalid for objects that have no bytes
  // How the file kept it: marked as nn.Parameter (which can differ from
  // `kind` for entries that no graph input refers to), and as a pickle.
  bool is_param = false;
  bool is_pickled = false;

  // Whether its value belongs to the state dict (rule L-4).
  bool in_state_dict() const {
    return kind == StateKind::kParameter ||
           kind == StateKind::kPersistentBuffer;
  }
};

// All state of a program, in file order. Order is the order of lifting (L-1).
struct StateTable {
  std::vector<StateEntry> entries;
  std::vector<StorageRecord> storages;

  StateId Add(StateEntry entry) {
    entries.push_back(entry);
    return StateId(entries.size() - 1);
  }
  StorageId AddStorage(StorageRecord record) {
    storages.push_back(std::move(record));
    return StorageId(storages.size() - 1);
  }
  const StateEntry& get(StateId id) const { return entries[id.index]; }
  const StorageRecord& storage(StorageId id) const {
    return storages[id.index];
  }
};

}  // namespace tenon
