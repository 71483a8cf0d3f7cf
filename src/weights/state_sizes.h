// Where a program's state has its bytes: by module, kind and dtype, and what of
// it is there more than once.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "weights/size_row.h"

namespace tenon {

// Each storage counts once, for the first entry of the table that has it: the
// rows of each table add up to `bytes`. A storage without its bytes (a stripped
// program) counts as what its tensors reach.
struct StateSizes {
  uint64_t bytes = 0;
  uint64_t num_entries = 0;
  std::vector<SizeRow> modules, kinds, dtypes;  // largest first

  // Names, in the order of the table, over one storage or equal storages.
  struct Group {
    uint64_t bytes = 0;  // of one storage
    std::vector<std::string> names;
  };
  // Several entries over one storage.
  std::vector<Group> shared;
  // Storages of equal bytes, one name for each; the most wasteful first.
  std::vector<Group> duplicates;
  // What the duplicates would save.
  uint64_t duplicate_bytes = 0;
};

// Modules are the dotted names before the last dot of FQNs, cut after `depth`
// names; 0 = not cut, "" = the root. Only storages of equal sizes and
// beginnings are read, in bounded memory.
StateSizes ComputeStateSizes(const Program& program, size_t depth);

}  // namespace tenon
