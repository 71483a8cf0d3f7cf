// V-OP-09, V-OP-10, V-TYPE-07, V-TYPE-08: higher-order operators against the
// graphs that they hold.
//
// A nested graph has one input for each operand that it is given, and what it
// returns is what the operator returns, with the types on both sides equal in
// kind, dtype and rank. Operators that slice their operands (map, scan) are
// held to counts and dtypes only.
#include <algorithm>
#include <string_view>

#include "verify/verification.h"

namespace tenon {
namespace {

// A literal operand and a list's item are operands as well.
void AddItems(const Program& p, const Arg& a, std::vector<const Arg*>* out) {
  if (a.kind != ArgKind::kList) {
    out->push_back(&a);
    return;
  }
  for (const Arg& item : p.args(a.list)) out->push_back(&item);
}

class HigherOrderCheck {
 public:
  HigherOrderCheck(const Verification& v, GraphId g, NodeId n)
      : v_(v), p_(v.program), g_(g), n_(n), args_(p_.args(n)) {}

  void Run() {
    const std::string_view op = p_.op_name(n_);
    if (op == "higher_order.cond") {
      if (!HasGraphs(1, 2) || !Collect(3, 1)) return;
      for (const GraphId branch : {args_[1].graph, args_[2].graph}) {
        CheckInputs(branch, true);
        CheckOutputs(branch, true);
      }
    } else if (op == "higher_order.while_loop") {
      WhileLoop();
    } else if (op == "higher_order.invoke_subgraph") {
      if (!HasGraphs(0, 1) || !Collect(2, kRest)) return;
      CheckInputs(args_[0].graph, true);
      CheckOutputs(args_[0].graph, true);
    } else if (op == "higher_order.wrap_with_set_grad_enabled") {
      if (!HasGraphs(1, 1) || !Collect(2, kRest)) return;
      CheckInputs(args_[1].graph, true);
      CheckOutputs(args_[1].graph, true);
    } else if (op == "higher_order.wrap_with_autocast") {
      if (!HasGraphs(4, 1) || !Collect(5, kRest)) return;
      CheckInputs(args_[4].graph, true);
      CheckOutputs(args_[4].graph, true);
    } else if (op == "higher_order.map_impl") {
      if (!HasGraphs(0, 1) || !Collect(1, 2)) return;
      CheckInputs(args_[0].graph, false);
      CheckOutputs(args_[0].graph, false);
    } else if (op == "higher_order.scan") {
      Scan();
    }
  }

 private:
  static constexpr size_t kRest = ~size_t{0};

  // V-OP-09: graphs stand where the operator takes them.
  bool HasGraphs(size_t at, size_t count) {
    for (size_t i = at; i < at + count; ++i) {
      if (i < args_.size() && args_[i].kind == ArgKind::kGraph) continue;
      v_.Error(Rule::kOp09, g_, n_)
          << "argument " << i << " of " << p_.op_name(n_) << " isn't a graph";
      return false;
    }
    return true;
  }

  // Operands are the items of `count` arguments from `at` on.
  bool Collect(size_t at, size_t count) {
    operands_.clear();
    const size_t end =
        count == kRest ? args_.size() : std::min(at + count, args_.size());
    for (size_t i = at; i < end; ++i) AddItems(p_, args_[i], &operands_);
    return true;
  }

  void WhileLoop() {
    if (!HasGraphs(0, 2)) return;
    Collect(2, 2);
    const GraphId condition = args_[0].graph, body = args_[1].graph;
    CheckInputs(condition, true);
    CheckInputs(body, true);
    CheckOutputs(body, true);
    // V-OP-10: a condition is one value.
    if (p_.outputs(condition).size() != 1) {
      v_.Error(Rule::kOp10, g_, n_)
          << "the loop's condition returns " << p_.outputs(condition).size()
          << " values, expected 1";
    }
  }

  // combine graph, init, xs, additional; older files put dim and reverse
  // before the last.
  void Scan() {
    if (!HasGraphs(0, 1)) return;
    operands_.clear();
    for (size_t i = 1; i < args_.size(); ++i) {
      if (args_[i].kind == ArgKind::kList) AddItems(p_, args_[i], &operands_);
    }
    CheckInputs(args_[0].graph, false);
    CheckOutputs(args_[0].graph, false);
  }

