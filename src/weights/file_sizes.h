// Where a .pt2 file has its bytes: by what they hold, and by member.
#pragma once

#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "diag/limits.h"
#include "support/byte_cursor.h"
#include "support/expected.h"
#include "weights/size_row.h"

namespace tenon {

// Members count with the bytes that they take in the file. The rows of
// `contents` add up to the file: what members don't take is "headers and
// padding".
struct FileSizes {
  uint64_t file_bytes = 0;
  std::vector<SizeRow> contents, members;  // largest first
};

// Layouts A, B and C; looks at names and sizes in the directory only.
Expected<FileSizes> ComputeFileSizes(Bytes bytes, const std::string& file_name,
                                     const ReadLimits& limits,
                                     Diagnostics& diags);

}  // namespace tenon
