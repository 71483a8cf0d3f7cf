// The one way in which verbs read programs.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "diag/diagnostics.h"
#include "diag/limits.h"
#include "formats/kind/file_kind.h"
#include "ir/program.h"
#include "source_file.h"
#include "support/byte_cursor.h"
#include "support/expected.h"

namespace tenon::tools {

struct ReadOptions {
  std::string method;     // "" = "model", or the only one
  std::string side_file;  // of a text form; "" = FILE.bin where it exists
  ReadLimits limits;
  bool check_crc = false;
  // For verbs that don't need the weights' values.
  bool allow_weightless = false;
};

struct LoadedProgram {
  Program program;
  FileKind kind = FileKind::kPt2;
  uint64_t file_bytes = 0;
};

// Reads a .pt2, a text form or a hybrid graph; "-" reads standard input. A file
// of another kind is an error that says what it is.
Expected<LoadedProgram> ReadProgram(const std::string& path,
                                    std::shared_ptr<Context> context,
                                    const ReadOptions& options,
                                    Diagnostics& diags);
// The same of a file that is open.
Expected<LoadedProgram> ReadProgram(const SourceFile& source,
                                    std::shared_ptr<Context> context,
                                    const ReadOptions& options,
                                    Diagnostics& diags);

}  // namespace tenon::tools
