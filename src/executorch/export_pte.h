// `tenon export -b portable`: a program as a .pte that the stock ExecuTorch
// runtime loads and runs (docs/formats/pte.md).
//
//   1 verify   the source holds all rules
//   2 lower    operators that have kernels        (lower/lower.h)
//   3 fold     what can be computed once is
//   4 emit     values and instructions            (plan_emitter.h)
//   5 place    memory                             (plan_memory.h)
//   6 check    the program holds the rules of its format, and nothing in it
//              overwrites what is still needed; once more on the written file
//
// Everything that can't be written is an error that names it; no node is left
// out, and nothing is written then.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "formats/pte/pte.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

struct PteExportOptions {
  // Largest values of size symbols that the program leaves unbounded, or that
  // shall have less memory than it allows: {"s33", 128}.
  std::map<std::string, int64_t> bounds;
};

struct PteExportReport {
  uint32_t num_nodes = 0;         // of the source
  uint32_t num_instructions = 0;  // of the method
  uint32_t num_in_place = 0;      // mutations written where the state lies
  uint32_t num_copied_back = 0;   // mutations copied there at the end
  uint64_t arena_bytes = 0;       // planned memory
  uint64_t constant_bytes = 0;
  uint64_t state_bytes = 0;  // initial state
  std::vector<std::string> notes;
};

// Lowers a copy of the program as an export does: what would be emitted.
Expected<Program> LowerForPte(const Program& program, PteExportReport* report,
                              Diagnostics& diags);

// The program as one method "forward".
Expected<PteProgram> MakePte(const Program& program,
                             const PteExportOptions& options,
                             PteExportReport* report, Diagnostics& diags);

// MakePte, then the file, which is read back and verified before it gets its
// name.
Expected<PteExportReport> ExportPte(const Program& program,
                                    const std::string& path,
                                    const PteExportOptions& options,
                                    Diagnostics& diags);

}  // namespace tenon
