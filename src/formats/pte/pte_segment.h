// The bytes behind the tables of a .pte or .ptd: views, never copies.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/flatbuffer/flat_blob.h"

namespace tenon {

// Of segments, unless more is asked for.
constexpr uint64_t kPteSegmentAlignment = 128;

// Bytes of a segment at `offset` from its beginning.
struct PtePiece {
  uint64_t offset = 0;
  Bytes bytes;
  std::shared_ptr<const void> owner;
};

// A segment that was read is one view. One that is to be written may be many,
// each where it lies (a weight in the file that it came with): nobody joins
// them, writing goes from one to the next.
struct PteSegment {
  PteSegment() = default;
  PteSegment(Bytes all, std::shared_ptr<const void> keeper, uint64_t align)
      : bytes(all), owner(std::move(keeper)), alignment(align) {}
  PteSegment(const FlatBlob& blob)  // NOLINT: a blob is a whole segment
      : PteSegment(blob.bytes, blob.owner, blob.alignment) {}

  Bytes bytes;  // from the segment's beginning
  std::shared_ptr<const void> owner;
  // Of the first byte in the file: a power of two.
  uint64_t alignment = 1;
  // What comes behind `bytes`, in order and apart; zeros fill what is between.
  std::vector<PtePiece> more;

  uint64_t size_bytes() const {
    return more.empty() ? bytes.size()
                        : more.back().offset + more.back().bytes.size();
  }
  // A copy of all bytes in a row: for listings.
  std::string Joined() const;

  // The same bytes, however they lie; alignment doesn't count.
  friend bool operator==(const PteSegment& a, const PteSegment& b);
};

}  // namespace tenon
