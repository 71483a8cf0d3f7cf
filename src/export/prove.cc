#include "analysis/digest.h"
#include "export/divergence.h"
#include "export/export.h"

namespace tenon {

Status ProveEqual(const Program& source, const Program& result,
                  Diagnostics& diags) {
  if (WiringDigest(source) == WiringDigest(result)) return {};
  const auto divergence = FindDivergence(source, result);
  if (!divergence) {
    TENON_UNREACHABLE("programs with two digests part somewhere");
  }
  DiagnosticBuilder error =
      diags.Error(Rule::kT2, Place::Node(divergence->root));
  error << "the source computes " << divergence->source
        << ", the result computes " << divergence->result;
  if (!divergence->source_line.empty()) {
    error.Note(Place(), "in the source: " + divergence->source_line);
  }
  if (!divergence->result_line.empty()) {
    error.Note(Place(), "in the result: " + divergence->result_line);
  }
  return error;
}

}  // namespace tenon
