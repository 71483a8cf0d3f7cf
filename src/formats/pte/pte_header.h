// The extended header of a .pte, at byte 8:
//
//   "eh00"  u32 length  u64 program_size  u64 segment_base  [u64 segment_bytes]
//
// The last field is there when the length says so. A file without segment data
// has no header.
#pragma once

#include <optional>
#include <string>

#include "diag/diagnostics.h"
#include "formats/pte/segments.h"
#include "support/byte_cursor.h"
#include "support/expected.h"

namespace tenon {

constexpr std::string_view kPteIdentifier = "ET12";
constexpr size_t kPteHeaderBytes = 32;

struct PteHeader {
  uint64_t program_bytes = 0;  // the FlatBuffer, from byte 0 of the file
  SegmentArea segments;        // {0, 0}: none
};

// What the header says, compared with the file (V-PTE-01, V-PTE-02).
Expected<PteHeader> ReadPteHeader(Bytes file_bytes, const std::string& file,
                                  Diagnostics& diags);

// Overwrites the bytes behind the identifier in `tables`.
void PatchPteHeader(const PteHeader& header, std::string* tables);

}  // namespace tenon
