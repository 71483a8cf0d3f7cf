// PyTorch's quantized_decomposed operators: float tensors to integers and back
// with a scale and a zero point per tensor, channel, token or group.
//
// Each is the chain of plain operators by which PyTorch defines it, so that
// promotion and rounding agree step by step.
#include <numeric>
#include <string>
#include <vector>

#include "kernels/elements.h"
#include "kernels/quantization.h"
#include "kernels/quantized_chains.h"
#include "kernels/registry.h"

namespace tenon {
namespace quantized {

// --- arguments ---

namespace {

// The integers that a quantised value may have: arguments `at` and `at` + 1,
// within the range of the dtype that follows them.
bool RangeAt(OperatorChain& chain, KernelCall& call, size_t at,
             QuantizedRange* out) {
  *out = {chain.Number(call.arg(at)), chain.Number(call.arg(at + 1)),
          call.arg(at + 2).dtype()};
  const IntegerRange limits = RangeOf(out->dtype);
  if (chain.ok() &&
      ((out->low.is_scalar() && ScalarAs<int64_t>(out->low) < limits.min) ||
       (out->high.is_scalar() && ScalarAs<int64_t>(out->high) > limits.max))) {
    return call.Fail("quant_min and quant_max don't fit the dtype");
  }
  return chain.ok();
}

// Half precision is widened, other dtypes than these are refused.
bool FloatInput(OperatorChain& chain, KernelCall& call, Tensor* out) {
  const Tensor& x = call.tensor(0);
  if (x.dtype() != DType::kFloat32 && x.dtype() != DType::kFloat16 &&
      x.dtype() != DType::kBFloat16) {
    return call.Fail("the input has to be float32, float16 or bfloat16");
  }
  *out = chain.To(x, DType::kFloat32);
  return chain.ok();
}

bool CheckStored(KernelCall& call, DType dtype) {
  if (call.tensor(0).dtype() == dtype) return true;
  return call.Fail("the input's dtype isn't that of 'dtype'");
}

DType OutputDType(const RuntimeValue& arg) {
  return arg.is_none() ? DType::kFloat32 : arg.dtype();
}

// --- per tensor ---

// 1 / scale, divided in float64.
RuntimeValue InverseOf(OperatorChain& chain, const RuntimeValue& scale) {
  if (!scale.is_tensor()) return 1.0 / ScalarAs<double>(scale);
  if (scale.tensor().numel() != 1) return chain.Number(scale);
  const Tensor wide = chain.To(scale.tensor(), DType::kFloat64);
  return chain.Number(chain("aten.reciprocal.default", {wide}));
}

}  // namespace

bool QuantizePerTensor(OperatorChain& chain, KernelCall& call) {
  Tensor x;
  QuantizedRange range;
  if (!FloatInput(chain, call, &x)) return false;
  const RuntimeValue inverse = InverseOf(chain, call.arg(1));
  const RuntimeValue zero = chain.Number(call.arg(2));
  return RangeAt(chain, call, 3, &range) &&
         chain.Return({Quantize(chain, x, inverse, zero, range)});
}

bool DequantizePerTensor(OperatorChain& chain, KernelCall& call) {
  if (!CheckStored(call, call.arg(5).dtype())) return false;
  const RuntimeValue scale = chain.Number(call.arg(1));
  const RuntimeValue zero = chain.Number(call.arg(2));
  const DType dtype = OutputDType(call.arg(6));
  return chain.Return(
      {Dequantize(chain, chain.To(call.tensor(0), dtype), zero, scale, dtype)});
}

// --- per channel ---

namespace {

// Parameters that broadcast along `axis` of the input.
Tensor AlongAxis(OperatorChain& chain, const Tensor& parameters,
                 const Tensor& input, int64_t axis) {
  std::vector<int64_t> sizes(static_cast<size_t>(input.dim()), 1);
  sizes[static_cast<size_t>(axis)] = -1;
  return chain.Reshape(parameters, sizes);
}

}  // namespace

bool AxisAt(KernelCall& call, size_t i, int64_t* axis) {
  *axis = call.Int(i);
  const int64_t dim = call.tensor(0).dim();
  if (*axis < 0) *axis += dim;
  return (*axis >= 0 && *axis < dim) ||
         call.Fail("the axis isn't one of the input's dimensions");
}

bool QuantizePerChannel(OperatorChain& chain, KernelCall& call) {
  Tensor x;
  int64_t axis;
  QuantizedRange range;
  if (!FloatInput(chain, call, &x) || !AxisAt(call, 3, &axis) ||
      !RangeAt(chain, call, 4, &range)) {
    return false;
  }
  const Tensor scales = AlongAxis(chain, call.tensor(1), x, axis);
  const Tensor zeros = AlongAxis(chain, call.tensor(2), x, axis);
  return chain.Return({Quantize(
      chain, x, chain("aten.reciprocal.default", {scales}), zeros, range)});
}

bool DequantizePerChannel(OperatorChain& chain, KernelCall& call) {
  int64_t axis;
  if (!CheckStored(call, call.arg(6).dtype()) || !AxisAt(call, 3, &axis)) {
    return false;
  }
  const Tensor& q = call.tensor(0);
  RuntimeValue zeros;
  if (!call.is_none(2)) zeros = AlongAxis(chain, call.tensor(2), q, axis);
  return chain.Return(
      {Dequantize(chain, q, zeros, AlongAxis(chain, call.tensor(1), q, axis),
                  OutputDType(call.arg(7)))});
}

bool FakeQuantPerChannel(OperatorChain& chain, KernelCall& call) {
  Tensor x;
  int64_t axis;
  if (!FloatInput(chain, call, &x) || !AxisAt(call, 3, &axis)) return false;
  const Tensor scales =
      chain.To(AlongAxis(chain, call.tensor(1), x, axis), DType::kFloat32);
  const Tensor zeros =
      chain.To(AlongAxis(chain, call.tensor(2), x, axis), DType::kInt32);
  const Tensor q =
      Quantize(chain, x, chain("aten.reciprocal.default", {scales}), zeros,
               {call.Scalar(4), call.Scalar(5), DType::kFloat32});
  return chain.Return({Dequantize(chain, q, zeros, scales, DType::kFloat32)});
}

// --- per token: a row of the last dimension ---

namespace {

// Here the zero point is added before rounding.
Tensor QuantizeRows(OperatorChain& chain, const Tensor& x, const Tensor& scales,
                    const Tensor& zeros, const QuantizedRange& range) {
  Tensor q =
      chain("aten.mul.Tensor", {x, chain("aten.reciprocal.default", {scales})});
  q = chain("aten.round.default", {chain("aten.add.Tensor", {q, zeros})});
  return Clamp(chain, q, range);
}

bool CheckTokens(KernelCall& call) {
  const Tensor& x = call.tensor(0);
  if (x.dim() == 0) return call.Fail("the input has no dimension");
  const Sizes& sizes = x.sizes();
  const int64_t tokens = std::accumulate(sizes.begin(), sizes.end() - 1,
                                         int64_t{1}, std::multiplies<>());
  return (call.tensor(1).numel() == tokens &&
          call.tensor(2).numel() == tokens) ||
         call.Fail("there have to be as many scales and zero points as tokens");
}

}  // namespace

bool QuantizePerToken(OperatorChain& chain, KernelCall& call) {
  QuantizedRange range;
  if (!RangeAt(chain, call, 3, &range) || !CheckTokens(call)) return false;
  return chain.Return({QuantizeRows(chain, call.tensor(0), call.tensor(1),
                                    call.tensor(2), range)});
}

bool DequantizePerToken(OperatorChain& chain, KernelCall& call) {
  if (!CheckTokens(call)) return false;
  return chain.Return({Dequantize(chain, call.tensor(0), call.tensor(2),
                                  call.tensor(1), call.arg(6).dtype())});
}

// --- per group of columns ---

namespace {

// The input and its parameters as rows of one group each.
struct Groups {
  Tensor input, scales;
  RuntimeValue zeros;
};

}  // namespace

bool GroupOf(KernelCall& call, int64_t group_size, int64_t* group) {
  const Tensor &input = call.tensor(0), &scales = call.tensor(1);
  if (input.dim() != 2) return call.Fail("the input has to be a matrix");
  if (group_size <= 1) return call.Fail("group_size has to be above 1");
  const int64_t columns = input.size(1);
  const bool is_row = group_size > columns && scales.dim() > 0 &&
                      scales.size(scales.dim() - 1) == 1;
  *group = is_row ? columns : group_size;
  if (*group == 0 || columns % *group != 0) {
    return call.Fail("group_size has to divide the columns");
  }
  return true;
}

namespace {

bool FindGroups(KernelCall& call, OperatorChain& chain, int64_t group_size,
                Groups* out) {
  int64_t group;
  if (!GroupOf(call, group_size, &group)) return false;
  out->input = chain.Reshape(call.tensor(0), {-1, group});
  out->scales = chain.Reshape(call.tensor(1), {-1, 1});
  if (!call.is_none(2)) out->zeros = chain.Reshape(call.tensor(2), {-1, 1});
  return chain.ok();
}

}  // namespace

bool QuantizePerChannelGroup(OperatorChain& chain, KernelCall& call) {
  QuantizedRange range;
  Groups groups;
  if (!RangeAt(chain, call, 3, &range) ||
      !FindGroups(call, chain, call.Int(6), &groups)) {
    return false;
  }
  const Tensor q = QuantizeRows(chain, groups.input, groups.scales,
                                groups.zeros.tensor(), range);
  return chain.Return({chain.Reshape(q, call.tensor(0).sizes())});
}

bool DequantizePerChannelGroup(OperatorChain& chain, KernelCall& call) {
  Groups groups;
  if (!CheckStored(call, call.arg(5).dtype()) ||
      !FindGroups(call, chain, call.Int(6), &groups)) {
    return false;
  }
  const Tensor x = Dequantize(chain, groups.input, groups.zeros, groups.scales,
                              call.arg(7).dtype());
  return chain.Return({chain.Reshape(x, call.tensor(0).sizes())});
}

// --- scales and zero points from data ---

namespace {

bool ChooseForTensor(OperatorChain& chain, KernelCall& call,
                     bool is_symmetric) {
  const Tensor& x = call.tensor(0);
  const int64_t low = call.Int(1), high = call.Int(2);
  if (x.numel() == 0) return call.Fail("an empty tensor has no range");
  if (low >= high) return call.Fail("quant_min has to be below quant_max");
  const auto [a, b] = FindZeroExtrema(chain, x, {}, false);
  const double steps = static_cast<double>(high - low);
  Tensor scale;
  if (is_symmetric) {
    const Tensor width =
        chain("aten.maximum.default", {chain("aten.neg.default", {a}), b});
    scale = chain("aten.div.Tensor", {width, steps / 2});
  } else {
    const Tensor width = chain("aten.sub.Tensor", {b, a});
    scale = chain("aten.div.Tensor", {width, steps});
  }
  Tensor eps = chain("aten.full.default", {IntList({1}), call.Float(3)});
  eps = chain.To(eps, DType::kFloat32);
  scale = chain("aten.maximum.default", {scale, eps});
  Tensor zero;
  if (is_symmetric) {
    const int64_t middle = call.arg(4).dtype() == DType::kUInt8 ? 128 : 0;
    zero = chain("aten.full.default", {IntList({1}), middle});
  } else {
    const Tensor steps_down =
        chain("aten.round.default", {chain("aten.div.Tensor", {a, scale})});
    zero =
        chain("aten.rsub.Scalar", {chain.To(steps_down, DType::kInt32), low});
    zero = chain("aten.clamp.default", {zero, low, high});
  }
  return chain.Return(
      {chain.To(scale, DType::kFloat64), chain.To(zero, DType::kInt64)});
}

}  // namespace

bool ChooseQparams(OperatorChain& chain, KernelCall& call) {
  return ChooseForTensor(chain, call, false);
}
bool ChooseQparamsSymmetric(OperatorChain& chain, KernelCall& call) {
  return ChooseForTensor(chain, call, true);
}

bool ChooseQparamsPerToken(OperatorChain& chain, KernelCall& call) {
  if (call.arg(1).dtype() != DType::kInt8) {
    return call.Fail("tokens are quantised to int8 only");
  }
  Tensor scales = chain("aten.abs.default", {call.tensor(0)});
  scales = chain("aten.amax.default", {scales, IntList({-1}), true});
  if (chain.ok() && scales.dtype() == DType::kFloat16) {
    scales = chain.To(scales, DType::kFloat32);
  }
  scales = chain("aten.clamp.default", {scales, 1e-5});
  scales = chain("aten.div.Tensor", {scales, int64_t{127}});
  return chain.Return({scales, chain("aten.zeros_like.default", {scales})});
}

bool ChooseQparamsPerTokenAsymmetric(OperatorChain& chain, KernelCall& call) {
  constexpr int64_t kLow = -128, kHigh = 127;
  constexpr double kEps = 1.1920928955078125e-07;  // 2^-23
  const auto [a, b] = FindZeroExtrema(chain, call.tensor(0), {-1}, true);
  Tensor scale = chain("aten.sub.Tensor", {b, a});
  scale = chain("aten.div.Tensor", {scale, static_cast<double>(kHigh - kLow)});
  scale = chain("aten.clamp.default", {scale, kEps});
  const Tensor down = chain("aten.div.Tensor", {a, scale});
  const Tensor up = chain("aten.div.Tensor", {b, scale});
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

bool ConvertElementType(OperatorChain& chain, KernelCall& call) {
  return chain.Return({chain.To(call.tensor(0), call.arg(1).dtype())});
}

}  // namespace quantized

namespace {

using quantized::RunChain;

constexpr KernelEntry kEntries[] = {
    {"quantized_decomposed._choose_qparams_per_token_asymmetric_impl.default",
     &RunChain<quantized::ChooseQparamsPerTokenAsymmetric>},
    {"quantized_decomposed.choose_qparams.tensor",
     &RunChain<quantized::ChooseQparams>},
    {"quantized_decomposed.choose_qparams_per_token.default",
     &RunChain<quantized::ChooseQparamsPerToken>},
    {"quantized_decomposed.choose_qparams_per_token_asymmetric.default",
     &RunChain<quantized::ChooseQparamsPerTokenAsymmetric>},
    {"quantized_decomposed.choose_qparams_symmetric.tensor",
     &RunChain<quantized::ChooseQparamsSymmetric>},
    {"quantized_decomposed.convert_element_type.no_fuse",
     &RunChain<quantized::ConvertElementType>},
    {"quantized_decomposed.dequantize_per_channel.default",
     &RunChain<quantized::DequantizePerChannel>},
    {"quantized_decomposed.dequantize_per_channel_group.default",
     &RunChain<quantized::DequantizePerChannelGroup>},
    {"quantized_decomposed.dequantize_per_tensor.default",
     &RunChain<quantized::DequantizePerTensor>},
    {"quantized_decomposed.dequantize_per_tensor.tensor",
     &RunChain<quantized::DequantizePerTensor>},
    {"quantized_decomposed.dequantize_per_tensor.tensor2",
     &RunChain<quantized::DequantizePerTensor>},
    {"quantized_decomposed.dequantize_per_token.default",
     &RunChain<quantized::DequantizePerToken>},
    {"quantized_decomposed.fake_quant_per_channel.default",
     &RunChain<quantized::FakeQuantPerChannel>},
    {"quantized_decomposed.quantize_per_channel.default",
     &RunChain<quantized::QuantizePerChannel>},
    {"quantized_decomposed.quantize_per_channel_group.default",
     &RunChain<quantized::QuantizePerChannelGroup>},
    {"quantized_decomposed.quantize_per_tensor.default",
     &RunChain<quantized::QuantizePerTensor>},
    {"quantized_decomposed.quantize_per_tensor.tensor",
     &RunChain<quantized::QuantizePerTensor>},
    {"quantized_decomposed.quantize_per_tensor.tensor2",
     &RunChain<quantized::QuantizePerTensor>},
    {"quantized_decomposed.quantize_per_token.default",
     &RunChain<quantized::QuantizePerToken>},
};

}  // namespace

std::span<const KernelEntry> QuantizedDecomposedKernels() { return kEntries; }

}  // namespace tenon
