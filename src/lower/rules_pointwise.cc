// Functions of each element.
//
// A number as the other operand takes the kernel for numbers: as a tensor it
// would be one more operand, and often a cast, at every run. Operands of two
// dtypes are cast first, since kernels don't all promote.
#include <cmath>
#include <limits>
#include <string>

#include "analysis/promote.h"
#include "lower/element_chain.h"
#include "lower/rewrite_rules.h"

namespace tenon::lower {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool IsNumber(const NodeRewrite& r, size_t i) {
  return r.has(i) && !r.tensor(i).valid() && !r.arg(i).is_list;
}

// What two tensors have in common.
DType CommonDType(const NodeRewrite& r, ValueId a, ValueId b) {
  Promotion promotion;
  for (const ValueId v : {a, b}) {
    const Type& type = r.program().type(v);
    promotion.AddTensor(type.dtype, type.rank() > 0);
  }
  return promotion.Result();
}

// A number in the place of self: the same with both exchanged, where there is
// such a thing; else the number as a tensor.
Rewritten NumberFirst(NodeRewrite& r) {
  const std::string_view op = r.program().op_name(r.node());
  struct Exchange {
    std::string_view op, exchanged;
  };
  constexpr Exchange kExchanges[] = {
      {"aten.mul.Tensor", "aten.mul.Scalar"},
      {"aten.eq.Tensor", "aten.eq.Scalar"},
      {"aten.ne.Tensor", "aten.ne.Scalar"},
      {"aten.lt.Tensor", "aten.gt.Scalar"},
      {"aten.le.Tensor", "aten.ge.Scalar"},
      {"aten.gt.Tensor", "aten.lt.Scalar"},
      {"aten.ge.Tensor", "aten.le.Scalar"},
      {"aten.bitwise_and.Tensor", "aten.bitwise_and.Scalar"},
      {"aten.bitwise_or.Tensor", "aten.bitwise_or.Scalar"},
      {"aten.bitwise_xor.Tensor", "aten.bitwise_xor.Scalar"},
  };
  for (const Exchange& e : kExchanges) {
    if (e.op == op) return r.Become(e.exchanged, {r.arg(1), r.arg(0)});
  }
  if (op == "aten.sub.Tensor") {
    return r.Become("aten.rsub.Scalar", {r.arg(1), r.arg(0), r.arg(2)});
  }
  if (op == "aten.add.Tensor" && r.Number(2) == 1.0) {
    return r.Become("aten.add.Scalar", {r.arg(1), r.arg(0)});
  }
  if (r.arg(0).value.valid()) return Rewritten::kSkip;
  const DType dtype = r.result_type().dtype == DType::kBool
                          ? r.type(1).dtype
                          : r.result_type().dtype;
  std::vector<Operand> args = r.FirstArgs(r.num_args());
  args[0] = r.build.Scalar(r.arg(0).literal, dtype);
  return r.Become(op, std::move(args));
}

// `op`(self, other, ..) with a number in the place of a tensor, as
// `scalar_op`; with tensors of two dtypes, as the same on one.
RewriteRule Binary(std::string_view scalar_op) {
  return [scalar_op](NodeRewrite& r) {
    if (IsNumber(r, 0) && r.tensor(1).valid()) return NumberFirst(r);
    if (IsNumber(r, 1) && r.tensor(0).valid()) {
      if (scalar_op.empty()) {
        const ValueId other = r.build.Scalar(r.arg(1).literal, r.type(0).dtype);
        std::vector<Operand> args = r.FirstArgs(r.num_args());
        args[1] = other;
        return r.Become(r.program().op_name(r.node()), std::move(args));
      }
      return r.Become(scalar_op, r.FirstArgs(r.num_args()));
    }
    const ValueId a = r.tensor(0), b = r.tensor(1);
    if (!a.valid() || !b.valid() || r.type(0).dtype == r.type(1).dtype) {
      return Rewritten::kSkip;
    }
    DType common = CommonDType(r, a, b);
    // Integers that are divided are floating-point numbers first.
    if (IsFloating(r.result_type().dtype)) common = r.result_type().dtype;
    if (common == DType::kUnknown || IsComplex(common)) return Rewritten::kSkip;
    std::vector<Operand> args = r.FirstArgs(r.num_args());
    args[0] = r.build.Cast(a, common);
    args[1] = r.build.Cast(b, common);
    return r.Become(r.program().op_name(r.node()), std::move(args));
  };
}

// The same for modes of division, whose mode is a keyword.
Rewritten DivideByMode(NodeRewrite& r) {
  if (!r.tensor(0).valid()) return Rewritten::kSkip;
  if (IsNumber(r, 1)) {
    return r.Become("aten.div.Scalar_mode", {r.arg(0), r.arg(1)},
                    {{"rounding_mode", r.arg(2)}});
  }
  const ValueId a = r.tensor(0), b = r.tensor(1);
  if (!b.valid() || r.type(0).dtype == r.type(1).dtype) {
    return Rewritten::kSkip;
  }
  const DType common = CommonDType(r, a, b);
  if (common == DType::kUnknown) return Rewritten::kSkip;
  return r.Become("aten.div.Tensor_mode",
                  {r.build.Cast(a, common), r.build.Cast(b, common)},
                  {{"rounding_mode", r.arg(2)}});
}

Rewritten FloorDivide(NodeRewrite& r) {
  if (!IsNumber(r, 1) || !r.tensor(0).valid()) {
    return Binary("")(r);
  }
  return r.Become(
      "aten.div.Scalar_mode", {r.arg(0), r.arg(1)},
      {{"rounding_mode", Arg::String(r.program().context().Intern("floor"))}});
}

Rewritten ReverseSubtract(NodeRewrite& r) {
  if (!r.tensor(0).valid() || !r.tensor(1).valid()) return Rewritten::kSkip;
  return r.Become("aten.sub.Tensor", {r.arg(1), r.arg(0)},
                  {{"alpha", r.arg(2)}});
}

ValueId Square(ElementChain& c, ValueId x, NodeRewrite&) {
  return c("aten.mul.Tensor", {x, x});
}
ValueId Exp2(ElementChain& c, ValueId x, NodeRewrite&) {
  return c("aten.pow.Scalar", {Operand::Int(2), x});
}
ValueId Erfc(ElementChain& c, ValueId x, NodeRewrite&) {
  return c("aten.rsub.Scalar", {c("aten.erf.default", {x}), Operand::Int(1)});
}
ValueId Frac(ElementChain& c, ValueId x, NodeRewrite&) {
  return c("aten.sub.Tensor", {x, c("aten.trunc.default", {x})});
}
ValueId Threshold(ElementChain& c, ValueId x, NodeRewrite& r) {
  if (!r.Number(1) || !r.Number(2)) return ValueId();
  return c.Where(c.Bool("aten.le.Scalar", {x, r.arg(1)}),
                 c.Number(*r.Number(2)), x);
}

// NaN and the infinities become numbers; by default 0 and the dtype's ends.
ValueId NanToNum(ElementChain& c, ValueId x, NodeRewrite& r) {
  double end = 0;
  switch (r.result_type().dtype) {
    case DType::kFloat16:
      end = 65504;
      break;
    case DType::kBFloat16:
      end = 3.38953138925153547590470800371e38;
      break;
    case DType::kFloat32:
      end = std::numeric_limits<float>::max();
      break;
    case DType::kFloat64:
      end = std::numeric_limits<double>::max();
      break;
    default:
      return ValueId();
  }
  const ValueId is_nan = c.Bool("aten.isnan.default", {x});
  ValueId out = c.Where(is_nan, c.Number(r.Number(1).value_or(0)), x);
  const ValueId is_top =
      c.Bool("aten.eq.Scalar", {x, Operand::Float(kInfinity)});
  out = c.Where(is_top, c.Number(r.Number(2).value_or(end)), out);
  const ValueId is_bottom =
      c.Bool("aten.eq.Scalar", {x, Operand::Float(-kInfinity)});
  return c.Where(is_bottom, c.Number(r.Number(3).value_or(-end)), out);
}

Rewritten PowerByNumber(NodeRewrite& r) {
  const ValueId self = r.tensor(0);
  const auto power = r.Number(1);
  if (!self.valid() || !power || !IsFloating(r.type(0).dtype) ||
      r.type(0).dtype != r.result_type().dtype) {
    return Rewritten::kSkip;
  }
  ElementChain c(r);
  if (*power == 1) return r.Done(self);
  if (*power == 2) return r.Done(c("aten.mul.Tensor", {self, self}));
  if (*power == 3) {
    const ValueId square = c("aten.mul.Tensor", {self, self});
    return r.Done(c("aten.mul.Tensor", {square, self}));
  }
  if (*power == 0.5) return r.Done(c("aten.sqrt.default", {self}));
  if (*power == -0.5) return r.Done(c("aten.rsqrt.default", {self}));
  if (*power == -1) return r.Done(c("aten.reciprocal.default", {self}));
  return Rewritten::kSkip;
}

Rewritten PowerOfTensors(NodeRewrite& r) {
  if (!IsNumber(r, 1)) return Binary("")(r);
  return r.Become("aten.pow.Tensor_Scalar", {r.arg(0), r.arg(1)});
}

Rewritten ClampMin(NodeRewrite& r) {
  return r.Become("aten.clamp.default", {r.arg(0), r.arg(1)});
}
Rewritten ClampMax(NodeRewrite& r) {
  return r.Become("aten.clamp.default", {r.arg(0), Operand(), r.arg(1)});
}

// self + value * t1 * t2, self + value * t1 / t2.
RewriteRule AddCombined(std::string_view op) {
  return [op](NodeRewrite& r) {
    const ValueId self = r.tensor(0);
    if (!self.valid() || !r.tensor(1).valid() || !r.tensor(2).valid()) {
      return Rewritten::kSkip;
    }
    ElementChain c(r);
    if (r.program().type(r.tensor(1)).sizes != r.result_type().sizes ||
        r.program().type(r.tensor(2)).sizes != r.result_type().sizes) {
      return Rewritten::kSkip;
    }
    const ValueId part = c(op, {r.arg(1), r.arg(2)});
    return r.Become("aten.add.Tensor", {self, part}, {{"alpha", r.arg(3)}});
  };
}

// start + weight * (end - start) from start, for weights below a half; from end
// for others, so that a weight of 1 gives just that.
Rewritten Lerp(NodeRewrite& r) {
  if (!r.tensor(0).valid() || !r.tensor(1).valid() ||
      r.type(0).sizes != r.type(1).sizes) {
    return Rewritten::kSkip;
  }
  ElementChain c(r);
  if (IsNumber(r, 2)) {
    const auto weight = r.Number(2);
    if (!weight) return Rewritten::kSkip;
    const ValueId gap = c("aten.sub.Tensor", {r.arg(1), r.arg(0)});
    if (std::abs(*weight) < 0.5) {
      return r.Become("aten.add.Tensor", {r.arg(0), gap},
                      {{"alpha", r.arg(2)}});
    }
    return r.Become("aten.sub.Tensor", {r.arg(1), gap},
                    {{"alpha", Operand::Float(1 - *weight)}});
  }
  const ValueId weight = r.tensor(2);
  if (!weight.valid() || r.type(2).sizes != r.result_type().sizes) {
    return Rewritten::kSkip;
  }
  const ValueId gap = c("aten.sub.Tensor", {r.arg(1), r.arg(0)});
  const ValueId from_start =
      c("aten.add.Tensor", {r.arg(0), c("aten.mul.Tensor", {gap, weight})});
  const ValueId rest = c("aten.rsub.Scalar", {weight, Operand::Int(1)});
  const ValueId from_end =
      c("aten.sub.Tensor", {r.arg(1), c("aten.mul.Tensor", {gap, rest})});
  const ValueId is_small = c.Bool(
      "aten.lt.Scalar", {c("aten.abs.default", {weight}), Operand::Float(0.5)});
  return r.Done(c.Where(is_small, from_start, from_end));
}

Rewritten IsFiniteRule(NodeRewrite& r) {
  if (!r.tensor(0).valid() || !IsFloating(r.type(0).dtype)) {
    return Rewritten::kSkip;
  }
  ElementChain c(r);
  const ValueId either =
      c("aten.logical_or.default", {c("aten.isinf.default", {r.arg(0)}),
                                    c("aten.isnan.default", {r.arg(0)})});
  return r.Done(c("aten.logical_not.default", {either}));
}

// Operands of where, in the dtype of the result.
Rewritten Where(NodeRewrite& r) {
  const DType to = r.result_type().dtype;
  std::vector<Operand> args = {r.arg(0)};
  bool changes = false;
  for (const size_t i : {1, 2}) {
    if (r.tensor(i).valid()) {
      changes |= r.type(i).dtype != to;
      args.push_back(r.build.Cast(r.tensor(i), to));
    } else if (IsNumber(r, i) && !r.arg(i).value.valid()) {
      changes = true;
      args.push_back(r.build.Scalar(r.arg(i).literal, to));
    } else {
      return Rewritten::kSkip;
    }
  }
  if (!changes) return Rewritten::kSkip;
  return r.Become("aten.where.self", std::move(args));
}

Rewritten MaskedFillTensor(NodeRewrite& r) {
  if (!r.tensor(0).valid() || !r.tensor(2).valid()) return Rewritten::kSkip;
  return r.Become(
      "aten.where.self",
      {r.arg(1), r.build.Cast(r.tensor(2), r.type(0).dtype), r.arg(0)});
}

// In eval it does nothing; in training it draws.
Rewritten Dropout(NodeRewrite& r) {
  const auto p = r.Number(1);
  const bool is_training = r.Bool(2);
  if (!r.tensor(0).valid()) return Rewritten::kSkip;
  if (!is_training || (p && *p == 0)) return r.Done(r.tensor(0));
  return Rewritten::kSkip;
}

}  // namespace