  // V-OP-09: one operand per input. V-TYPE-07: of its type.
  void CheckInputs(GraphId nested, bool same_rank) {
    const std::vector<ValueId>& inputs = p_.graph(nested).inputs;
    if (inputs.size() != operands_.size()) {
      v_.Error(Rule::kOp09, g_, n_).Note(v_.At(nested), "declared here")
          << "the nested graph has " << inputs.size() << " inputs, but gets "
          << operands_.size() << " operands";
      return;
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Type* operand = TypeOf(p_, *operands_[i]);
      if (operand == nullptr) continue;
      const Type& input = p_.type(inputs[i]);
      if (Agree(*operand, input, same_rank)) continue;
      v_.Error(Rule::kType07, g_, n_).Note(v_.At(nested), "declared here")
          << "operand " << i << " is "
          << v_.TypeText(p_.value(operands_[i]->v.value).type) << ", but input "
          << i << " of the nested graph is "
          << v_.TypeText(p_.value(inputs[i]).type);
    }
  }

  // V-OP-10: one result per output, None included. V-TYPE-08: of its type.
  void CheckOutputs(GraphId nested, bool same_rank) {
    const Node& node = p_.node(n_);
    std::vector<const Arg*> outputs;
    for (const Arg& a : p_.outputs(nested)) AddItems(p_, a, &outputs);
    std::vector<ValueId> results;  // invalid: None
    if (node.form.valid()) {
      uint32_t at = 0;
      for (const FormItem& item : p_.context().form(node.form)) {
        const uint32_t count = item.kind == FormItem::Kind::kList
                                   ? item.list_size
                               : item.kind == FormItem::Kind::kValue ? 1
                                                                     : 0;
        for (uint32_t i = 0; i < count && at < node.results.count; ++i) {
          results.push_back(node.results[at++]);
        }
        if (item.kind == FormItem::Kind::kNone) results.push_back(ValueId());
      }
    } else {
      for (uint32_t i = 0; i < node.results.count; ++i) {
        results.push_back(node.results[i]);
      }
    }
    if (outputs.size() != results.size()) {
      v_.Error(Rule::kOp10, g_, n_).Note(v_.At(nested), "declared here")
          << "the nested graph returns " << outputs.size()
          << " values, but the node has " << results.size() << " results";
      return;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (IsResult(*outputs[i], results[i], same_rank)) continue;
      v_.Error(Rule::kType08, g_, n_).Note(v_.At(nested), "returned here")
          << "result " << i << " is " << ResultText(results[i])
          << ", but the nested graph returns " << OutputText(*outputs[i]);
    }
  }

  // Whether the output may be the result; an invalid result is None.
  bool IsResult(const Arg& output, ValueId result, bool same_rank) const {
    const Type* from = TypeOf(p_, output);
    const bool gives_none = from == nullptr ? output.kind == ArgKind::kNone
                                            : from->kind == TypeKind::kNone;
    const bool is_none =
        !result.valid() || p_.type(result).kind == TypeKind::kNone;
    if (gives_none || is_none) return gives_none == is_none;
    if (from != nullptr) return Agree(*from, p_.type(result), same_rank);
    // A literal, which is a number or a text.
    return !p_.type(result).is_tensor();
  }

  std::string ResultText(ValueId result) const {
    return result.valid() ? v_.TypeText(p_.value(result).type) : "None";
  }

  std::string OutputText(const Arg& output) const {
    if (output.is_value()) return v_.TypeText(p_.value(output.v.value).type);
    return output.kind == ArgKind::kNone ? "None" : "a literal";
  }

  static bool Agree(const Type& a, const Type& b, bool same_rank) {
    if (same_rank || a.kind != b.kind || !a.is_tensor()) {
      // A literal at one side may be a symbolic scalar at the other.
      if (a.kind != b.kind && !a.is_tensor() && !b.is_tensor()) return true;
      return KindsAgree(a, b);
    }
    return a.dtype == b.dtype;
  }

  const Verification& v_;
  const Program& p_;
  GraphId g_;
  NodeId n_;
  std::span<const Arg> args_;
  std::vector<const Arg*> operands_;
};

}  // namespace

void VerifyHigherOrder(const Verification& v, GraphId g, NodeId n) {
  HigherOrderCheck(v, g, n).Run();
}

}  // namespace tenon
