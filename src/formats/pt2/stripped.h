// Programs whose weights were taken out (docs/formats/pt2.md, "Stripped
// files").
//
// Their records are empty, which PyTorch would read as zeros without a word. So
// the archive says it twice: `archive_version` holds a sentence in the place of
// "0", which PyTorch shows when it refuses the file, and a member says what was
// taken out. In memory such a program carries that member.
#pragma once

#include <string_view>

#include "diag/diagnostics.h"
#include "ir/stripped.h"
#include "support/expected.h"
#include "support/hash.h"

namespace tenon {

constexpr std::string_view kStrippedVersion =
    "0 without weights (tenon strip): 'tenon weights FILE --from WEIGHTS -o "
    "OUT' puts them back";

// What the member says.
struct StrippedRecord {
  // Of the state as it was (weights/state_digest.h).
  Digest state;
};

// Makes the program a stripped one, or replaces what it says.
void SetStrippedRecord(const StrippedRecord& record, Program* program);
void RemoveStrippedRecord(Program* program);
// Of a stripped program. An error where the member isn't as documented.
Expected<StrippedRecord> GetStrippedRecord(const Program& program,
                                           Diagnostics& diags);

}  // namespace tenon
