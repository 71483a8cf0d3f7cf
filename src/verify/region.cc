// V-REGION: calls of children and of delegates (rules J-1, J-4, D-2, D-4, D-6).
//
// A call binds each input of what it calls once, with an operand of its type,
// and has one result per output. For a delegate these are the inputs and
// outputs that it declares, which are also those of the graph that it was
// compiled from. What it writes in place is an input of its own, and the output
// that shows it has the same type. The payload is the one whose digest is
// stated, and no two delegates have one name.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "ir/call_binding.h"
#include "verify/verification.h"

namespace tenon {
namespace {

// V-REGION-01, V-REGION-02 and V-REGION-03 of a child's call.
class ChildCallCheck {
 public:
  ChildCallCheck(const Verification& v, GraphId g, NodeId n)
      : v_(v),
        p_(v.program),
        g_(g),
        n_(n),
        child_id_(p_.node(n).child),
        child_(p_.graph(child_id_)) {}

  void Run() {
    BindOperands();
    const ValueRange results = p_.node(n_).results;
    const auto outputs = p_.outputs(child_id_);
    // V-REGION-02: one result per output.
    if (results.count != outputs.size()) {
      v_.Error(Rule::kRegion02, g_, n_).Note(v_.At(child_id_), "declared here")
          << "the call has " << results.count
          << " results, but the child returns " << outputs.size();
      return;
    }
    for (uint32_t i = 0; i < results.count; ++i) {
      const Type* output = TypeOf(p_, outputs[i]);
      if (output == nullptr || !output->is_tensor()) continue;
      CheckType("result", i, p_.value(results[i]).type,
                p_.value(outputs[i].v.value).type);
    }
  }

 private:
  // V-REGION-01: each input is bound once.
  void BindOperands() {
    const CallBinding binding(p_, n_, child_id_);
    for (const BindingFault& fault : binding.faults()) {
      v_.Error(Rule::kRegion01, g_, n_).Note(v_.At(child_id_), "declared here")
          << Describe(p_, n_, child_id_, fault);
    }
    for (uint32_t i = 0; i < binding.args().size(); ++i) {
      const ArgId at = binding.args()[i];
      if (!at.valid() || TypeOf(p_, p_.arg(at)) == nullptr) continue;
      CheckType("operand", i, p_.value(p_.arg(at).v.value).type,
                p_.value(child_.inputs[i]).type);
    }
  }

  // V-REGION-03: the types of both sides of the boundary are those of one
  // value.
  void CheckType(const char* what, uint32_t i, TypeId outside, TypeId inside) {
    const Type &a = p_.type(outside), &b = p_.type(inside);
    // Hybrid graphs leave types open where a sample run didn't fill them in.
    if (a.kind == TypeKind::kNone || b.kind == TypeKind::kNone) return;
    if (a.is_tensor() == b.is_tensor() &&
        (!a.is_tensor() || TypesAgree(a, b))) {
      return;
    }
    v_.Error(Rule::kRegion03, g_, n_).Note(v_.At(child_id_), "declared here")
        << what << " " << i << " is " << v_.TypeText(outside)
        << ", but the child declares " << v_.TypeText(inside);
  }

