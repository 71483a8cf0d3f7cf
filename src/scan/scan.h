// What would a loader execute? Looks through a file of any kind for what
// Python, PyTorch or the system would run when the file is opened, without
// running, importing or looking up any of it (X rules of docs/rules.md).
//
// Findings have three levels, which are severities of diagnostics:
//
//   danger  (error)    opening the file, or using what was opened, runs code
//                      that the file brings or chooses: acting imports of a
//                      pickle, code where a size or a guard should be, native
//                      libraries, members that leave the archive. What can't
//                      be looked at, because it is damaged or beyond a limit,
//                      is as bad: nobody knows what a loader makes of it.
//   caution (warning)  opening the file calls code that the machine already
//                      has, beyond what plain tensors need: classes of other
//                      libraries, custom objects, TorchScript.
//   note    (note)     worth knowing, and harmless by itself.
//
// A file without dangers and cautions is one of plain tensors, whatever number
// of pickles it keeps them in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostics.h"
#include "formats/kind/file_kind.h"
#include "formats/pickle/globals.h"
#include "support/byte_cursor.h"

namespace tenon {

// Bounds against hostile files. What lies beyond is a finding (X-LIMIT-01).
struct ScanOptions {
  // All deflated members together, inflated.
  uint64_t max_inflated_bytes = uint64_t{1} << 30;
  // All pickles of the file together.
  uint64_t max_pickle_opcodes = 500'000'000;
  // Archives and pickles inside each other.
  uint32_t max_nesting = 8;
};

struct ScannedImport {
  std::string name;  // "torch._utils._rebuild_tensor_v2"
  ImportKind kind = ImportKind::kPlain;
};

struct ScannedPickle {
  std::string place;  // "data/weights/model.pt: archive/data.pkl"
  int protocol = 0;
  std::vector<ScannedImport> imports;
};

// What was looked at, findings or not.
struct ScanReport {
  FileKind kind = FileKind::kUnknown;
  std::vector<ScannedPickle> pickles;
  uint64_t num_members = 0;  // of archives, nested ones included
  uint64_t num_expressions = 0;
  uint64_t num_guards = 0;
  uint64_t num_targets = 0;
  std::vector<std::string> custom_classes;  // of script objects, each once
  std::vector<std::string> delegates;       // backends of a .pte, each once
  // Of a safetensors file; dtypes as it spells them, each once.
  uint64_t num_tensors = 0, tensor_bytes = 0;
  std::vector<std::string> tensor_dtypes;
};

// `name` is the file in messages. Places in members are
// "NAME: MEMBER: MEMBER OF MEMBER". Reports each import of a pickle once.
ScanReport ScanBytes(Bytes bytes, const std::string& name,
                     const ScanOptions& options, Diagnostics& diags);

// "danger", "caution", "note".
std::string_view LevelName(Severity severity);

}  // namespace tenon
