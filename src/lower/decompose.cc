#include "lower/decompose.h"

#include <utility>
#include <vector>

#include "analysis/bound_args.h"
#include "lower/live_graphs.h"
#include "lower/rewrite_rules.h"

namespace tenon::lower {
namespace {

// Rules end by design; a program of n nodes that takes more than this many
// times n replacements has met two rules that undo each other.
constexpr uint32_t kMaxRewritesPerNode = 1000;

class Decomposer {
 public:
  Decomposer(Program* program, RuleStage stage, Diagnostics& diags)
      : program_(*program),
        diags_(diags),
        rules_(program->context(), stage),
        binder_(*program) {}

  Expected<uint32_t> Run() {
    for (const GraphId g : LiveGraphs(program_)) {
      uint64_t left =
          uint64_t{kMaxRewritesPerNode} * (program_.CountNodes(g) + 1);
      for (NodeId n = program_.graph(g).first; n.valid();) {
        if (left == 0) {
          return diags_.Error(Rule::kUnsupported,
                              Place::Node(program_.Describe(g, n)))
                 << "the rewrite rules for '" << program_.op_name(n)
                 << "' don't come to an end";
        }
        const NodeId before = program_.node(n).prev;
        const NodeId next = program_.node(n).next;
        if (!Replace(g, n)) {
          n = next;
          continue;
        }
        --left;
        ++num_replaced_;
        n = before.valid() ? program_.node(before).next
                           : program_.graph(g).first;
      }
    }
    return num_replaced_;
  }

 private:
  bool Replace(GraphId g, NodeId n) {
    if (program_.node(n).kind != NodeKind::kOp) return false;
    const RewriteRule* rule = rules_.Find(program_.node(n).op);
    BoundArgs bound;
    if (rule == nullptr || !binder_.Bind(n, &bound) || HasOddArgument(n)) {
      return false;
    }
    NodeRewrite rewrite(&program_, g, n, bound);
    if ((*rule)(rewrite) == Rewritten::kSkip) return false;
    for (size_t i = 0; i < rewrite.num_results(); ++i) {
      const ValueId from = rewrite.result(i), to = rewrite.replacement(i);
      if (!to.valid()) {
        TENON_ASSERT(program_.value(from).num_uses == 0,
                     "a rule gives every result that is read");
        continue;
      }
      KeepName(from, to);
      program_.ReplaceAllUses(from, to);
    }
    program_.Erase(g, n);
    return true;
  }

  // Complex numbers and dicts, which no rule knows.
  bool HasOddArgument(NodeId n) const {
    bool found = false;
    program_.ForEachArg(program_.node(n).args, [&](const Arg& a, ArgId) {
      found |= a.kind == ArgKind::kComplex || a.kind == ArgKind::kDict;
    });
    return found;
  }

  void KeepName(ValueId from, ValueId to) {
    Value& value = program_.mutable_value(to);
    if (program_.view(value.name).empty() && !value.is_input()) {
      value.name = program_.value(from).name;
    }
  }

  Program& program_;
  Diagnostics& diags_;
  const RuleBook rules_;
  ArgBinder binder_;
  uint32_t num_replaced_ = 0;
};

}  // namespace

Expected<uint32_t> Decompose(Program* program, RuleStage stage,
                             Diagnostics& diags) {
  return Decomposer(program, stage, diags).Run();
}

}  // namespace tenon::lower
