#include "verify/verify.h"

#include "verify/verification.h"

namespace tenon {
namespace {

// Nodes are walked once; each is bound to its schema once for all chapters.
void VerifyNodes(const Verification& v) {
  const Program& p = v.program;
  ArgBinder binder(p);
  OpChapter ops(v);
  TypeChapter types(v);
  BoundArgs bound;
  for (uint32_t i = 0; i < p.num_graphs(); ++i) {
    const GraphId g(i);
    if (p.graph(g).is_erased) continue;
    for (const NodeId n : p.nodes(g)) {
      switch (p.node(n).kind) {
        case NodeKind::kOp: {
          BindError error;
          const BoundArgs* args =
              binder.Bind(n, &bound, &error) ? &bound : nullptr;
          if (ops.Check(g, n, args, error)) types.Check(g, n, args);
          break;
        }
        case NodeKind::kChildCall:
        case NodeKind::kDelegateCall:
        case NodeKind::kGetState:
          VerifyCall(v, g, n);
          break;
        case NodeKind::kOutput:
          break;
      }
    }
  }
}

}  // namespace

Status Verify(const Program& program, const VerifyOptions& options,
              Diagnostics& diags) {
  const size_t errors_before = diags.num_errors();
  const Verification v{program, diags};
  // Beyond these two, ids name entries and lists end.
  if (!VerifyGraphs(v)) return Failure{};
  if (!VerifyTypePool(v)) return Failure{};
  VerifyCallGraph(v);
  VerifyNodes(v);
  VerifySignature(v);
  VerifyState(v);
  VerifySpecs(v);
  VerifySymbols(v);
  VerifyDelegates(v);
  // Effects follow calls and results: only where those are as declared.
  if (diags.num_errors() == errors_before) {
    VerifyEffects(v);
    if (options.lint) Lint(v);
  }
  if (diags.num_errors() != errors_before) return Failure{};
  return {};
}

}  // namespace tenon
