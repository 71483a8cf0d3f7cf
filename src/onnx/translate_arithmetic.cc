// Arithmetic of two tensors, or of one and a number, in the dtype that PyTorch
// promotes them to: that of the result.
#include <cmath>

#include "onnx/division.h"
#include "onnx/task.h"

namespace tenon::onnx {
namespace {

// self + alpha * other, and with "Sub" self - alpha * other.
WhyNot AddScaled(Task& t, std::string_view onnx) {
  const DType dtype = t.dtype();
  if (dtype == DType::kBool) {
    if (onnx != "Add") return "a difference of truth values";
    t.Give(t.build.Add("Or", {t.In("self"), t.In("other", dtype)}));
    return {};
  }
  std::string other = t.In("other", dtype);
  const auto alpha = t.read.Number("alpha");
  if (!alpha) return "an alpha that is computed";
  if (*alpha != 1) {
    other = t.build.Add("Mul", {other, t.In("alpha", dtype)});
  }
  t.Give(t.build.Add(onnx, {t.In("self", dtype), other}));
  return {};
}

// other - alpha * self.
WhyNot Rsub(Task& t, std::string_view) {
  const DType dtype = t.dtype();
  std::string self = t.In("self", dtype);
  if (t.read.Number("alpha") != 1) {
    self = t.build.Add("Mul", {self, t.In("alpha", dtype)});
  }
  t.Give(t.build.Add("Sub", {t.In("other", dtype), self}));
  return {};
}

WhyNot Binary(Task& t, std::string_view onnx) {
  const DType dtype = t.dtype();
  if (dtype == DType::kBool) {
    onnx = onnx == "Mul" || onnx == "Min" ? "And" : "Or";
  }
  t.Give(t.build.Add(onnx, {t.In("self", dtype), t.In("other", dtype)}));
  return {};
}

WhyNot DivideByMode(Task& t, std::string_view) {
  const Arg* mode = t.arg("rounding_mode");
  if (mode == nullptr || mode->kind == ArgKind::kNone) return Binary(t, "Div");
  const DType dtype = t.dtype(), wide = WideDtype(dtype);
  if (t.program.view(mode->text) == "floor") {
    t.Give(FloorDivide(t.build, t.In("self", wide), t.In("other", wide)));
  } else {
    // The quotient is rounded before it is cut off.
    t.Give(TruncDivide(t.build, t.In("self", dtype), t.In("other", dtype)));
  }
  return {};
}

WhyNot FloorDivision(Task& t, std::string_view) {
  const DType wide = WideDtype(t.dtype());
  t.Give(FloorDivide(t.build, t.In("self", wide), t.In("other", wide)));
  return {};
}

WhyNot RemainderOf(Task& t, std::string_view) {
  const DType wide = WideDtype(t.dtype());
  t.Give(Remainder(t.build, t.In("self", wide), t.In("other", wide)));
  return {};
}

// The remainder with the sign of the dividend, C's.
WhyNot Fmod(Task& t, std::string_view) {
  const DType wide = WideDtype(t.dtype());
  t.Give(t.build.Add("Mod", {t.In("self", wide), t.In("other", wide)},
                     {IntAttribute("fmod", 1)}));
  return {};
}

// x^n for a small whole n by squaring: exact for integers, whose powers
// engines compute as floats.
std::string WholePower(GraphBuilder& build, const std::string& x, int64_t n) {
  std::string square = x, product;
  for (; n > 0; n >>= 1) {
    if ((n & 1) != 0) {
      product = product.empty() ? square : build.Add("Mul", {product, square});
    }
    if (n > 1) square = build.Add("Mul", {square, square});
  }
  return product;
}

WhyNot Power(Task& t, std::string_view) {
  const DType dtype = t.dtype(), wide = WideDtype(dtype);
  const std::string x = t.In("self", wide);
  const auto n = t.read.Number("exponent");
  constexpr double kMaxWhole = 64;
  if (!IsFloating(dtype)) {
    if (!n || *n < 0 || *n > kMaxWhole) {
      return "an integer's power whose exponent isn't a small number";
    }
    t.Give(*n == 0 ? t.build.Add("Add", {t.build.Add("Sub", {x, x}),
                                         t.build.Number(wide, int64_t{1})})
                   : WholePower(t.build, x, static_cast<int64_t>(*n)));
    return {};
  }
  if (n == 2 || n == 3) {
    t.Give(WholePower(t.build, x, static_cast<int64_t>(*n)));
  } else if (n == 0.5) {
    t.Give(t.build.Add("Sqrt", {x}));
  } else if (n == -1) {
    t.Give(t.build.Add("Reciprocal", {x}));
  } else {
    t.Give(t.build.Add("Pow", {x, t.In("exponent", wide)}));
  }
  return {};
}

// Whether a number has a sign, be it that of zero.
std::string IsNegative(GraphBuilder& b, const std::string& x) {
  const std::string zero = b.Number(b.dtype(x), int64_t{0});
  const std::string is_minus_zero =
      b.Add("And", {b.Add("Equal", {x, zero}),
                    b.Add("Less", {b.Add("Reciprocal", {x}), zero})});
  return b.Add("Or", {b.Add("Less", {x, zero}), is_minus_zero});
}

// The angle of (x, y) = (other, self) in [-pi, pi], as C has it: by the
// quadrant, which the signs of zeros decide, too.
WhyNot Atan2(Task& t, std::string_view) {
  const DType wide = WideDtype(t.dtype());
  GraphBuilder& b = t.build;
  std::string y = t.In("self", wide), x = t.In("other", wide);
  const std::string zero = b.Number(wide, int64_t{0});
  // Of two infinities only the signs count.
  const std::string are_infinite =
      b.Add("And", {b.Add("IsInf", {y}), b.Add("IsInf", {x})});
  y = b.Where(are_infinite, b.Add("Sign", {y}), y);
  x = b.Where(are_infinite, b.Add("Sign", {x}), x);
  const auto signed_by_y = [&](double angle) {
    return b.Where(IsNegative(b, y), b.Number(wide, -angle),
                   b.Number(wide, angle));
  };
  const std::string is_left = IsNegative(b, x);
  const std::string slope = b.Add("Atan", {b.Add("Div", {y, x})});
  const std::string turned =
      b.Where(is_left, b.Add("Add", {slope, signed_by_y(M_PI)}), slope);
  const std::string flat = b.Where(is_left, signed_by_y(M_PI), y);
  const std::string upright =
      b.Where(b.Add("Equal", {x, zero}), signed_by_y(M_PI / 2), turned);
  const std::string angle = b.Where(b.Add("Equal", {y, zero}), flat, upright);
  const std::string nan = b.Add("Add", {y, x});
  t.Give(b.Where(b.Add("Or", {b.Add("IsNaN", {y}), b.Add("IsNaN", {x})}), nan,
                 angle));
  return {};
}

// Of truth values the logical, of integers the bitwise operator.
WhyNot Bitwise(Task& t, std::string_view onnx) {
  const DType dtype = t.dtype();
  const std::string op =
      dtype == DType::kBool ? std::string(onnx) : "Bitwise" + std::string(onnx);
  t.Give(t.build.Add(op, {t.In("self", dtype), t.In("other", dtype)}));
  return {};
}

// By so many bits, by a product or a quotient: ONNX shifts unsigned only.
WhyNot Shift(Task& t, std::string_view direction) {
  const DType dtype = t.dtype();
  const auto bits = t.read.Int("other");
  const auto width = static_cast<int64_t>(8 * SizeBytes(dtype));
  if (!bits || *bits < 0 || *bits >= width - 1) {
    return "a shift by a number of bits that isn't known";
  }
  const std::string factor = t.build.Number(dtype, int64_t{1} << *bits);
  const std::string x = t.In("self", dtype);
  t.Give(direction == "left" ? t.build.Add("Mul", {x, factor})
                             : FloorDivide(t.build, x, factor));
  return {};
}

WhyNot Logical(Task& t, std::string_view onnx) {
  t.Give(t.build.Add(
      onnx, {t.In("self", DType::kBool), t.In("other", DType::kBool)}));
  return {};
}

constexpr Translation kTable[] = {
    {"aten.add.Tensor", AddScaled, "Add"},
    {"aten.add.Scalar", AddScaled, "Add"},
    {"aten.sub.Tensor", AddScaled, "Sub"},
    {"aten.sub.Scalar", AddScaled, "Sub"},
    {"aten.rsub.Scalar", Rsub},
    {"aten.rsub.Tensor", Rsub},
    {"aten.mul.Tensor", Binary, "Mul"},
    {"aten.mul.Scalar", Binary, "Mul"},
    {"aten.div.Tensor", Binary, "Div"},
    {"aten.div.Scalar", Binary, "Div"},
    {"aten.div.Tensor_mode", DivideByMode},
    {"aten.div.Scalar_mode", DivideByMode},
    {"aten.floor_divide.default", FloorDivision},
    {"aten.floor_divide.Scalar", FloorDivision},
    {"aten.remainder.Tensor", RemainderOf},
    {"aten.remainder.Scalar", RemainderOf},
    {"aten.remainder.Scalar_Tensor", RemainderOf},
    {"aten.fmod.Tensor", Fmod},
    {"aten.fmod.Scalar", Fmod},
    {"aten.pow.Tensor_Tensor", Power},
    {"aten.pow.Tensor_Scalar", Power},
    {"aten.pow.Scalar", Power},
    {"aten.maximum.default", Binary, "Max"},
    {"aten.minimum.default", Binary, "Min"},
    {"aten.atan2.default", Atan2},
    {"aten.bitwise_and.Tensor", Bitwise, "And"},
    {"aten.bitwise_and.Scalar", Bitwise, "And"},
    {"aten.bitwise_or.Tensor", Bitwise, "Or"},
    {"aten.bitwise_or.Scalar", Bitwise, "Or"},
    {"aten.bitwise_xor.Tensor", Bitwise, "Xor"},
    {"aten.bitwise_xor.Scalar", Bitwise, "Xor"},
    {"aten.bitwise_left_shift.Tensor_Scalar", Shift, "left"},
    {"aten.bitwise_right_shift.Tensor_Scalar", Shift, "right"},
    {"aten.logical_and.default", Logical, "And"},
    {"aten.logical_or.default", Logical, "Or"},
    {"aten.logical_xor.default", Logical, "Xor"},
};

}  // namespace

std::span<const Translation> ArithmeticTranslations() { return kTable; }

}  // namespace tenon::onnx
