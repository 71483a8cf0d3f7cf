#include "export/join_program.h"

#include <chrono>

#include "analysis/digest.h"
#include "export/export.h"
#include "formats/tensorrt/lower_engines.h"
#include "link/declare_writes.h"
#include "link/join.h"
#include "link/lift.h"
#include "verify/verify.h"

namespace tenon {
namespace {

class Joiner {
 public:
  Joiner(const Program& source, const JoinProgramOptions& options,
         Diagnostics& diags)
      : source_(source),
        program_(source.Clone()),
        options_(options),
        diags_(diags) {}

  Status Run() {
    report_.num_nodes =
        static_cast<uint32_t>(source_.CountNodes(Program::kRoot));
    report_.signature_before = DescribeSignature(source_);
    struct Phase {
      const char* name;
      Status (Joiner::*run)();
      enum Then : uint8_t { kNothing, kMayVerify, kVerify } then;
    };
    static constexpr Phase kPhases[] = {
        {"verify", &Joiner::VerifyNow, Phase::kNothing},
        {"join", &Joiner::Join, Phase::kMayVerify},
        {"lift", &Joiner::LiftState, Phase::kMayVerify},
        {"declare", &Joiner::Declare, Phase::kVerify},
        {"prove", &Joiner::Prove, Phase::kNothing},
    };
    for (const Phase& phase : kPhases) {
      const auto start = std::chrono::steady_clock::now();
      TENON_TRY((this->*phase.run)());
      const bool is_last = options_.stop_after == phase.name;
      if (phase.then == Phase::kVerify ||
          (phase.then == Phase::kMayVerify &&
           (is_last || options_.verify_each_phase))) {
        TENON_TRY(VerifyNow());
      }
      const std::chrono::duration<double> time =
          std::chrono::steady_clock::now() - start;
      report_.phases.push_back({phase.name, time.count()});
      if (is_last) break;
    }
    report_.signature_after = DescribeSignature(program_);
    report_.mutations = DescribeMutations(program_);
    DescribeRegions();
    return {};
  }

  Program TakeProgram() { return std::move(program_); }
  ExportReport TakeReport() { return std::move(report_); }

 private:
  Status VerifyNow() { return Verify(program_, VerifyOptions(), diags_); }

  Status Join() {
    if (options_.inline_delegates) {
      TENON_TRY(
          ExpandDelegates(&program_, diags_, options_.keep_unknown_delegates));
    }
    return JoinAll(&program_, diags_);
  }

  Status LiftState() { return Lift(&program_, diags_); }

  Status Declare() {
    DeclareDelegateWrites(&program_);
    DeclareMutations(&program_);
    return {};
  }

  Status Prove() {
    report_.source_digest = WiringDigest(source_);
    report_.result_digest = WiringDigest(program_);
    if (report_.source_digest == report_.result_digest) return {};
    return ProveEqual(source_, program_, diags_);
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

  const Program& source_;
  Program program_;
  const JoinProgramOptions& options_;
  Diagnostics& diags_;
  ExportReport report_;
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
