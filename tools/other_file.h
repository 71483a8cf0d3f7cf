// What `tenon info` says about files that hold no program that Tenon reads.
#pragma once

#include <string>

#include "source_file.h"

namespace tenon::tools {

// Whether the file is of such a kind, whole and known.
bool IsOtherFile(const SourceFile& source);

// Its kind, what opens it, what is in it as far as its first bytes, directory
// or header say, and what a scan found.
std::string OtherFileText(const SourceFile& source);
std::string OtherFileJson(const SourceFile& source);

}  // namespace tenon::tools
