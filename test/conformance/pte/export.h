// Exported programs as .pte: what Tenon writes, for a runtime to judge.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "conformance/pt2/run.h"

namespace tenon::conformance {

// For each program of the manifest: the lowered program must give what PyTorch
// recorded, in the reference executor; and a file NAME.pte is written to the
// folder `keep`, with
//
//   NAME.json             {"rtol", "atol", "runs": [{"in", "want", "what"}]}
//   NAME.K.in, NAME.K.want  safetensors: in.0, in.1, .. as the runtime takes
//                         them, and the recorded out.0, out.1, ..
//
// Each recorded call starts from the state that the file holds. A program that
// keeps state has one more run: all calls twice in a row on one loaded method,
// with what the source program gives in a session.
//
// A program that is refused is skipped, with a line "SKIP NAME: export: RULE:
// reason" that says why.
int RunExportPte(const std::string& manifest, const std::string& keep,
                 const std::vector<const Backend*>& delegates,
                 const RunOptions& options);

// The same of so many generated programs; the reference executor says what two
// calls in a row give.
int RunExportRandom(uint64_t count, const std::string& keep,
                    const std::vector<const Backend*>& delegates,
                    const RunOptions& options);

}  // namespace tenon::conformance
