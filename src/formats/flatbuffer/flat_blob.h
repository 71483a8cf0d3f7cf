// What both directions of the FlatBuffers codec share.
//
// A format states its tables once, as functions that name the fields in the
// order of their ids:
//
//   template <typename Codec>
//   void Fields(Codec& c, typename Codec::template Ref<Operator> op) {
//     c.String("name", op.name, FlatPresence::kRequired);
//     c.String("overload", op.overload, FlatPresence::kRequired);
//   }
//
// with `static constexpr std::string_view kTable = "Operator";` in the struct.
// FlatDecoder and FlatEncoder both run over these functions, so that what is
// read and what is written can't part. Every field takes one id, a union two.
// Enums that are fields have a function Name(E) which is empty for values that
// the schema doesn't know.
#pragma once

#include <cstdint>
#include <memory>

#include "support/byte_cursor.h"

namespace tenon {

// Whether a vector or string may be absent, and whether an empty one is
// written. Absent and empty are read as the same.
enum class FlatPresence : uint8_t {
  kRequired,  // absent is an error; written also when empty
  kUsual,     // may be absent; written also when empty
  kOptional,  // may be absent; left out when empty
};

// Bytes that are never copied: a view of what was read, or of memory or a file
// that `owner` keeps alive.
struct FlatBlob {
  Bytes bytes;
  std::shared_ptr<const void> owner;
  // Of the first byte in the file: a power of two. Read from where the blob
  // lay, up to kMaxKnownAlignment.
  uint64_t alignment = 1;

  // The same bytes, wherever they lie.
  friend bool operator==(const FlatBlob& a, const FlatBlob& b) {
    return AsText(a.bytes) == AsText(b.bytes);
  }
};

// A mapped file gives no more than a page.
constexpr uint64_t kMaxKnownAlignment = 4096;

// The largest power of two that divides `offset`, up to kMaxKnownAlignment.
inline uint64_t AlignmentOf(uint64_t offset) {
  const uint64_t lowest = offset & (~offset + 1);
  return lowest == 0 || lowest > kMaxKnownAlignment ? kMaxKnownAlignment
                                                    : lowest;
}

inline uint64_t AlignUp(uint64_t offset, uint64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

}  // namespace tenon