  const Verification& v_;
  const Program& p_;
  GraphId g_;
  NodeId n_;
  GraphId child_id_;
  const Graph& child_;
};

void VerifyDelegateCall(const Verification& v, GraphId g, NodeId n) {
  const Program& p = v.program;
  const Node& node = p.node(n);
  const Delegate& d = p.delegates[node.delegate.index];
  const auto args = p.args(n);
  // V-REGION-04: arity as the delegate declares it.
  if (args.size() != d.inputs.size() ||
      node.results.count != d.outputs.size()) {
    v.Error(Rule::kRegion04, g, n)
        << "the call passes " << args.size() << " arguments and has "
        << node.results.count << " results, but the delegate declares "
        << d.inputs.size() << " inputs and " << d.outputs.size() << " outputs";
    return;
  }
  // V-REGION-05: types as the delegate declares them, by index (D-3).
  const auto check = [&](const char* what, size_t i, TypeId found,
                         TypeId declared) {
    if (TypesAgree(p.type(found), p.type(declared))) return;
    v.Error(Rule::kRegion05, g, n)
        << what << " " << i << " is " << v.TypeText(found)
        << ", but the delegate declares " << v.TypeText(declared);
  };
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].is_value()) {
      check("operand", i, p.value(args[i].v.value).type, d.inputs[i]);
    } else if (p.type(d.inputs[i]).is_tensor()) {
      v.Error(Rule::kRegion05, g, n)
          << "operand " << i << " is no value, but the delegate declares "
          << v.TypeText(d.inputs[i]);
    }
  }
  for (uint32_t i = 0; i < node.results.count; ++i) {
    check("result", i, p.value(node.results[i]).type, d.outputs[i]);
  }
}

DiagnosticBuilder DelegateError(const Verification& v, Rule rule,
                                const Delegate& d) {
  return v.diags.Error(rule, Place::Node(std::string(v.program.view(d.name))))
         << "delegate: ";
}

// V-REGION-06: the source graph has the declared inputs and outputs.
void CheckSource(const Verification& v, const Delegate& d) {
  if (!d.source.valid()) return;
  const Program& p = v.program;
  const auto& inputs = p.graph(d.source).inputs;
  const auto outputs = p.outputs(d.source);
  if (inputs.size() != d.inputs.size() || outputs.size() != d.outputs.size()) {
    DelegateError(v, Rule::kRegion06, d).Note(v.At(d.source), "compiled from")
        << "the graph that it was compiled from has " << inputs.size()
        << " inputs and " << outputs.size() << " outputs, declared are "
        << d.inputs.size() << " and " << d.outputs.size();
    return;
  }
  const auto check = [&](const char* what, size_t i, TypeId found,
                         TypeId declared) {
    if (TypesAgree(p.type(found), p.type(declared))) return;
    DelegateError(v, Rule::kRegion06, d).Note(v.At(d.source), "compiled from")
        << what << " " << i << " of the graph that it was compiled from is "
        << v.TypeText(found) << ", declared is " << v.TypeText(declared);
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    check("input", i, p.value(inputs[i]).type, d.inputs[i]);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].is_value()) {
      check("output", i, p.value(outputs[i].v.value).type, d.outputs[i]);
    }
  }
}

// " 'k_in'" where the bindings have names.
std::string BindingText(const Program& program,
                        const std::vector<StringId>& names, uint32_t i) {
  if (i >= names.size()) return "";
  return " '" + std::string(program.view(names[i])) + "'";
}

// Whether both can be one storage: a device without an index may be any.
bool DevicesAgree(const Type& a, const Type& b) {
  return a.device.type == b.device.type &&
         (a.device.index == b.device.index || a.device.index < 0 ||
          b.device.index < 0);
}

// V-REGION-07: a write names an input and an output, neither twice, of one
// type.
void CheckWrites(const Verification& v, const Delegate& d) {
  const Program& p = v.program;
  std::vector<bool> is_written(d.inputs.size(), false);
  std::vector<bool> is_shown(d.outputs.size(), false);
  for (const DeclaredWrite& w : d.writes) {
    if (w.input >= d.inputs.size() || w.output >= d.outputs.size()) {
      DelegateError(v, Rule::kRegion07, d)
          << "a write of input " << w.input << " by output " << w.output
          << ", but there are " << d.inputs.size() << " inputs and "
          << d.outputs.size() << " outputs";
      continue;
    }
    if (is_written[w.input] || is_shown[w.output]) {
      DelegateError(v, Rule::kRegion07, d)
          << (is_written[w.input] ? "input " : "output ")
          << (is_written[w.input] ? w.input : w.output)
          << " belongs to two writes, one of them of input " << w.input
          << BindingText(p, d.input_names, w.input) << " by output " << w.output
          << BindingText(p, d.output_names, w.output);
    }
    is_written[w.input] = true;
    is_shown[w.output] = true;
    if (!p.type(d.inputs[w.input]).is_tensor() ||
        !TypesAgree(p.type(d.inputs[w.input]), p.type(d.outputs[w.output]))) {
      DelegateError(v, Rule::kRegion07, d)
          << "input " << w.input << BindingText(p, d.input_names, w.input)
          << " is " << v.TypeText(d.inputs[w.input]) << ", but output "
          << w.output << BindingText(p, d.output_names, w.output)
          << ", which shows it, is " << v.TypeText(d.outputs[w.output]);
    } else if (!DevicesAgree(p.type(d.inputs[w.input]),
                             p.type(d.outputs[w.output]))) {
      DelegateError(v, Rule::kRegion07, d)
          << "input " << w.input << BindingText(p, d.input_names, w.input)
          << " and output " << w.output
          << BindingText(p, d.output_names, w.output)
          << ", which shows it, live on different devices";
    }
  }
}

