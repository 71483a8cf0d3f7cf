// A .pt2 archive as text, so that a fuzzer changes what members hold and not
// their checksums, and so that seeds and regressions can be read.
//
//   === models/model.json
//   {"graph_module": ...}
//   === data/weights/weight_0 64
//
// A line "=== NAME [BYTES]" begins a member; its content are the lines below,
// without the last line feed, filled up with zeros to BYTES. Housekeeping that
// isn't there is added, so that it needn't be.
#pragma once

#include <string>
#include <string_view>

#include "support/byte_cursor.h"

namespace tenon::fuzz {

// The archive's bytes; "" when the text has no members or one of them has a
// name that no archive can hold.
std::string ArchiveOfBundle(std::string_view text);

}  // namespace tenon::fuzz
