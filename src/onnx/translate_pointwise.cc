// Functions of one tensor, element by element.
#include <cmath>
#include <numbers>

#include "onnx/task.h"

namespace tenon::onnx {
namespace {

// The operator of the same name.
WhyNot Same(Task& t, std::string_view onnx) {
  t.Give(t.build.Add(onnx, {t.In("self", t.dtype())}));
  return {};
}

// The tensor as it is: a copy.
WhyNot Copy(Task& t, std::string_view) {
  t.Give(t.In("self"));
  return {};
}

// Integers are whole already.
WhyNot Rounded(Task& t, std::string_view onnx) {
  const std::string x = t.In("self", t.dtype());
  t.Give(IsFloating(t.dtype()) ? t.build.Add(onnx, {x}) : x);
  return {};
}

WhyNot RoundedTo(Task& t, std::string_view) {
  if (t.read.Int("decimals") != 0) return "decimals other than 0";
  return Rounded(t, "Round");
}

// Toward zero; the sign of zero stays.
WhyNot Truncated(Task& t, std::string_view) {
  const std::string x = t.In("self", t.dtype());
  if (!IsFloating(t.dtype())) {
    t.Give(x);
    return {};
  }
  const std::string is_negative =
      t.build.Add("Less", {x, t.build.Number(t.dtype(), int64_t{0})});
  t.Give(t.build.Where(is_negative, t.build.Add("Ceil", {x}),
                       t.build.Add("Floor", {x})));
  return {};
}

// Works in float32 where PyTorch does for half precision.
struct Wide {
  explicit Wide(Task& task)
      : t(task), b(task.build), dtype(WideDtype(task.dtype())) {
    x = task.In("self", dtype);
  }
  std::string Number(double v) const { return b.Number(dtype, v); }
  std::string Add(std::string_view op, const std::string& p,
                  const std::string& q) const {
    return b.Add(op, {p, q});
  }
  std::string Add(std::string_view op, const std::string& p) const {
    return b.Add(op, {p});
  }

