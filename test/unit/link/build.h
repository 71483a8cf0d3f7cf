// Small graphs by hand for the tests of linking.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "ir/program.h"

namespace tenon {

// A program over float32[2] tensors; every result has that type.
class Build {
 public:
  Build() : program(std::make_shared<Context>()) {
    Type t;
    t.kind = TypeKind::kTensor;
    t.dtype = DType::kFloat32;
    t.device.type = context().Intern("cpu");
    t.sizes = {SymInt::Literal(2)};
    t.strides = {SymInt::Literal(1)};
    type = context().types.Intern(t);
    program.AddGraph("main");
  }

  Context& context() { return program.context(); }

  ValueId Input(GraphId g, std::string_view name) {
    const ValueId v = program.AddInput(g, type, context().Intern(name));
    if (g == Program::kRoot) program.signature.inputs.emplace_back();
    return v;
  }

  // An operator over values, with PyTorch's parameter names.
  ValueId Op(GraphId g, std::string_view op, std::vector<ValueId> operands,
             std::string_view name = "") {
    const NodeId n =
        program.NewOp(context().InternOp(op), context().Intern(name));
    const ArgRange args =
        program.NewArgs(static_cast<uint32_t>(operands.size()));
    program.SetArgRange(n, args);
    const OpSchema* schema = FindSchema(op);
    for (size_t i = 0; i < operands.size(); ++i) {
      program.SetArgLabel(args[i], context().Intern(schema->args[i].name),
                          PassKind::kPositional);
      program.SetValueArg(args[i], n, operands[i]);
    }
    const ValueId r = program.NewResults(n, 1)[0];
    program.mutable_value(r).type = type;
    program.mutable_value(r).name = context().Intern(name);
    program.Append(g, n);
    return r;
  }

  // A call of `child` with positional arguments; literals by SetArg later.
  NodeId Call(GraphId g, GraphId child, std::vector<ValueId> operands,
              uint32_t num_results) {
    const NodeId n = program.NewNode(NodeKind::kChildCall);
    program.mutable_node(n).child = child;
    const ArgRange args =
        program.NewArgs(static_cast<uint32_t>(operands.size()));
    program.SetArgRange(n, args);
    for (size_t i = 0; i < operands.size(); ++i) {
      program.SetArgLabel(args[i], StringId(), PassKind::kPositional);
      program.SetValueArg(args[i], n, operands[i]);
    }
    const ValueRange results = program.NewResults(n, num_results);
    for (uint32_t i = 0; i < num_results; ++i) {
      program.mutable_value(results[i]).type = type;
    }
    program.Append(g, n);
    return n;
  }

  ValueId Result(NodeId n, uint32_t i = 0) {
    return program.node(n).results[i];
  }

  void Return(GraphId g, std::vector<ValueId> values) {
    const ArgRange args = program.NewArgs(static_cast<uint32_t>(values.size()));
    for (size_t i = 0; i < values.size(); ++i) {
      program.SetValueArg(args[i], program.graph(g).output, values[i]);
    }
    program.SetOutputs(g, args);
    if (g == Program::kRoot) program.signature.outputs.resize(values.size());
  }

  // Operators of the root graph, in order, each with the operators that its
  // operands come from: "sub(x,mul(x,y))".
  std::string Expression(ValueId v) {
    const Value& value = program.value(v);
    if (value.is_input()) return std::string(program.view(value.name));
    std::string out(program.op_name(value.def));
    out = out.substr(5, out.find('.', 5) - 5) + "(";
    bool first = true;
    program.ForEachOperand(value.def, [&](ValueId operand) {
      out += (first ? "" : ",") + Expression(operand);
      first = false;
    });
    return out + ")";
  }
  std::string Output(size_t i) {
    const Arg& arg = program.outputs(Program::kRoot)[i];
    return arg.is_value() ? Expression(arg.v.value) : "literal";
  }

  Program program;
  TypeId type;
};

}  // namespace tenon
