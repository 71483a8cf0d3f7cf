// Quantisation that has no kernels: torchao's affine operators, which have
// scales per block of elements, integers in groups of columns, and others of
// quantized_decomposed.
//
// A dimension that holds several blocks is cut in two, of blocks and of
// elements in each; scales and zero points get a 1 in the place of the latter:
//
//   q [N, K], block_size [1, g]  ->  q [N, K/g, g],  s [N, K/g, 1]
//
// Then plain operators compute what the libraries define, in their order of
// roundings.
#include <algorithm>
#include <limits>

#include "lower/rewrite_rules.h"

namespace tenon::lower {
namespace {

struct Blocks {
  Shape cut, parameters;
  std::vector<int64_t> inner;  // dimensions of `cut` that run within blocks
};

std::optional<Blocks> CutBlocks(const Shape& sizes,
                                const std::vector<int64_t>& block) {
  if (block.size() != sizes.size()) return std::nullopt;
  Blocks out;
  const auto add = [&](const SymInt& size, const SymInt& parameter) {
    out.cut.push_back(size);
    out.parameters.push_back(parameter);
  };
  const SymInt one = SymInt::Literal(1);
  for (size_t d = 0; d < block.size(); ++d) {
    const bool is_whole = sizes[d].is_literal() && sizes[d].value == block[d];
    if (block[d] == 1) {
      add(sizes[d], sizes[d]);
      continue;
    }
    if (block[d] < 1 || !sizes[d].is_literal() ||
        sizes[d].value % block[d] != 0) {
      return std::nullopt;
    }
    if (!is_whole) {
      const SymInt count = SymInt::Literal(sizes[d].value / block[d]);
      add(count, count);
    }
    out.inner.push_back(static_cast<int64_t>(out.cut.size()));
    add(SymInt::Literal(block[d]), one);
  }
  return out;
}

// The dtype of a product of two floating tensors.
DType Wider(DType a, DType b) {
  if (a == b) return a;
  return a == DType::kFloat64 || b == DType::kFloat64 ? DType::kFloat64
                                                      : DType::kFloat32;
}

struct Limits {
  double low = 0, high = 0;
};
std::optional<Limits> LimitsOf(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return Limits{-128, 127};
    case DType::kUInt8:
      return Limits{0, 255};
    case DType::kInt16:
      return Limits{-32768, 32767};
    case DType::kInt32:
      return Limits{-2147483648.0, 2147483647.0};
    default:
      return std::nullopt;
  }
}

// What the call states, else the dtype's own.
std::optional<Limits> LimitsAt(const NodeRewrite& r, DType dtype, size_t low,
                               size_t high) {
  auto limits = LimitsOf(dtype);
  if (!limits) return std::nullopt;
  const auto state = [&](size_t i, double* to) {
    if (!r.has(i)) return true;
    const auto number = r.Number(i);
    if (number) *to = *number;
    return number.has_value();
  };
  if (!state(low, &limits->low) || !state(high, &limits->high)) {
    return std::nullopt;
  }
  return limits;
}

bool IsNumberDtype(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 ||
         dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

// Calls whose results are like their first operand.
class Chain {
 public:
  explicit Chain(NodeRewrite& r) : r_(r) {}

  ValueId operator()(std::string_view op, ValueId x,
                     std::vector<Operand> others = {}) {
    std::vector<Operand> operands = {x};
    operands.insert(operands.end(), others.begin(), others.end());
    return r_.build.Call(op, std::move(operands), r_.build.TypeLike(x));
  }
  // The first operand in blocks, the second a number for each of those.
  ValueId Spread(std::string_view op, ValueId x, ValueId parameter) {
    return r_.build.Call(op, {x, parameter}, r_.build.TypeLike(x));
  }
  ValueId AtLeast(ValueId x, double low) {
    return (*this)("aten.clamp.default", x, {Operand::Float(low)});
  }
  ValueId AtMost(ValueId x, double high) {
    return (*this)("aten.clamp.default", x, {Operand(), Operand::Float(high)});
  }
  ValueId Between(ValueId x, const Limits& limits) {
    return (*this)("aten.clamp.default", x,
                   {Operand::Float(limits.low), Operand::Float(limits.high)});
  }

 private:
  NodeRewrite& r_;
};

// (q - z) * s by blocks, in `dtype`.
Rewritten DequantizeBlocks(NodeRewrite& r, const std::vector<int64_t>& block,
                           ValueId q, ValueId s, ValueId z, DType dtype) {
  const auto blocks = CutBlocks(r.program().type(q).sizes, block);
  const DType scale_dtype = r.program().type(s).dtype;
  if (!blocks || !IsNumberDtype(dtype) || !IsNumberDtype(scale_dtype)) {
    return Rewritten::kSkip;
  }
  const Shape sizes = r.result_type().sizes;
  const auto cut = r.build.Reshape(q, blocks->cut);
  const auto scales = r.build.Reshape(s, blocks->parameters);
  auto zeros = z.valid() ? r.build.Reshape(z, blocks->parameters)
                         : std::optional<ValueId>(ValueId());
  if (!cut || !scales || !zeros) return Rewritten::kSkip;
  Chain chain(r);
  ValueId x = r.build.Cast(*cut, dtype);
  if (zeros->valid()) {
    x = chain.Spread("aten.sub.Tensor", x, r.build.Cast(*zeros, dtype));
  }
  const DType wide = Wider(dtype, scale_dtype);
  x = chain.Spread("aten.mul.Tensor", r.build.Cast(x, wide),
                   r.build.Cast(*scales, wide));
  const auto whole = r.build.Reshape(r.build.Cast(x, dtype), sizes);
  return whole ? r.Done(*whole) : Rewritten::kSkip;
}

// torchao::dequantize_affine(input, block_size, scale, zero_point, input_dtype,
// quant_min, quant_max, output_dtype)
Rewritten DequantizeAffine(NodeRewrite& r) {
  const auto block = r.Ints(1);
  const auto dtype = r.Dtype(7);
  if (!block || !r.tensor(0).valid() || !r.tensor(2).valid() ||
      (r.has(3) && !r.tensor(3).valid())) {
    return Rewritten::kSkip;
  }
  return DequantizeBlocks(r, *block, r.tensor(0), r.tensor(2), r.tensor(3),
                          dtype.value_or(DType::kFloat32));
}

// torchao::quantize_affine(input, block_size, scale, zero_point, output_dtype,
// quant_min, quant_max): clamp(round(x * (1 / s)) + z, low, high)
Rewritten QuantizeAffine(NodeRewrite& r) {
  const auto block = r.Ints(1);
  const auto dtype = r.Dtype(4);
  const auto limits =
      dtype ? LimitsAt(r, *dtype, 5, 6) : std::optional<Limits>();
  if (!block || !limits || !r.tensor(0).valid() || !r.tensor(2).valid() ||
      (r.has(3) && !r.tensor(3).valid()) || !IsNumberDtype(r.type(0).dtype) ||
      !IsNumberDtype(r.type(2).dtype)) {
    return Rewritten::kSkip;
  }
  const auto blocks = CutBlocks(r.type(0).sizes, *block);
  if (!blocks) return Rewritten::kSkip;
  const Shape sizes = r.result_type().sizes;
  const DType wide = Wider(r.type(0).dtype, r.type(2).dtype);
  const auto cut = r.build.Reshape(r.tensor(0), blocks->cut);
  const auto scales = r.build.Reshape(r.tensor(2), blocks->parameters);
  const auto zeros = r.has(3) ? r.build.Reshape(r.tensor(3), blocks->parameters)
                              : std::optional<ValueId>(ValueId());
  if (!cut || !scales || !zeros) return Rewritten::kSkip;
  Chain chain(r);
  const ValueId inverse = chain("aten.reciprocal.default", *scales);
  ValueId x = chain.Spread("aten.mul.Tensor", r.build.Cast(*cut, wide),
                           r.build.Cast(inverse, wide));
  x = chain("aten.round.default", x);
  if (zeros->valid()) {
    x = chain.Spread("aten.add.Tensor", x, r.build.Cast(*zeros, wide));
  }
  const ValueId q = r.build.Cast(chain.Between(x, *limits), *dtype);
  const auto whole = r.build.Reshape(q, sizes);
  return whole ? r.Done(*whole) : Rewritten::kSkip;
}

double SmallestNormal(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 6.103515625e-05;
    case DType::kFloat64:
      return std::numeric_limits<double>::min();
    default:
      return double{std::numeric_limits<float>::min()};
  }
}

enum class Mapping : uint8_t { kAsymmetric, kSymmetric, kNoClipping };

std::optional<Mapping> MappingOf(std::string_view name) {
  if (name == "ASYMMETRIC") return Mapping::kAsymmetric;
  if (name == "SYMMETRIC") return Mapping::kSymmetric;
  if (name == "SYMMETRIC_NO_CLIPPING_ERR") return Mapping::kNoClipping;
  return std::nullopt;
}

// Scales before they are bounded; `low` and `high` are each block's extrema, 0
// included.
ValueId RawScales(NodeRewrite& r, Mapping mapping, ValueId low, ValueId high,
                  const Limits& limits) {
  Chain chain(r);
  const auto divide = [&](ValueId x, double by) {
    return chain("aten.div.Scalar", x, {Operand::Float(by)});
  };
  switch (mapping) {
    case Mapping::kAsymmetric:
      return divide(chain("aten.sub.Tensor", high, {low}),
                    limits.high - limits.low);
    case Mapping::kSymmetric:
      return divide(
          chain("aten.maximum.default", chain("aten.neg.default", low), {high}),
          (limits.high - limits.low) / 2);
    case Mapping::kNoClipping: {
      const ValueId down = divide(low, limits.low);
      const ValueId up = divide(high, limits.high);
      const ValueId is_more = r.build.Call(
          "aten.gt.Tensor", {down, up}, r.build.TypeLike(down, DType::kBool));
      return r.build.Call("aten.where.self", {is_more, down, up},
                          r.build.TypeLike(down));
    }
  }
  return ValueId();
}

// torchao::choose_qparams_affine(input, mapping_type, block_size, target_dtype,
// quant_min, quant_max, eps, scale_dtype, zero_point_dtype, keepdim)
Rewritten ChooseQparamsAffine(NodeRewrite& r) {
  const ValueId input = r.tensor(0);
  const auto mapping = MappingOf(r.String(1));
  const auto block = r.Ints(2);
  const auto dtype = r.Dtype(3);
  const auto limits =
      dtype ? LimitsAt(r, *dtype, 4, 5) : std::optional<Limits>();
  if (!input.valid() || !mapping || !block || !limits ||
      !IsNumberDtype(r.type(0).dtype) || (r.has(6) && !r.Number(6))) {
    return Rewritten::kSkip;
  }
  const auto blocks = CutBlocks(r.type(0).sizes, *block);
  if (!blocks || blocks->inner.empty()) return Rewritten::kSkip;
  const DType number = r.type(0).dtype;
  const double eps = r.Number(6).value_or(SmallestNormal(number));
  const Type scale_type = r.result_type(0), zero_type = r.result_type(1);
  const auto cut = r.build.Reshape(input, blocks->cut);
  if (!cut) return Rewritten::kSkip;
  Chain chain(r);
  const auto extremum = [&](std::string_view op) {
    return r.build.Call(
        op, {*cut, Operand::Ints(blocks->inner), Operand::Bool(true)},
        r.build.TensorType(number, blocks->parameters));
  };
  const ValueId low = chain.AtMost(extremum("aten.amin.default"), 0);
  const ValueId high = chain.AtLeast(extremum("aten.amax.default"), 0);
  ValueId scale =
      chain.AtLeast(RawScales(r, *mapping, low, high, *limits), eps);
  ValueId zero;
  if (*mapping == Mapping::kAsymmetric) {
    zero = chain("aten.round.default", chain("aten.div.Tensor", low, {scale}));
    zero = chain("aten.neg.default", zero);
    zero = chain("aten.add.Scalar", zero, {Operand::Float(limits->low)});
    zero = chain.Between(zero, *limits);
  } else {
    const auto middle =
        static_cast<int64_t>((limits->high + limits->low + 1) / 2);
    zero = chain("aten.full_like.default", scale,
                 {Operand::Float(static_cast<double>(middle))});
  }
  const auto scales =
      r.build.Reshape(r.build.Cast(scale, scale_type.dtype), scale_type.sizes);
  const auto zeros =
      r.build.Reshape(r.build.Cast(zero, zero_type.dtype), zero_type.sizes);
  if (!scales || !zeros) return Rewritten::kSkip;
  r.Give(0, *scales);
  r.Give(1, *zeros);
  return Rewritten::kDone;
}

// quantized_decomposed::dequantize_per_channel_group(input, scales,
// zero_points, quant_min, quant_max, dtype, group_size, output_dtype)
Rewritten DequantizeGroups(NodeRewrite& r) {
  const auto group = r.Int(6);
  const auto dtype = r.Dtype(7);
  if (!group || !dtype || !r.tensor(0).valid() || !r.tensor(1).valid() ||
      (r.has(2) && !r.tensor(2).valid())) {
    return Rewritten::kSkip;
  }
  // Zero points of eight bits wrap; no kernel of integers does so.
  const bool wraps = r.has(2) && SizeBytes(r.type(2).dtype) < 4;
  const Shape& sizes = r.type(0).sizes;
  if (wraps || sizes.size() != 2 || !sizes[1].is_literal()) {
    return Rewritten::kSkip;
  }
  const int64_t columns = sizes[1].value;
  return DequantizeBlocks(r, {1, std::min(*group, columns)}, r.tensor(0),
                          r.tensor(1), r.tensor(2), *dtype);
}

// quantized_decomposed::choose_qparams_per_token(input, dtype): symmetric.
Rewritten ChoosePerToken(NodeRewrite& r) {
  constexpr double kLeast = 1e-5, kSteps = 127;
  const ValueId x = r.tensor(0);
  if (!x.valid() || !IsNumberDtype(r.type(0).dtype) ||
      r.Dtype(1) != DType::kInt8 || r.type(0).rank() == 0) {
    return Rewritten::kSkip;
  }
  Chain chain(r);
  Shape rows = r.type(0).sizes;
  rows.back() = SymInt::Literal(1);
  DType dtype = r.type(0).dtype;
  ValueId s = r.build.Call(
      "aten.amax.default",
      {chain("aten.abs.default", x), Operand::Ints(std::vector<int64_t>{-1}),
       Operand::Bool(true)},
      r.build.TensorType(dtype, rows));
  if (dtype == DType::kFloat16) dtype = DType::kFloat32;
  s = chain.AtLeast(r.build.Cast(s, dtype), kLeast);
  s = chain("aten.div.Scalar", s, {Operand::Float(kSteps)});
  const ValueId zero = chain("aten.full_like.default", s, {Operand::Float(0)});
  // The library gives float32 where the program says otherwise; the kernels
  // that read the two want what the program says.
  r.Give(0, r.build.Cast(s, r.result_type(0).dtype));
  r.Give(1, r.build.Cast(zero, r.result_type(1).dtype));
  return Rewritten::kDone;
}

// aten::_weight_int8pack_mm(self, mat2, scales): float32 sums, one rounding.
Rewritten WeightInt8Mm(NodeRewrite& r) {
  const ValueId x = r.tensor(0), w = r.tensor(1), s = r.tensor(2);
  if (!x.valid() || !w.valid() || !s.valid()) return Rewritten::kSkip;
  const DType dtype = r.result_type().dtype;
  const ValueId product = r.build.Call(
      "aten.linear.default",
      {r.build.Cast(x, DType::kFloat32), r.build.Cast(w, DType::kFloat32)},
      r.build.TypeLike(r.result(), DType::kFloat32));
  const ValueId scaled = Chain(r).Spread("aten.mul.Tensor", product,
                                         r.build.Cast(s, DType::kFloat32));
  return r.Done(r.build.Cast(scaled, dtype));
}

}  // namespace

std::vector<RuleRow> AffineRules() {
  return {
      {"quantized_decomposed.choose_qparams_per_token.default", ChoosePerToken},
      {"aten._weight_int8pack_mm.default", WeightInt8Mm},
  };
}

std::vector<RuleRow> LateAffineRules() {
  return {
      {"torchao.choose_qparams_affine.default", ChooseQparamsAffine},
      {"torchao.quantize_affine.default", QuantizeAffine},
      {"torchao.dequantize_affine.default", DequantizeAffine},
      {"quantized_decomposed.dequantize_per_channel_group.default",
       DequantizeGroups},
  };
}

}  // namespace tenon::lower