  Task& t;
  GraphBuilder& b;
  const DType dtype;
  std::string x;
};

// Of NaN 0.
WhyNot Sign(Task& t, std::string_view onnx) {
  if (!IsFloating(t.dtype())) return Same(t, onnx);
  const Wide w(t);
  t.Give(w.b.Where(w.Add("IsNaN", w.x), w.Number(0), w.Add(onnx, w.x)));
  return {};
}

WhyNot Rsqrt(Task& t, std::string_view) {
  const Wide w(t);
  t.Give(w.Add("Reciprocal", w.Add("Sqrt", w.x)));
  return {};
}

WhyNot LogOfBase(Task& t, std::string_view base) {
  const Wide w(t);
  const double scale = base == "2" ? std::numbers::log2e : std::numbers::log10e;
  t.Give(w.Add("Mul", w.Add("Log", w.x), w.Number(scale)));
  return {};
}

// log(u) * x / (u - 1) for u = 1 + x is exact where log(1 + x) isn't: the
// error of u drops out (Kahan).
WhyNot Log1p(Task& t, std::string_view) {
  const Wide w(t);
  const std::string one = w.Number(1), u = w.Add("Add", w.x, one);
  const std::string log = w.Add("Log", u);
  const std::string scaled =
      w.Add("Mul", log, w.Add("Div", w.x, w.Add("Sub", u, one)));
  const std::string finite = w.b.Where(w.Add("Equal", u, one), w.x, scaled);
  t.Give(w.b.Where(w.Add("IsInf", u), log, finite));
  return {};
}

// The same idea, with log(exp(x)) in the place of x.
WhyNot Expm1(Task& t, std::string_view) {
  const Wide w(t);
  const std::string one = w.Number(1), u = w.Add("Exp", w.x);
  const std::string rest = w.Add("Sub", u, one);
  const std::string scaled =
      w.Add("Mul", rest, w.Add("Div", w.x, w.Add("Log", u)));
  const std::string near = w.b.Where(w.Add("Equal", u, one), w.x, scaled);
  const std::string is_far =
      w.Add("Or", w.Add("IsInf", u), w.Add("Equal", rest, w.Number(-1)));
  t.Give(w.b.Where(is_far, rest, near));
  return {};
}

WhyNot Logit(Task& t, std::string_view) {
  const Wide w(t);
  std::string x = w.x;
  if (t.Has("eps")) {
    const auto eps = t.read.Number("eps");
    if (!eps) return "an eps that is computed";
    // Where the bounds contradict each other, either may be what is given.
    const std::string low = w.Number(*eps), high = w.Number(1 - *eps);
    x = w.b.Where(w.Add("Less", x, low), low,
                  w.b.Where(w.Add("Greater", x, high), high, x));
  }
  t.Give(w.Add("Log", w.Add("Div", x, w.Add("Sub", w.Number(1), x))));
  return {};
}

WhyNot Gelu(Task& t, std::string_view) {
  const Wide w(t);
  const Arg* approximate = t.arg("approximate");
  const bool is_tanh = approximate != nullptr &&
                       approximate->kind == ArgKind::kString &&
                       t.program.view(approximate->text) == "tanh";
  std::string inner;
  if (is_tanh) {
    const std::string cube = w.Add("Mul", w.Add("Mul", w.x, w.x), w.x);
    const std::string sum =
        w.Add("Add", w.x, w.Add("Mul", cube, w.Number(0.044715)));
    const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    inner = w.Add("Tanh", w.Add("Mul", sum, w.Number(scale)));
  } else {
    inner = w.Add("Erf", w.Add("Mul", w.x, w.Number(std::sqrt(0.5))));
  }
  t.Give(w.Add("Mul", w.Add("Mul", w.x, w.Number(0.5)),
               w.Add("Add", inner, w.Number(1))));
  return {};
}

WhyNot Elu(Task& t, std::string_view) {
  const auto alpha = t.read.Number("alpha"), scale = t.read.Number("scale"),
             input_scale = t.read.Number("input_scale");
  if (!alpha || !scale || !input_scale) return "a slope that is computed";
  const Wide w(t);
  const std::string exp =
      w.Add("Exp", w.Add("Mul", w.x, w.Number(*input_scale)));
  const std::string low =
      w.Add("Mul", w.Add("Sub", exp, w.Number(1)), w.Number(*alpha * *scale));
  const std::string high =
      *scale == 1 ? w.x : w.Add("Mul", w.x, w.Number(*scale));
  t.Give(w.b.Where(w.Add("Greater", w.x, w.Number(0)), high, low));
  return {};
}

WhyNot LeakyRelu(Task& t, std::string_view) {
  const auto slope = t.read.Number("negative_slope");
  if (!slope) return "a slope that is computed";
  t.Give(t.build.Add("LeakyRelu", {t.In("self", t.dtype())},
                     {FloatAttribute("alpha", *slope)}));
  return {};
}

WhyNot Glu(Task& t, std::string_view) {
  const int64_t dim = t.Dim("dim", t.rank("self"));
  const DType dtype = t.dtype();
  const DType two[] = {dtype, dtype};
  const auto halves = t.build.AddMany(
      "Split", {t.In("self")},
      {IntAttribute("axis", dim), IntAttribute("num_outputs", 2)}, two);
  t.Give(t.build.Add("Mul", {halves[0], t.build.Add("Sigmoid", {halves[1]})}));
  return {};
}

// Bounds, of which either may be left out. NaN stays NaN, and the upper bound
// wins where they contradict each other, which Clip leaves open.
WhyNot Bounded(Task& t, std::string_view low, std::string_view high) {
  DType dtype = t.dtype();
  // A bound may lie outside of what a byte or a short holds.
  if (IsIntegral(dtype) && SizeBytes(dtype) < 4) dtype = DType::kInt64;
  std::string x = t.In("self", dtype);
  if (t.Has(low)) x = t.build.Add("Max", {x, t.In(low, dtype)});
  if (t.Has(high)) x = t.build.Add("Min", {x, t.In(high, dtype)});
  t.Give(x);
  return {};
}

WhyNot Clamp(Task& t, std::string_view) { return Bounded(t, "min", "max"); }
WhyNot Hardtanh(Task& t, std::string_view) {
  return Bounded(t, "min_val", "max_val");
}

WhyNot IsSomething(Task& t, std::string_view onnx) {
  const DType dtype = t.DtypeOf("self");
  // Whole numbers are never infinite nor NaN.
  const std::string x =
      t.In("self", IsFloating(dtype) ? WideDtype(dtype) : DType::kFloat32);
  t.Give(t.build.Add(onnx, {x}));
  return {};
}

WhyNot LogicalNot(Task& t, std::string_view) {
  t.Give(t.build.Not(t.In("self", DType::kBool)));
  return {};
}

WhyNot BitwiseNot(Task& t, std::string_view) {
  const bool is_bool = t.dtype() == DType::kBool;
  t.Give(t.build.Add(is_bool ? "Not" : "BitwiseNot", {t.In("self")}));
  return {};
}

WhyNot ToCopy(Task& t, std::string_view) {
  const DType from = t.DtypeOf("self");
  if (from == DType::kBool || t.dtype() != DType::kBool) {
    t.Give(t.In("self"));
    return {};
  }
  t.Give(t.In("self", DType::kBool));
  return {};
}

constexpr Translation kTable[] = {
    {"aten.exp.default", Same, "Exp"},
    {"aten.log.default", Same, "Log"},
    {"aten.log2.default", LogOfBase, "2"},
    {"aten.log10.default", LogOfBase, "10"},
    {"aten.log1p.default", Log1p},
    {"aten.expm1.default", Expm1},
    {"aten.sqrt.default", Same, "Sqrt"},
    {"aten.rsqrt.default", Rsqrt},
    {"aten.reciprocal.default", Same, "Reciprocal"},
    {"aten.sin.default", Same, "Sin"},
    {"aten.cos.default", Same, "Cos"},
    {"aten.tan.default", Same, "Tan"},
    {"aten.asin.default", Same, "Asin"},
    {"aten.acos.default", Same, "Acos"},
    {"aten.atan.default", Same, "Atan"},
    {"aten.sinh.default", Same, "Sinh"},
    {"aten.cosh.default", Same, "Cosh"},
    {"aten.tanh.default", Same, "Tanh"},
    {"aten.asinh.default", Same, "Asinh"},
    {"aten.acosh.default", Same, "Acosh"},
    {"aten.atanh.default", Same, "Atanh"},
    {"aten.erf.default", Same, "Erf"},
    {"aten.sigmoid.default", Same, "Sigmoid"},
    {"aten.abs.default", Same, "Abs"},
    {"aten.neg.default", Same, "Neg"},
    {"aten.sign.default", Sign, "Sign"},
    {"aten.relu.default", Same, "Relu"},
    {"aten.ceil.default", Rounded, "Ceil"},
    {"aten.floor.default", Rounded, "Floor"},
    {"aten.round.default", Rounded, "Round"},
    {"aten.round.decimals", RoundedTo},
    {"aten.trunc.default", Truncated},
    {"aten.logit.default", Logit},
    {"aten.gelu.default", Gelu},
    {"aten.elu.default", Elu},
    {"aten.leaky_relu.default", LeakyRelu},
    {"aten.glu.default", Glu},
    {"aten.clamp.default", Clamp},
    {"aten.clamp.Tensor", Clamp},
    {"aten.hardtanh.default", Hardtanh},
    {"aten.isnan.default", IsSomething, "IsNaN"},
    {"aten.isinf.default", IsSomething, "IsInf"},
    {"aten.logical_not.default", LogicalNot},
    {"aten.bitwise_not.default", BitwiseNot},
    {"aten._to_copy.default", ToCopy},
    {"aten.clone.default", Copy},
    {"aten.detach.default", Copy},
    {"aten.alias.default", Copy},
    {"aten.lift_fresh.default", Copy},
    {"aten.contiguous.default", Copy},
    {"aten._conj.default", Copy},
    {"aten._conj_physical.default", Copy},
};

}  // namespace

std::span<const Translation> PointwiseTranslations() { return kTable; }

}  // namespace tenon::onnx