std::vector<RuleRow> PointwiseRules() {
  return {
      {"aten.add.Tensor", Binary("aten.add.Scalar")},
      {"aten.sub.Tensor", Binary("aten.sub.Scalar")},
      {"aten.mul.Tensor", Binary("aten.mul.Scalar")},
      {"aten.div.Tensor", Binary("aten.div.Scalar")},
      {"aten.eq.Tensor", Binary("aten.eq.Scalar")},
      {"aten.ne.Tensor", Binary("aten.ne.Scalar")},
      {"aten.lt.Tensor", Binary("aten.lt.Scalar")},
      {"aten.le.Tensor", Binary("aten.le.Scalar")},
      {"aten.gt.Tensor", Binary("aten.gt.Scalar")},
      {"aten.ge.Tensor", Binary("aten.ge.Scalar")},
      {"aten.fmod.Tensor", Binary("aten.fmod.Scalar")},
      {"aten.remainder.Tensor", Binary("aten.remainder.Scalar")},
      {"aten.bitwise_and.Tensor", Binary("aten.bitwise_and.Scalar")},
      {"aten.bitwise_or.Tensor", Binary("aten.bitwise_or.Scalar")},
      {"aten.bitwise_xor.Tensor", Binary("aten.bitwise_xor.Scalar")},
      {"aten.maximum.default", Binary("")},
      {"aten.minimum.default", Binary("")},
      {"aten.atan2.default", Binary("")},
      {"aten.pow.Tensor_Tensor", PowerOfTensors},
      {"aten.pow.Tensor_Scalar", PowerByNumber},
      {"aten.div.Tensor_mode", DivideByMode},
      {"aten.floor_divide.default", FloorDivide},
      {"aten.rsub.Tensor", ReverseSubtract},
      {"aten.square.default", Unary(Square)},
      {"aten.exp2.default", Unary(Exp2)},
      {"aten.erfc.default", Unary(Erfc)},
      {"aten.frac.default", Unary(Frac)},
      {"aten.threshold.default", Unary(Threshold)},
      {"aten.nan_to_num.default", Unary(NanToNum)},
      {"aten.clamp_min.default", ClampMin},
      {"aten.clamp_max.default", ClampMax},
      {"aten.addcmul.default", AddCombined("aten.mul.Tensor")},
      {"aten.addcdiv.default", AddCombined("aten.div.Tensor")},
      {"aten.lerp.Scalar", Lerp},
      {"aten.lerp.Tensor", Lerp},
      {"aten.isfinite.default", IsFiniteRule},
      {"aten.where.self", Where},
      {"aten.where.Scalar", Where},
      {"aten.where.ScalarSelf", Where},
      {"aten.where.ScalarOther", Where},
      {"aten.masked_fill.Tensor", MaskedFillTensor},
      {"aten.dropout.default", Dropout},
      {"aten.feature_dropout.default", Dropout},
      {"aten.alpha_dropout.default", Dropout},
  };
}

}  // namespace tenon::lower
