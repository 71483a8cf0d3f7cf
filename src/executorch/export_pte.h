// `tenon export -b portable`: programs as the methods of a .pte that the stock
// ExecuTorch runtime loads and runs (docs/formats/pte.md).
//
// Each program becomes one method:
//
//   1 verify   the source holds all rules
//   2 lower    operators that have kernels        (lower/lower.h)
//   3 fold     what can be computed once is
//   4 cut      what delegates run                 (delegate_regions.h)
//   5 emit     values and instructions            (plan_emitter.h)
//   6 place    memory                             (plan_memory.h)
//
// Methods have in common: constants, initial state, payloads and named data by
// content, each stored once; and buffers, where that is asked for
// (shared_state.h). Then the file is checked: the program holds the rules of
// its format, and nothing in it overwrites what is still needed; once more on
// what was written.
//
// Everything that can't be written is an error that names it; no node is left
// out, and nothing is written then.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "backends/backend.h"
#include "diag/diagnostics.h"
#include "executorch/device_delegates.h"
#include "formats/pte/pte.h"
#include "ir/program.h"
#include "partition/partition.h"
#include "support/expected.h"
#include "tensor/tensor.h"

namespace tenon {

// A word for a delegate's backend, which the file passes on as it is.
struct PteBackendOption {
  std::string backend;  // as --backend knows it
  std::string key, value;
};

// Of one method.
struct PteExportOptions {
  // Largest values of size symbols that the program leaves unbounded, or that
  // shall have less memory than it allows: {"s33", 128}.
  std::map<std::string, int64_t> bounds;
  // Delegates that may take parts of the program (delegate_regions.h), the
  // preferred one first; kernels run the rest.
  std::vector<const Backend*> backends;
  std::vector<PteBackendOption> backend_options;
  // Whether inputs and outputs have a place in the method's memory. Without
  // one, the caller's memory is used: it passes outputs before every call, of
  // upper-bound size. Outputs that are inputs, state, or views of something
  // keep their places.
  bool plans_inputs = true;
  bool plans_outputs = true;
  // What each of them may take, by its name; without an entry, all that it
  // takes.
  std::map<std::string, BackendRequest, std::less<>> requests;
  // For delegates on devices.
  int8_t cuda_device = 0;
};

struct PteMethod {
  std::string name;  // an identifier, each its own
  const Program* program = nullptr;
  PteExportOptions options;
};

// What a constant method returns: an item for each output.
using PteConstant = std::variant<int64_t, double, bool, std::string, Tensor>;
struct PteConstantMethod {
  std::string name;
  std::vector<PteConstant> values;
};

enum class PteWeightPlace : uint8_t {
  kSegment,   // of the file
  kInline,    // in its tables, for runtimes before the constant segment
  kDataFile,  // a .ptd beside it
};

// Of the file.
struct PteFileOptions {
  std::vector<PteConstantMethod> constants;
  // FQNs of buffers that the methods that have them share; with
  // `shares_all_state`, all that some method writes and another one has, too.
  std::vector<std::string> shared_state;
  bool shares_all_state = false;
  PteWeightPlace weights = PteWeightPlace::kSegment;
  std::string data_path;  // of a data file
  // Payloads of delegates in the tables instead of segments.
  bool inline_payloads = false;
};

// A buffer whose new content is copied into its place at every call.
struct PteStateCopy {
  std::string fqn;
  uint64_t bytes = 0;
  // Who makes the new content: "region_0 (XnnpackBackend)", or an operator.
  std::string made_by;
};

struct PteMethodReport {
  std::string name;
  uint32_t num_nodes = 0;  // of the source
  uint32_t num_instructions = 0;
  uint32_t num_in_place = 0;         // mutations written where the state lies
  std::vector<PteStateCopy> copies;  // mutations copied there at the end
  uint64_t arena_bytes = 0;          // planned memory
  uint64_t peak_live_bytes = 0;      // no plan is smaller
  struct Region {
    std::string backend;  // as the runtime calls it
    uint32_t num_nodes = 0;
  };
  std::vector<Region> regions;
  std::vector<executorch::DeviceState> device_state;
  executorch::DeviceTraffic traffic;
  std::vector<std::string> notes;

  // Of state, at every call.
  uint64_t copied_bytes() const;
};

struct PteExportReport {
  std::vector<PteMethodReport> methods;
  uint32_t num_constant_methods = 0;
  uint64_t constant_bytes = 0;  // in the file
  uint64_t state_bytes = 0;     // initial state
  uint64_t payload_bytes = 0;
  uint64_t named_bytes = 0;   // that payloads ask for
  std::string data_path;      // of the data file, "" without one
  uint64_t data_bytes = 0;    // weights and named data in it
  uint64_t deduplicated = 0;  // bytes that another one already stored
  std::vector<std::string> shared_state;  // FQNs
  uint64_t shared_bytes = 0;  // the arena that methods have in common
};

// The program and, with PteWeightPlace::kDataFile, what it keeps outside.
struct MadePte {
  PteProgram program;
  std::optional<PtdFile> data;
};

// Whether methods, and constant methods, have names that are identifiers, each
// its own, and that there is one (V-PTE-17); part of every export.
Status CheckPteNames(std::span<const PteMethod> methods,
                     const PteFileOptions& options, Diagnostics& diags);

// Lowers a copy of the program as an export does: what would be emitted.
Expected<Program> LowerForPte(const Program& program, Diagnostics& diags);

Expected<MadePte> MakePte(std::span<const PteMethod> methods,
                          const PteFileOptions& options,
                          PteExportReport* report, Diagnostics& diags);
// The program as one method "forward".
Expected<PteProgram> MakePte(const Program& program,
                             const PteExportOptions& options,
                             PteExportReport* report, Diagnostics& diags);

// MakePte, then the file, or both, which are read back and verified before they
// get their names.
Expected<PteExportReport> ExportPte(std::span<const PteMethod> methods,
                                    const std::string& path,
                                    const PteFileOptions& options,
                                    Diagnostics& diags);
Expected<PteExportReport> ExportPte(const Program& program,
                                    const std::string& path,
                                    const PteExportOptions& options,
                                    Diagnostics& diags);

}  // namespace tenon