void CheckDelegate(const Verification& v, const Delegate& d) {
  CheckSource(v, d);
  CheckWrites(v, d);
  // V-REGION-08: the payload is what its digest says. Before compilation there
  // is neither.
  const bool is_compiled = !d.payload.empty() || d.payload_digest != Digest();
  if (is_compiled &&
      HashBytes(d.payload.data(), d.payload.size()) != d.payload_digest) {
    DelegateError(v, Rule::kRegion08, d)
        << "the payload's digest is "
        << HashBytes(d.payload.data(), d.payload.size()).ToHex()
        << ", stated is " << d.payload_digest.ToHex();
  }
  // V-REGION-09: binding names, where there are any, for all.
  if ((!d.input_names.empty() && d.input_names.size() != d.inputs.size()) ||
      (!d.output_names.empty() && d.output_names.size() != d.outputs.size())) {
    DelegateError(v, Rule::kRegion09, d)
        << d.input_names.size() << " and " << d.output_names.size()
        << " binding names, expected none or one for each of "
        << d.inputs.size() << " inputs and " << d.outputs.size() << " outputs";
  }
}

// A reference to state has one result, of the stored type.
void VerifyGetState(const Verification& v, GraphId g, NodeId n) {
  const Program& p = v.program;
  const Node& node = p.node(n);
  // V-SIG-14: like a lifted input.
  if (node.results.count != 1 || !node.args.empty()) {
    v.Error(Rule::kSig14, g, n)
        << "a reference to state has " << node.results.count
        << " results, expected 1, and no arguments";
    return;
  }
  const StateEntry& entry = p.state.get(node.state);
  const TypeId found = p.value(node.results[0]).type;
  if (!TypesAgree(p.type(found), p.type(entry.type))) {
    v.Error(Rule::kSig14, g, n)
        << "'" << p.view(entry.fqn) << "' is stored as "
        << v.TypeText(entry.type) << ", the reference is " << v.TypeText(found);
  }
}

}  // namespace

void VerifyCall(const Verification& v, GraphId g, NodeId n) {
  switch (v.program.node(n).kind) {
    case NodeKind::kChildCall:
      ChildCallCheck(v, g, n).Run();
      return;
    case NodeKind::kDelegateCall:
      VerifyDelegateCall(v, g, n);
      return;
    case NodeKind::kGetState:
      VerifyGetState(v, g, n);
      return;
    case NodeKind::kOp:
    case NodeKind::kOutput:
      return;
  }
}

void VerifyDelegates(const Verification& v) {
  std::unordered_map<StringId, uint32_t> names;
  for (uint32_t i = 0; i < v.program.delegates.size(); ++i) {
    const Delegate& d = v.program.delegates[i];
    CheckDelegate(v, d);
    // V-REGION-10: a name tells a delegate from the others.
    const auto [it, added] = names.emplace(d.name, i);
    if (!added) {
      DelegateError(v, Rule::kRegion10, d)
          << "delegates " << it->second << " and " << i << " have one name";
    }
  }
}

}  // namespace tenon
