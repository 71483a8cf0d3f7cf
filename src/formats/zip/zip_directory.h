// Finds and checks a zip's central directory.
#pragma once

#include <string>
#include <vector>

#include "formats/zip/zip_reader.h"

namespace tenon::zip {

// All members, in the order of the directory, each checked against its local
// header and against all others.
Expected<std::vector<ZipMember>> ReadDirectory(Bytes bytes,
                                               const std::string& file_name,
                                               const ReadLimits& limits,
                                               Diagnostics& diags);

}  // namespace tenon::zip
