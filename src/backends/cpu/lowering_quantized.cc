// PyTorch's quantized_decomposed operators, by the chains that define them
// (kernels/quantized_decomposed.cc). Products read dequantised weights as they
// are stored (PlanBuilder::SetStored).
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/constants.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/narrow_types.h"
#include "backends/cpu/plan_chain.h"
#include "kernels/quantization.h"

namespace tenon::cpu {
namespace {

struct Range {
  RuntimeValue low, high;
  DType dtype;
};

// Arguments `at` and `at` + 1, and the dtype that follows them.
Range RangeAt(PlanChain& chain, KernelCall& call, size_t at) {
  return {chain.Number(call.arg(at)), chain.Number(call.arg(at + 1)),
          call.arg(at + 2).dtype()};
}

DType OutputDType(const RuntimeValue& dtype) {
  return dtype.is_none() ? DType::kFloat32 : dtype.dtype();
}

Tensor Clamp(PlanChain& chain, const Tensor& q, const Range& range) {
  const bool are_tensors = range.low.is_tensor() || range.high.is_tensor();
  return chain.To(
      chain(are_tensors ? "aten.clamp.Tensor" : "aten.clamp.default",
            {q, range.low, range.high}),
      range.dtype);
}

Tensor Quantize(PlanChain& chain, const Tensor& x, const RuntimeValue& inverse,
                const RuntimeValue& zero, const Range& range) {
  Tensor q = chain("aten.mul.Tensor", {x, inverse});
  q = chain("aten.round.default", {q});
  if (!zero.is_none()) q = chain("aten.add.Tensor", {q, zero});
  return Clamp(chain, q, range);
}

Tensor Dequantize(PlanChain& chain, const Tensor& q, const RuntimeValue& zero,
                  const RuntimeValue& scale, DType dtype) {
  Tensor x = q;
  if (!zero.is_none()) x = chain("aten.sub.Tensor", {x, zero});
  return chain.To(chain("aten.mul.Tensor", {x, scale}), dtype);
}

// --- per tensor ---

// 1 / scale, divided in float64 and rounded once.
RuntimeValue Inverse(PlanChain& chain, KernelCall& call, size_t at) {
  if (!call.arg(at).is_tensor()) return 1.0 / call.Float(at);
  if (call.tensor(at).numel() != 1) return chain.Number(call.arg(at));
  const Tensor wide = chain.To(call.tensor(at), DType::kFloat64);
  return chain.Number(chain("aten.reciprocal.default", {wide}));
}

bool QuantizePerTensor(PlanBuilder& b, KernelCall& call, const Lowering&) {
  PlanChain chain(b, call);
  const Tensor x = chain.To(call.tensor(0), DType::kFloat32);
  const RuntimeValue inverse = Inverse(chain, call, 1);
  const RuntimeValue zero = chain.Number(call.arg(2));
  const Range range = RangeAt(chain, call, 3);
  return chain.Return({Quantize(chain, x, inverse, zero, range)});
}

// A number or a tensor as a float32 tensor; undefined for a number of 0.
Tensor ParameterOf(const RuntimeValue& value) {
  if (value.is_tensor()) return value.tensor();
  const Tensor number = ConstantOf(value, DType::kFloat32);
  return ElementOf(number).float_value() == 0 ? Tensor() : number;
}

bool DequantizePerTensor(PlanBuilder& b, KernelCall& call, const Lowering&) {
  PlanChain chain(b, call);
  const Tensor q = call.tensor(0);
  const RuntimeValue scale = chain.Number(call.arg(1));
  const RuntimeValue zero = chain.Number(call.arg(2));
  const DType dtype = OutputDType(call.arg(6));
  const Tensor x = Dequantize(chain, chain.To(q, dtype), zero, scale, dtype);
  if (!chain.Return({x})) return false;
  const Tensor factor = ParameterOf(scale);
  if (factor.defined()) b.SetStored(x, {q, factor, ParameterOf(zero)});
  return true;
}

// --- per channel ---

// Parameters that broadcast along `axis` of the input.
Tensor AlongAxis(PlanChain& chain, const Tensor& parameters,
                 const Tensor& input, int64_t axis) {
  std::vector<int64_t> sizes(static_cast<size_t>(input.dim()), 1);
  sizes[static_cast<size_t>(axis)] = -1;
  return chain.Reshape(parameters, sizes);
}

bool AxisAt(KernelCall& call, size_t i, int64_t* axis) {
  *axis = call.Int(i);
  const int64_t dim = call.tensor(0).dim();
  if (*axis < 0) *axis += dim;
  return (*axis >= 0 && *axis < dim) ||
         call.Fail("the axis isn't one of the input's dimensions");
}

bool QuantizePerChannel(PlanBuilder& b, KernelCall& call, const Lowering&) {
  int64_t axis;
  if (!AxisAt(call, 3, &axis)) return false;
  PlanChain chain(b, call);
  const Tensor x = chain.To(call.tensor(0), DType::kFloat32);
  const Tensor scales = AlongAxis(chain, call.tensor(1), x, axis);
  const Tensor zeros = AlongAxis(chain, call.tensor(2), x, axis);
  const Range range = RangeAt(chain, call, 4);
  return chain.Return({Quantize(
      chain, x, chain("aten.reciprocal.default", {scales}), zeros, range)});
}

// Zero points as narrow as the elements wrap with them.
bool Wraps(const Tensor& zeros) {
  return zeros.defined() && IsNarrow(zeros.dtype());
}

bool DequantizePerChannel(PlanBuilder& b, KernelCall& call, const Lowering&) {
  int64_t axis;
  if (!AxisAt(call, 3, &axis)) return false;
  PlanChain chain(b, call);
  const Tensor q = call.tensor(0);
  const Tensor scales = AlongAxis(chain, call.tensor(1), q, axis);
  const Tensor given = call.OptionalTensor(2);
  RuntimeValue zeros;
  if (given.defined()) zeros = AlongAxis(chain, given, q, axis);
  const Tensor x =
      Dequantize(chain, q, zeros, scales, OutputDType(call.arg(7)));
  if (!chain.Return({x})) return false;
  if (call.tensor(1).dtype() != DType::kFloat32 || Wraps(given)) return true;
  StoredTensor from{q, call.tensor(1), Tensor(), axis};
  if (given.defined()) from.zero = chain.To(given, DType::kFloat32);
  b.SetStored(x, std::move(from));
  return true;
}

// --- per token, per group of columns ---

// Here the zero point is added before rounding.
Tensor QuantizeRows(PlanChain& chain, const Tensor& x, const Tensor& scales,
                    const Tensor& zeros, const Range& range) {
  Tensor q =
      chain("aten.mul.Tensor", {x, chain("aten.reciprocal.default", {scales})});
  q = chain("aten.round.default", {chain("aten.add.Tensor", {q, zeros})});
  return Clamp(chain, q, range);
}

bool QuantizePerToken(PlanBuilder& b, KernelCall& call, const Lowering&) {
  PlanChain chain(b, call);
  return chain.Return({QuantizeRows(chain, call.tensor(0), call.tensor(1),
                                    call.tensor(2), RangeAt(chain, call, 3))});
}

bool DequantizePerToken(PlanBuilder& b, KernelCall& call, const Lowering&) {
  PlanChain chain(b, call);
  return chain.Return({Dequantize(chain, call.tensor(0), call.tensor(2),
                                  call.tensor(1), call.arg(6).dtype())});
}

bool DequantizePerChannelGroup(PlanBuilder& b, KernelCall& call,
                               const Lowering&) {
  const Tensor &q = call.tensor(0), &scales = call.tensor(1);
  int64_t group = call.Int(6);
  if (q.dim() != 2 || group <= 1) {
    return call.Fail("expected a matrix, and groups of more than one column");
  }
  if (group > q.size(1) && scales.dim() > 0 &&
      scales.size(scales.dim() - 1) == 1) {
    group = q.size(1);
  }
  if (group == 0 || q.size(1) % group != 0) {
    return call.Fail("group_size has to divide the columns");
  }
  PlanChain chain(b, call);
  RuntimeValue zeros;
  if (!call.is_none(2)) zeros = chain.Reshape(call.tensor(2), {-1, 1});
  const Tensor x =
      Dequantize(chain, chain.Reshape(q, {-1, group}), zeros,
                 chain.Reshape(scales, {-1, 1}), call.arg(7).dtype());
  const Tensor wide = chain.Reshape(x, q.sizes());
  if (!chain.Return({wide})) return false;
  const Tensor given = call.OptionalTensor(2);
  if (scales.dtype() != DType::kFloat32 || Wraps(given) ||
      scales.sizes() != Sizes{q.size(0), q.size(1) / group} ||
      (given.defined() && given.sizes() != scales.sizes())) {
    return true;
  }
  StoredTensor from{q, scales, Tensor(), 0, group};
  if (given.defined()) from.zero = chain.To(given, DType::kFloat32);
  b.SetStored(wide, std::move(from));
  return true;
}

// --- scales and zero points from data ---

// An extreme of the elements, or of each row, moved to 0 if it is on the wrong
// side.
Tensor Extreme(PlanChain& chain, const Tensor& x, bool is_max,
               const std::vector<int64_t>& dims) {
  const Tensor at = chain(is_max ? "aten.amax.default" : "aten.amin.default",
                          {x, IntList(dims), !dims.empty()});
  return chain(is_max ? "aten.maximum.default" : "aten.minimum.default",
               {at, chain("aten.zeros_like.default", {at})});
}

bool ChooseForTensor(PlanBuilder& b, KernelCall& call, bool is_symmetric) {
  const Tensor& x = call.tensor(0);
  const int64_t low = call.Int(1), high = call.Int(2);
  if (x.numel() == 0) return call.Fail("an empty tensor has no range");
  if (low >= high) return call.Fail("quant_min has to be below quant_max");
  PlanChain chain(b, call);
  const Tensor least = Extreme(chain, x, false, {});
  const Tensor most = Extreme(chain, x, true, {});
  const double steps = static_cast<double>(high - low);
  Tensor scale;
  if (is_symmetric) {
    const Tensor width = chain("aten.maximum.default",
                               {chain("aten.neg.default", {least}), most});
    scale = chain("aten.div.Tensor", {width, steps / 2});
  } else {
    const Tensor width = chain("aten.sub.Tensor", {most, least});
    scale = chain("aten.div.Tensor", {width, steps});
  }
  const Tensor eps =
      chain.To(chain("aten.full.default", {IntList({1}), call.Float(3)}),
               DType::kFloat32);
  scale = chain("aten.maximum.default", {scale, eps});
  Tensor zero;
  if (is_symmetric) {
    const int64_t middle = call.arg(4).dtype() == DType::kUInt8 ? 128 : 0;
    zero = chain("aten.full.default", {IntList({1}), middle});
  } else {
    const Tensor down =
        chain("aten.round.default", {chain("aten.div.Tensor", {least, scale})});
    zero = chain("aten.rsub.Scalar", {chain.To(down, DType::kInt32), low});
    zero = chain("aten.clamp.default", {zero, low, high});
  }
  return chain.Return(
      {chain.To(scale, DType::kFloat64), chain.To(zero, DType::kInt64)});
}

bool ChooseQparams(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return ChooseForTensor(b, call, false);
}
bool ChooseQparamsSymmetric(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return ChooseForTensor(b, call, true);
}

bool ChooseQparamsPerToken(PlanBuilder& b, KernelCall& call, const Lowering&) {
  PlanChain chain(b, call);
  Tensor scales = chain("aten.abs.default", {call.tensor(0)});
  scales = chain("aten.amax.default", {scales, IntList({-1}), true});
  if (chain.ok() && scales.dtype() == DType::kFloat16) {
    scales = chain.To(scales, DType::kFloat32);
  }
  scales = chain("aten.clamp.default", {scales, 1e-5});
  scales = chain("aten.div.Tensor", {scales, int64_t{127}});
  return chain.Return({scales, chain("aten.zeros_like.default", {scales})});
}

bool ChooseQparamsPerTokenAsymmetric(PlanBuilder& b, KernelCall& call,
                                     const Lowering&) {
  constexpr int64_t kLow = -128, kHigh = 127;
  constexpr double kEps = 0x1p-23;
  PlanChain chain(b, call);
  const Tensor least = Extreme(chain, call.tensor(0), false, {-1});
  const Tensor most = Extreme(chain, call.tensor(0), true, {-1});
  Tensor scale = chain("aten.sub.Tensor", {most, least});
  scale = chain("aten.div.Tensor", {scale, static_cast<double>(kHigh - kLow)});
  scale = chain("aten.clamp.default", {scale, kEps});
  const Tensor down = chain("aten.div.Tensor", {least, scale});
  const Tensor up = chain("aten.div.Tensor", {most, scale});
  const Tensor error =
      chain("aten.add.Tensor", {chain("aten.add.Tensor", {down, kLow}),
                                chain("aten.add.Tensor", {up, kHigh})});
  Tensor zero =
      chain("aten.where.self", {chain("aten.gt.Scalar", {error, int64_t{0}}),
                                chain("aten.rsub.Scalar", {down, kLow}),
                                chain("aten.rsub.Scalar", {up, kHigh})});
  zero = chain("aten.clamp.default", {zero, kLow, kHigh});
  zero = chain("aten.round.default", {zero});
  return chain.Return(
      {chain.To(scale, DType::kFloat64), chain.To(zero, DType::kInt64)});
}

bool ConvertElementType(PlanBuilder& b, KernelCall& call, const Lowering&) {
  PlanChain chain(b, call);
  return chain.Return({chain.To(call.tensor(0), call.arg(1).dtype())});
}

// --- what is left to others ---

// Scales and zero points that are tensors count as Python numbers, which half
// precision tells from tensors.
std::optional<Refusal> RefuseHalfOutput(const Program& program, NodeId node) {
  const Arg* dtype = program.FindArg(node, "out_dtype");
  if (dtype == nullptr || dtype->kind != ArgKind::kDtype ||
      dtype->dtype() == DType::kFloat32) {
    return std::nullopt;
  }
  return Refusal{RefusalReason::kDtype, std::string(Name(dtype->dtype()))};
}

std::optional<Refusal> RefuseWideInput(const Program& program, NodeId node) {
  const Arg* input = program.FindArg(node, "input");
  if (input == nullptr || !input->is_value()) return std::nullopt;
  const DType dtype = program.type(input->value()).dtype;
  if (dtype == DType::kFloat32 || IsHalf(dtype)) return std::nullopt;
  return Refusal{RefusalReason::kDtype, std::string(Name(dtype))};
}

constexpr Lowering Op(std::string_view name, LowerFn lower,
                      RefuseFn refuses = nullptr) {
  return {name,   LoweringKind::kPure, lower, DTypeRule::kHeld, TileOp::kCopy,
          refuses};
}

constexpr Lowering kLowerings[] = {
    Op("quantized_decomposed._choose_qparams_per_token_asymmetric_impl.default",
       ChooseQparamsPerTokenAsymmetric, RefuseWideInput),
    Op("quantized_decomposed.choose_qparams.tensor", ChooseQparams,
       RefuseWideInput),
    Op("quantized_decomposed.choose_qparams_per_token.default",
       ChooseQparamsPerToken, RefuseWideInput),
    Op("quantized_decomposed.choose_qparams_per_token_asymmetric.default",
       ChooseQparamsPerTokenAsymmetric, RefuseWideInput),
    Op("quantized_decomposed.choose_qparams_symmetric.tensor",
       ChooseQparamsSymmetric, RefuseWideInput),
    Op("quantized_decomposed.convert_element_type.no_fuse", ConvertElementType),
    Op("quantized_decomposed.dequantize_per_channel.default",
       DequantizePerChannel),
    Op("quantized_decomposed.dequantize_per_channel_group.default",
       DequantizePerChannelGroup),
    Op("quantized_decomposed.dequantize_per_tensor.default",
       DequantizePerTensor),
    Op("quantized_decomposed.dequantize_per_tensor.tensor", DequantizePerTensor,
       RefuseHalfOutput),
    Op("quantized_decomposed.dequantize_per_tensor.tensor2",
       DequantizePerTensor, RefuseHalfOutput),
    Op("quantized_decomposed.dequantize_per_token.default", DequantizePerToken),
    Op("quantized_decomposed.quantize_per_channel.default", QuantizePerChannel,
       RefuseWideInput),
    Op("quantized_decomposed.quantize_per_tensor.default", QuantizePerTensor,
       RefuseWideInput),
    Op("quantized_decomposed.quantize_per_tensor.tensor", QuantizePerTensor,
       RefuseWideInput),
    Op("quantized_decomposed.quantize_per_tensor.tensor2", QuantizePerTensor,
       RefuseWideInput),
    Op("quantized_decomposed.quantize_per_token.default", QuantizePerToken,
       RefuseWideInput),
};

}  // namespace

std::span<const Lowering> QuantizedLowerings() { return kLowerings; }

}  // namespace tenon::cpu
