// Lowering: from what torch.export writes to operators that have kernels.
//
//   %y = aten.matmul(%x, %w)          %y = aten.mm(%x, %w)
//   %z = aten.add_(%y, 1)       ->    %z = aten.add.Scalar(%y, 1)
//   %r = aten.flatten(%z, 0, 1)       %r = aten.view_copy(%z, [12])
//
// Steps:
//   1 inline     wrappers that only hold a graph give way to its nodes
//   2 functional in-place operators become ones with results; what they wrote
//                becomes an output of the signature   (functionalize.h)
//   3 decompose  rewrite rules, family by family      (rewrite_rules.h)
//   4 lay out    every tensor gets its dimensions' order in memory
//   5 clean      dead code goes; asserts, too, with a line in the report
//
// What comes out is a program of the same calling convention and state that
// computes the same numbers, up to the rounding of another order of the same
// sums. Values are never aliases of each other in it: whoever gives them memory
// may share it as he sees fit.
//
// The rules are chosen for ExecuTorch's kernels: the best existing one, not the
// one that functional form suggests.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

// Whether the target has a kernel for an operator, "aten.add.Tensor".
using HasKernel = std::function<bool(std::string_view op)>;

struct LowerReport {
  uint32_t num_rewritten = 0;  // nodes that a rule replaced
  std::vector<std::string> notes;
};

// Changes `program`, which must hold all rules; so does the result. On failure
// it is unchanged. Operators that are left without a kernel are no failure:
// see FindMissingKernels.
Expected<LowerReport> LowerProgram(Program* program, Diagnostics& diags);

// What LowerProgram leaves for delegates, and none took: quantisation by blocks
// and some activations become plain operators. For programs that LowerProgram
// gave, with delegate calls or without. True when it changed something.
Expected<bool> LowerLeftovers(Program* program, Diagnostics& diags);

// A node whose operator has no kernel.
struct MissingKernel {
  GraphId graph;
  NodeId node;
  std::string op;
  std::string line;  // of the model's source: "model.py:12, in forward"
};
std::vector<MissingKernel> FindMissingKernels(const Program& program,
                                              const HasKernel& has_kernel);

}  // namespace tenon
