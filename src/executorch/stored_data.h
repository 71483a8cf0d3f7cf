// The bytes that a .pte holds: constants, and what state is at first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "formats/pte/pte_program.h"
#include "support/byte_cursor.h"
#include "support/hash.h"

namespace tenon::executorch {

// What tells bytes from others: a digest and their number.
using ContentKey = std::pair<Digest, uint64_t>;
// Bytes of a mapped file leave memory again while they are read.
ContentKey ContentKeyOf(Bytes bytes);

// Collects entries of one segment. Equal bytes are stored once, and none are
// copied: the segment's pieces lie where they came from.
class StoredData {
 public:
  // Entries lie at multiples of `alignment`.
  explicit StoredData(uint64_t alignment) : alignment_(alignment) {}

  // The entry's index, 1 or more: 0 is the placeholder. `owner` keeps the
  // bytes.
  uint32_t Add(Bytes bytes, std::shared_ptr<const void> owner);

  bool empty() const { return offsets_.size() == 1; }
  const std::vector<uint64_t>& offsets() const { return offsets_; }
  uint64_t size_bytes() const { return size_bytes_; }
  // How many bytes weren't stored because equal ones were there.
  uint64_t deduplicated() const { return deduplicated_; }
  // All entries one after the other.
  PteSegment TakeSegment();
  // An entry each, the placeholder among them, with their owners.
  std::vector<FlatBlob> TakeEntries();

 private:
  uint64_t alignment_;
  uint64_t size_bytes_ = 0, deduplicated_ = 0;
  std::vector<uint64_t> offsets_ = {0};
  std::vector<PtePiece> pieces_;  // by entry, without the placeholder
  std::map<ContentKey, uint32_t> known_;
};

}  // namespace tenon::executorch
