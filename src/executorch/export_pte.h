// `tenon export -b portable`: a program as a .pte that the stock ExecuTorch
// runtime loads and runs (docs/formats/pte.md).
//
//   1 verify   the source holds all rules
//   2 lower    operators that have kernels        (lower/lower.h)
//   3 fold     what can be computed once is
//   4 cut      what delegates run                 (delegate_regions.h)
//   5 emit     values and instructions            (plan_emitter.h)
//   6 place    memory                             (plan_memory.h)
//   7 check    the program holds the rules of its format, and nothing in it
//              overwrites what is still needed; once more on the written file
//
// Everything that can't be written is an error that names it; no node is left
// out, and nothing is written then.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "diag/diagnostics.h"
#include "executorch/device_delegates.h"
#include "executorch/plan_emitter.h"
#include "formats/pte/pte.h"
#include "ir/program.h"
#include "partition/partition.h"
#include "support/expected.h"

namespace tenon {

struct PteExportOptions {
  // Largest values of size symbols that the program leaves unbounded, or that
  // shall have less memory than it allows: {"s33", 128}.
  std::map<std::string, int64_t> bounds;
  // Delegates that may take parts of the program (delegate_regions.h), the
  // preferred one first; kernels run the rest.
  std::vector<const Backend*> backends;
  // What each of them may take, by its name; without an entry, all that it
  // takes.
  std::map<std::string, BackendRequest, std::less<>> requests;
  // For delegates on devices.
  int8_t cuda_device = 0;
};

struct PteExportReport {
  uint32_t num_nodes = 0;         // of the source
  uint32_t num_instructions = 0;  // of the method
  uint32_t num_in_place = 0;      // mutations written where the state lies
  uint32_t num_copied_back = 0;   // mutations copied there at the end
  uint64_t arena_bytes = 0;       // planned memory
  uint64_t peak_live_bytes = 0;   // no plan is smaller
  uint64_t constant_bytes = 0;
  uint64_t state_bytes = 0;  // initial state
  uint64_t payload_bytes = 0;
  uint64_t named_bytes = 0;  // that payloads ask for
  struct Region {
    std::string backend;  // as the runtime calls it
    uint32_t num_nodes = 0;
  };
  std::vector<Region> regions;
  std::vector<executorch::StatePlace> state;  // buffers that calls change
  executorch::DeviceTraffic traffic;
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
