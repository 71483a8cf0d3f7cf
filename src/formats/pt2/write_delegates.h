// Writes data/tenon/: delegates, their payloads and sources, regions.
#pragma once

#include "diag/diagnostics.h"
#include "formats/zip/zip_writer.h"
#include "ir/naming.h"
#include "ir/program.h"

namespace tenon {

// Nothing when the program has neither delegates nor regions. Equal payloads
// are stored once, and a payload that is its source's record, too (rule D-6).
Status WriteDelegates(const Program& program, const NameTable& names,
                      ZipWriter* zip, Diagnostics& diags);

}  // namespace tenon
