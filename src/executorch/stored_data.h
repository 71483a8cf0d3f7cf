// The bytes that a .pte holds: constants, and what state is at first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/pte/pte_program.h"
#include "support/byte_cursor.h"
#include "support/hash.h"

namespace tenon::executorch {

// Collects entries of one segment. Equal bytes are stored once.
class StoredData {
 public:
  // Entries lie at multiples of `alignment`.
  explicit StoredData(uint64_t alignment) : alignment_(alignment) {}

  // The entry's index, 1 or more: 0 is the placeholder.
  uint32_t Add(Bytes bytes);

  bool empty() const { return offsets_.size() == 1; }
  const std::vector<uint64_t>& offsets() const { return offsets_; }
  // All entries one after the other.
  FlatBlob TakeSegment();

 private:
  uint64_t alignment_;
  std::vector<uint64_t> offsets_ = {0};
  std::shared_ptr<std::string> bytes_ = std::make_shared<std::string>();
  std::map<std::pair<Digest, uint64_t>, uint32_t> known_;  // digest, size
};

}  // namespace tenon::executorch
