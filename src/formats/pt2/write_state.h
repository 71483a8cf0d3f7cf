// Writes weights and constants: one record per storage, and the configs.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "diag/diagnostics.h"
#include "formats/pt2/pt2.h"
#include "formats/zip/zip_writer.h"
#include "ir/program.h"

namespace tenon {

// `taken` are names of carried members, which records must not get. A failure
// of the writer itself is reported here, too.
Status WriteState(const Program& program,
                  const std::unordered_set<std::string>& taken, ZipWriter* zip,
                  Pt2WriteReport* report, Diagnostics& diags);

}  // namespace tenon
