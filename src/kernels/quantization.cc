#include "kernels/quantization.h"

#include <limits>

namespace tenon {
namespace {

template <typename T>
constexpr IntegerRange kRange = {std::numeric_limits<T>::min(),
                                 std::numeric_limits<T>::max()};

}  // namespace

IntegerRange RangeOf(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
      return kRange<uint8_t>;
    case DType::kInt8:
      return kRange<int8_t>;
    case DType::kUInt16:
      return kRange<uint16_t>;
    case DType::kInt16:
      return kRange<int16_t>;
    case DType::kUInt32:
      return kRange<uint32_t>;
    case DType::kInt32:
      return kRange<int32_t>;
    case DType::kInt64:
      return kRange<int64_t>;
    default:
      return {};
  }
}

Tensor Clamp(OperatorChain& chain, const Tensor& q,
             const QuantizedRange& range) {
  const bool are_tensors = range.low.is_tensor() || range.high.is_tensor();
  return chain.To(
      chain(are_tensors ? "aten.clamp.Tensor" : "aten.clamp.default",
            {q, range.low, range.high}),
      range.dtype);
}

Tensor Quantize(OperatorChain& chain, const Tensor& x,
                const RuntimeValue& inverse_scale, const RuntimeValue& zero,
                const QuantizedRange& range) {
  Tensor q = chain("aten.mul.Tensor", {x, inverse_scale});
  q = chain("aten.round.default", {q});
  if (!zero.is_none()) q = chain("aten.add.Tensor", {q, zero});
  return Clamp(chain, q, range);
}

Tensor Dequantize(OperatorChain& chain, const Tensor& q,
                  const RuntimeValue& zero, const RuntimeValue& scale,
                  DType dtype) {
  Tensor x = q;
  if (!zero.is_none()) x = chain("aten.sub.Tensor", {x, zero});
  return chain.To(chain("aten.mul.Tensor", {x, scale}), dtype);
}

ZeroExtrema FindZeroExtrema(OperatorChain& chain, const Tensor& x,
                            const std::vector<int64_t>& dims, bool keep_dims) {
  const auto with_zero = [&](std::string_view extreme, std::string_view op) {
    const Tensor at = chain(extreme, {x, IntList(dims), keep_dims});
    return chain(op, {at, chain("aten.zeros_like.default", {at})});
  };
  return {with_zero("aten.amin.default", "aten.minimum.default"),
          with_zero("aten.amax.default", "aten.maximum.default")};
}

}  // namespace tenon
