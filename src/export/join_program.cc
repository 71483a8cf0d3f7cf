#include "export/join_program.h"

#include "export/pipeline.h"
#include "formats/tensorrt/lower_engines.h"
#include "link/declare_writes.h"
#include "link/join.h"
#include "link/lift.h"
#include "verify/verify.h"

namespace tenon {
namespace {

class Joiner : public Pipeline {
 public:
  Joiner(const Program& source, const JoinProgramOptions& options,
         Diagnostics& diags)
      : Pipeline(source, diags), options_(options) {}

  Status Run() {
    const Phase phases[] = {
        {"verify", [this] { return VerifyNow(); }, Check::kNever},
        {"join", [this] { return Join(); }, Check::kWhenAsked},
        {"lift", [this] { return Lift(&program_, diags_); }, Check::kWhenAsked},
        {"declare", [this] { return Declare(); }, Check::kAlways},
        {"prove", [this] { return Prove(); }, Check::kNever},
    };
    TENON_TRY(
        RunPhases(phases, options_.stop_after, options_.verify_each_phase));
    DescribeRegions();
    return {};
  }

 private:
  Status Join() {
    if (options_.inline_delegates) {
      TENON_TRY(
          ExpandDelegates(&program_, diags_, options_.keep_unknown_delegates));
    }
    return JoinAll(&program_, diags_);
  }

  Status Declare() {
    DeclareDelegateWrites(&program_);
    DeclareMutations(&program_);
    return {};
  }

  void DescribeRegions() {
    for (const NodeId n : program_.nodes(Program::kRoot)) {
      const Node& node = program_.node(n);
      if (node.kind != NodeKind::kDelegateCall) continue;
      const Delegate& d = program_.delegates[node.delegate.index];
      RegionReport region;
      region.name = std::string(program_.view(d.name));
      region.backend = std::string(program_.view(d.backend));
      if (d.source.valid()) {
        region.num_nodes = static_cast<uint32_t>(program_.CountNodes(d.source));
      }
      report_.num_nodes_delegated += region.num_nodes;
      region.payload_bytes = d.payload.size();
      region.payload_digest = d.payload_digest.ToHex();
      region.writes = d.writes;
      program_.ForEachOperand(n, [&](ValueId v) {
        region.inputs.push_back(DescribeBoundary(program_, v));
      });
      for (uint32_t i = 0; i < node.results.count; ++i) {
        region.outputs.push_back(DescribeBoundary(program_, node.results[i]));
      }
      report_.regions.push_back(std::move(region));
    }
  }

  const JoinProgramOptions& options_;
};

Expected<ExportReport> Run(Program* program, const JoinProgramOptions& options,
                           Diagnostics& diags) {
  Joiner joiner(*program, options, diags);
  TENON_TRY(joiner.Run());
  *program = joiner.TakeProgram();
  return joiner.TakeReport();
}

}  // namespace

Expected<ExportReport> JoinProgram(Program* program,
                                   const JoinProgramOptions& options,
                                   Diagnostics& diags) {
  if (!HasEngineCalls(*program)) return Run(program, options, diags);
  // Lowering takes for granted what the verifier checks.
  TENON_TRY(Verify(*program, VerifyOptions(), diags));
  Program lowered = program->Clone();
  TENON_TRY(LowerEngineCalls(&lowered, diags));
  TENON_ASSIGN(ExportReport report, Run(&lowered, options, diags));
  *program = std::move(lowered);
  return report;
}

}  // namespace tenon
