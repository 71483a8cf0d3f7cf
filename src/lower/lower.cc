#include "lower/lower.h"

#include <utility>

#include "link/declare_writes.h"
#include "lower/decompose.h"
#include "lower/functionalize.h"
#include "lower/inline_wrappers.h"
#include "lower/lay_out.h"
#include "lower/live_graphs.h"
#include "lower/remove_asserts.h"
#include "lower/source_line.h"
#include "passes/remove_dead_code.h"
#include "support/counted.h"
#include "verify/verify.h"

namespace tenon {
namespace {

using namespace lower;  // NOLINT: this folder's own names

class Lowering {
 public:
  Lowering(const Program& source, Diagnostics& diags)
      : program_(source.Clone()), diags_(diags) {}

  Status Run() {
    TENON_TRY(Verify(program_, VerifyOptions(), diags_));
    // What modules returned in the source is nobody's business any more.
    program_.module_calls.clear();
    TENON_TRY(InlineWrappers(&program_, diags_));
    DeclareMutations(&program_);
    TENON_TRY(Functionalize(&program_, diags_));
    RemoveAssertsAndNote();
    TENON_ASSIGN(report_.num_rewritten,
                 Decompose(&program_, RuleStage::kEarly, diags_));
    TENON_TRY(LayOutContiguously(&program_, diags_));
    RemoveDeadCode(&program_);
    return Verify(program_, VerifyOptions(), diags_);
  }

  Program TakeProgram() { return std::move(program_); }
  LowerReport TakeReport() { return std::move(report_); }

 private:
  void RemoveAssertsAndNote() {
    const uint32_t count = RemoveAsserts(&program_);
    if (count == 0) return;
    report_.notes.push_back("dropped " + Count(count, "assert") +
                            ": the runtime has none");
  }

  Program program_;
  Diagnostics& diags_;
  LowerReport report_;
};

}  // namespace

Expected<LowerReport> LowerProgram(Program* program, Diagnostics& diags) {
  Lowering lowering(*program, diags);
  TENON_TRY(lowering.Run());
  *program = lowering.TakeProgram();
  return lowering.TakeReport();
}

Expected<bool> LowerLeftovers(Program* program, Diagnostics& diags) {
  TENON_ASSIGN(const uint32_t count,
               Decompose(program, RuleStage::kLate, diags));
  if (count == 0) return false;
  TENON_TRY(LayOutContiguously(program, diags));
  RemoveDeadCode(program);
  TENON_TRY(Verify(*program, VerifyOptions(), diags));
  return true;
}

std::vector<MissingKernel> FindMissingKernels(const Program& program,
                                              const HasKernel& has_kernel) {
  std::vector<MissingKernel> out;
  for (const GraphId g : LiveGraphs(program)) {
    for (const NodeId n : program.nodes(g)) {
      if (program.node(n).kind != NodeKind::kOp) continue;
      const std::string op(program.op_name(n));
      if (has_kernel(op)) continue;
      out.push_back({g, n, op, ModelLine(program, n)});
    }
  }
  return out;
}

}  // namespace tenon
