// Damaged and hostile files: each has to be refused with an error, or read
// where it is odd but legal; never a crash, a hang or a huge allocation.
#pragma once

#include <string>

#include "conformance/pt2/run.h"

namespace tenon::conformance {

// `manifest` is a file {"files": [{"file", "what", "expected"}, ..]}, `table`
// holds a row for each (broken_table.h). A file counts as refused when reading
// or verifying it, checksums compared, reports an error. It passes when
//
//   - the verdict is the row's, and of an error also rule, place and message;
//   - the row agrees with the record: `expected` starts with "accept", and
//     names no alternative ("accept or warn: ..", "accept as bytes, or: .."),
//     for files that must be accepted; a file that is accepted although it is
//     recorded as an error has the reason in its row;
//   - place and message mention all that the record puts into quotes.
//
// A row without its file fails, too. A manifest {"entries": [{"pte", "must"},
// ..]} lists damaged .pte files instead, which need no table (CheckBrokenPte).
// Prints as RunPt2 does; with `verbose` each file's rule, place and message, as
// a row has them.
int RunBroken(const std::string& manifest, const std::string& table,
              const RunOptions& options);

}  // namespace tenon::conformance
