// The one way in which verbs read programs.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "diag/diagnostics.h"
#include "diag/limits.h"
#include "ir/program.h"
#include "support/byte_cursor.h"
#include "support/expected.h"

namespace tenon::tools {

enum class FileKind {
  kPt2,     // layouts A, B and C of torch.export
  kText,    // Tenon's text form
  kHybrid,  // a graph with children, in the encoding hybrid-1
  kEmpty,
  kExecuTorch,  // .pte
  kSafetensors,
  kTorchScript,  // a zip of torch.jit.save
  kTorchSave,    // a zip of torch.save
  kAotInductor,  // a package of compiled models
  kZip,          // another zip
  kPickle,
  kOnnx,
  kGguf,
  kNumpy,
  kUnknown,
};

// By content; the name plays no part. Looks at the first bytes and, of a zip,
// at the names in its directory. A damaged zip passes for a .pt2, whose reader
// says what is wrong.
FileKind RecogniseFile(Bytes bytes);
// "an ExecuTorch program (.pte)".
std::string_view Describe(FileKind kind);

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

}  // namespace tenon::tools
