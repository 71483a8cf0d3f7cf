#include "verify/verify.h"

#include "verify/alike.h"
#include "verify/verification.h"

namespace tenon {
namespace {

// V-OP and V-TYPE of calls of operators. Each is bound to its schema once for
// both.
class OpNodeCheck {
 public:
  explicit OpNodeCheck(const Verification& v)
      : v_(v), binder_(v.program), ops_(v), types_(v), right_(v.program) {}

  void Check(GraphId g, NodeId n) {
    if (right_.Contains(n)) return;
    const size_t errors_before = v_.diags.num_errors();
    BindError error;
    const BoundArgs* args =
        binder_.Bind(n, &bound_, &error) ? &bound_ : nullptr;
    if (ops_.Check(g, n, args, error)) types_.Check(g, n, args);
    if (v_.diags.num_errors() == errors_before && IsJudgedByLook(n)) {
      right_.Add(n);
    }
  }

 private:
  // Higher-order operators depend on the graphs that they hold, and inside of
  // autocast less is said of a call than outside.
  bool IsJudgedByLook(NodeId n) const {
    const Program& p = v_.program;
    return !p.context().op(p.node(n).op).is_higher_order &&
           !types_.IsInAutocast(n);
  }

  const Verification& v_;
  ArgBinder binder_;
  OpChapter ops_;
  TypeChapter types_;
  BoundArgs bound_;
  AlikeNodes right_;
};

// All nodes are walked once, for all chapters that look at one at a time.
void VerifyNodes(const Verification& v) {
  const Program& p = v.program;
  OpNodeCheck op_nodes(v);
  for (uint32_t i = 0; i < p.num_graphs(); ++i) {
    const GraphId g(i);
    if (p.graph(g).is_erased) continue;
    for (const NodeId n : p.nodes(g)) {
      switch (p.node(n).kind) {
        case NodeKind::kOp:
          op_nodes.Check(g, n);
          break;
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
