// Arithmetic on numbers: Python's functions become primitives of the runtime.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executorch/plan_emitter.h"

namespace tenon::executorch {
namespace {

struct Primitive {
  std::string_view python, primitive;
  size_t num_args;
};

constexpr Primitive kPrimitives[] = {
    {"_operator.add", "executorch_prim::add.Scalar", 2},
    {"_operator.sub", "executorch_prim::sub.Scalar", 2},
    {"_operator.mul", "executorch_prim::mul.Scalar", 2},
    {"_operator.floordiv", "executorch_prim::floordiv.Scalar", 2},
    {"_operator.truediv", "executorch_prim::truediv.Scalar", 2},
    {"_operator.mod", "executorch_prim::mod.Scalar", 2},
    {"_operator.eq", "executorch_prim::eq.Scalar", 2},
    {"_operator.gt", "executorch_prim::gt.Scalar", 2},
    {"_operator.lt", "executorch_prim::lt.Scalar", 2},
    {"_operator.ge", "executorch_prim::ge.Scalar", 2},
    {"_operator.le", "executorch_prim::le.Scalar", 2},
    {"_operator.neg", "executorch_prim::neg.Scalar", 1},
    {"torch.sym_max", "executorch_prim::sym_max.Scalar", 2},
    {"torch.sym_min", "executorch_prim::sym_min.Scalar", 2},
    {"torch.sym_float", "executorch_prim::sym_float.Scalar", 1},
    {"torch.sym_int", "executorch_prim::sym_int.Scalar", 1},
    {"torch.sym_not", "executorch_prim::sym_not.Scalar", 1},
    {"torch.sym_ite", "executorch_prim::sym_ite.Scalar", 3},
    {"math.ceil", "executorch_prim::ceil.Scalar", 1},
    {"math.trunc", "executorch_prim::trunc.Scalar", 1},
    {"builtins.round", "executorch_prim::round.Scalar", 1},
};

const Primitive* FindPrimitive(std::string_view python) {
  for (const Primitive& p : kPrimitives) {
    if (p.python == python) return &p;
  }
  return nullptr;
}

}  // namespace

bool HasPrimitive(std::string_view python) {
  return FindPrimitive(python) != nullptr || python == "_operator.ne";
}

int32_t PlanEmitter::CallPrimitive(std::string_view name,
                                   std::vector<int32_t> args,
                                   PteContent result) {
  const int32_t out = draft_.Add(std::move(result));
  args.push_back(out);
  draft_.CallKernel(name, std::move(args));
  return out;
}

// a != b is not a == b.
bool PlanEmitter::EmitNotEqual(GraphId graph, NodeId n) {
  std::vector<int32_t> operands;
  SchemaArg number;
  number.type = SchemaType::kScalar;
  for (const Arg& arg : program_.args(n)) {
    const auto index = EmitScalarArg(number, arg);
    if (!index || *index < 0) break;
    operands.push_back(*index);
  }
  if (operands.size() != 2 || program_.args(n).size() != 2) {
    return Refuse(graph, n, Rule::kPte26, "an operand that is no number");
  }
  const int32_t equal = CallPrimitive("executorch_prim::eq.Scalar",
                                      std::move(operands), PteBool{});
  SetIndex(
      program_.node(n).results[0],
      CallPrimitive("executorch_prim::sym_not.Scalar", {equal}, PteBool{}));
  return true;
}

bool PlanEmitter::EmitScalarNode(GraphId graph, NodeId n) {
  if (program_.op_name(n) == "_operator.ne") return EmitNotEqual(graph, n);
  const Primitive* primitive = FindPrimitive(program_.op_name(n));
  const Node& node = program_.node(n);
  const auto args = program_.args(n);
  if (primitive == nullptr || args.size() != primitive->num_args ||
      node.results.count != 1) {
    return Refuse(graph, n, Rule::kPte31,
                  "'" + std::string(program_.op_name(n)) +
                      "' has no primitive in the runtime");
  }
  std::vector<int32_t> operands;
  SchemaArg number;
  number.type = SchemaType::kScalar;
  for (const Arg& arg : args) {
    const auto index = EmitScalarArg(number, arg);
    if (!index || *index < 0) {
      return Refuse(graph, n, Rule::kPte26,
                    "an operand of '" + std::string(program_.op_name(n)) +
                        "' is no number");
    }
    operands.push_back(*index);
  }
  const ValueId v = node.results[0];
  SetIndex(v, NewScalar(program_.type(v)));
  operands.push_back(IndexOf(v));
  draft_.CallKernel(primitive->primitive, std::move(operands));
  return true;
}

}  // namespace tenon::executorch
