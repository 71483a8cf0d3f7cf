// One line of a table of sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon {

struct SizeRow {
  std::string name;
  uint64_t bytes = 0;
  uint64_t count = 0;  // of tensors, or of members
};

// Largest first; equal sizes by name.
void SortBySize(std::vector<SizeRow>* rows);

}  // namespace tenon
