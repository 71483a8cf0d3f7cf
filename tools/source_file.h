// The bytes that a command line's argument names.
#pragma once

#include <memory>
#include <string>

#include "diag/diagnostics.h"
#include "support/byte_cursor.h"
#include "support/expected.h"

namespace tenon::tools {

struct SourceFile {
  Bytes bytes;
  std::shared_ptr<const void> owner;
  std::string name;  // for messages
  bool is_stdin = false;
};

// Maps the file; "-" reads all of standard input.
Expected<SourceFile> OpenSource(const std::string& path, Diagnostics& diags);

}  // namespace tenon::tools
