#include "export/pipeline.h"

#include <chrono>

#include "analysis/digest.h"
#include "export/export.h"
#include "verify/verify.h"

namespace tenon {

Status Pipeline::RunPhases(std::span<const Phase> phases,
                           std::string_view stop_after,
                           bool verify_each_phase) {
  report_.num_nodes = static_cast<uint32_t>(source_.CountNodes(Program::kRoot));
  report_.signature_before = DescribeSignature(source_);
  for (const Phase& phase : phases) {
    const auto start = std::chrono::steady_clock::now();
    TENON_TRY(phase.run());
    const bool is_last = phase.name == stop_after;
    if (phase.check == Check::kAlways ||
        (phase.check == Check::kWhenAsked && (is_last || verify_each_phase))) {
      TENON_TRY(VerifyNow());
    }
    const std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - start;
    report_.phases.push_back({std::string(phase.name), time.count()});
    if (is_last) break;
  }
  report_.signature_after = DescribeSignature(program_);
  report_.mutations = DescribeMutations(program_);
  return {};
}

Status Pipeline::VerifyNow() {
  return Verify(program_, VerifyOptions(), diags_);
}

Status Pipeline::Prove() {
  report_.source_digest = WiringDigest(source_);
  report_.result_digest = WiringDigest(program_);
  if (report_.source_digest == report_.result_digest) return {};
  return ProveEqual(source_, program_, diags_);
}

}  // namespace tenon
