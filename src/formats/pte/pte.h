// ExecuTorch's programs, .pte: facts in docs/formats/pte.md.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "diag/diagnostics.h"
#include "formats/pte/ptd.h"
#include "formats/pte/pte_program.h"
#include "support/expected.h"

namespace tenon {

// Reads the tables; what they refer to are views of the mapped file, which the
// program keeps alive, and is not touched. Reports what is wrong with the
// file's structure (V-PTE-01 to V-PTE-07); VerifyPte looks at the rest.
Expected<PteProgram> ReadPte(const std::string& path, Diagnostics& diags);
// The same from bytes in memory; `file` names them in messages.
Expected<PteProgram> ReadPte(Bytes bytes, std::shared_ptr<const void> owner,
                             const std::string& file, Diagnostics& diags);

struct PteWriteOptions {
  // A payload inside the tables that is larger becomes a segment. The tables
  // as a whole may be 2 GiB.
  uint64_t inline_limit_bytes = uint64_t{1} << 20;
  // A data file to write beside the program, as `data_path`: both appear, or
  // neither does.
  const PtdFile* data = nullptr;
  std::string data_path;
  // Called with the paths of the finished files before they get their names;
  // when it fails, no file appears. It reports its own errors. Without a data
  // file the second path is empty.
  std::function<Status(const std::string& path, const std::string& data_path)>
      check;
};

struct PteWriteReport {
  uint64_t file_bytes = 0;
  uint64_t table_bytes = 0;         // up to the end of the FlatBuffer
  uint64_t segment_bytes = 0;       // behind it, without padding in front
  uint32_t num_moved_payloads = 0;  // out of the tables into segments
  uint64_t data_file_bytes = 0;
};

// Writes tables, then segments straight from where they lie. Same program and
// options give the same bytes. The file appears whole or not at all.
Expected<PteWriteReport> WritePte(const PteProgram& program,
                                  const std::string& path,
                                  const PteWriteOptions& options,
                                  Diagnostics& diags);

}  // namespace tenon
