// Numbers beside tensors: sizes, and Python's functions on them. They are 0-d
// tensors of int64, float64 and bool.
#include "onnx/division.h"
#include "onnx/task.h"

namespace tenon::onnx {
namespace {

const Arg& Operand(const Task& t, uint32_t i) {
  return t.program.args(t.node)[i];
}

// int64 when both are whole, else float64.
DType CommonDtype(const Task& t) {
  DType common = DType::kInt64;
  for (const Arg& a : t.program.args(t.node)) {
    const DType d = a.is_value()                ? t.DtypeOf(a.value())
                    : a.kind == ArgKind::kFloat ? DType::kFloat64
                                                : DType::kInt64;
    if (IsFloating(d)) common = DType::kFloat64;
  }
  return common;
}

WhyNot Sum(Task& t, std::string_view onnx) {
  const DType dtype = CommonDtype(t);
  const std::string a = t.ToName(Operand(t, 0), dtype);
  if (t.program.args(t.node).size() == 1) {
    t.Give(t.build.Add(onnx, {a}));
    return {};
  }
  const std::string b = t.ToName(Operand(t, 1), dtype);
  if (onnx == "NotEqual") {
    t.Give(t.build.Not(t.build.Add("Equal", {a, b})));
  } else if (onnx == "FloorDiv") {
    t.Give(FloorDivide(t.build, a, b));
  } else if (onnx == "PythonMod") {
    t.Give(Remainder(t.build, a, b));
  } else {
    t.Give(t.build.Add(onnx, {a, b}));
  }
  return {};
}

WhyNot OfFloats(Task& t, std::string_view onnx) {
  std::vector<std::string> operands;
  for (const Arg& a : t.program.args(t.node)) {
    operands.push_back(t.ToName(a, DType::kFloat64));
  }
  t.Give(t.build.Add(onnx, operands));
  return {};
}

// A whole power of a whole number, by products; else that of floats.
WhyNot ScalarPower(Task& t, std::string_view onnx) {
  if (CommonDtype(t) != DType::kInt64) return OfFloats(t, onnx);
  const Arg& n = Operand(t, 1);
  constexpr int64_t kMaxPower = 62;
  if (n.is_value() || n.i < 0 || n.i > kMaxPower) {
    return "a power that isn't a small whole number";
  }
  const std::string x = t.ToName(Operand(t, 0), DType::kInt64);
  std::string product = t.build.Int(1);
  for (int64_t i = 0; i < n.i; ++i) product = t.build.Add("Mul", {product, x});
  t.Give(product);
  return {};
}

// To a whole number.
WhyNot ToWhole(Task& t, std::string_view onnx) {
  const std::string x = t.ToName(Operand(t, 0));
  if (t.build.dtype(x) != DType::kFloat64 || onnx.empty()) {
    t.Give(x);  // a cast cuts off toward zero
    return {};
  }
  t.Give(t.build.Add(onnx, {x}));
  return {};
}

WhyNot AsItIs(Task& t, std::string_view) {
  t.Give(t.ToName(Operand(t, 0)));
  return {};
}

WhyNot OfTruths(Task& t, std::string_view onnx) {
  std::vector<std::string> operands;
  for (const Arg& a : t.program.args(t.node)) {
    operands.push_back(t.ToName(a, DType::kBool));
  }
  t.Give(t.build.Add(onnx, operands));
  return {};
}

// a if condition else b.
WhyNot Choice(Task& t, std::string_view) {
  const DType dtype = t.dtype();
  t.Give(t.build.Where(t.ToName(Operand(t, 0), DType::kBool),
                       t.ToName(Operand(t, 1), dtype),
                       t.ToName(Operand(t, 2), dtype)));
  return {};
}

WhyNot SymSize(Task& t, std::string_view) {
  const int64_t dim = t.Dim("dim", t.rank("self"));
  const auto size = LiteralSize(t.TypeOf("self"), dim);
  t.Give(size ? t.build.Int(*size) : t.build.Size(t.In("self"), dim));
  return {};
}

WhyNot SymNumel(Task& t, std::string_view) {
  t.Give(t.build.Add("Size", {t.In("self")}));
  return {};
}

// The one element of a tensor.
WhyNot Item(Task& t, std::string_view) {
  t.Give(t.build.Reshape(t.In("self"), {}));
  return {};
}

constexpr Translation kTable[] = {
    {"_operator.add", Sum, "Add"},
    {"_operator.sub", Sum, "Sub"},
    {"_operator.mul", Sum, "Mul"},
    {"_operator.neg", Sum, "Neg"},
    {"_operator.floordiv", Sum, "FloorDiv"},
    {"_operator.mod", Sum, "PythonMod"},
    {"_operator.eq", Sum, "Equal"},
    {"_operator.ne", Sum, "NotEqual"},
    {"_operator.lt", Sum, "Less"},
    {"_operator.le", Sum, "LessOrEqual"},
    {"_operator.gt", Sum, "Greater"},
    {"_operator.ge", Sum, "GreaterOrEqual"},
    {"_operator.truediv", OfFloats, "Div"},
    {"_operator.pow", ScalarPower, "Pow"},
    {"_operator.and_", OfTruths, "And"},
    {"_operator.or_", OfTruths, "Or"},
    {"_operator.not_", OfTruths, "Not"},
    {"_operator.pos", AsItIs},
    {"math.trunc", ToWhole},
    {"math.floor", ToWhole, "Floor"},
    {"math.ceil", ToWhole, "Ceil"},
    {"builtins.round", ToWhole, "Round"},
    {"torch.sym_float", AsItIs},
    {"torch.sym_int", ToWhole},
    {"torch.sym_max", Sum, "Max"},
    {"torch.sym_min", Sum, "Min"},
    {"torch.sym_not", OfTruths, "Not"},
    {"torch.sym_ite", Choice},
    {"torch._sym_sqrt", OfFloats, "Sqrt"},
    {"aten.sym_size.int", SymSize},
    {"aten.sym_numel.default", SymNumel},
    {"aten._local_scalar_dense.default", Item},
    {"aten.item.default", Item},
};

}  // namespace

std::span<const Translation> ScalarTranslations() { return kTable; }

}  // namespace tenon::onnx
