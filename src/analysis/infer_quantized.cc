// Quantised tensors: whole numbers for what they stand for, and back.
#include "analysis/infer_call.h"

namespace tenon {
namespace {

// In the dtype of argument `parameter`.
void Quantize(InferCall& call, uint32_t parameter) {
  const Type* input = call.Tensor(0);
  const auto dtype = call.Dtype(parameter);
  if (input != nullptr && dtype) call.AddLike(*input, *dtype);
}

// In the dtype of argument `parameter`, else float32.
void Dequantize(InferCall& call, uint32_t parameter) {
  const Type* input = call.Tensor(0);
  const auto dtype = call.Dtype(parameter);
  if (input == nullptr || (!dtype && call.Has(parameter))) return;
  call.AddLike(*input, dtype.value_or(DType::kFloat32));
}

// One scale and one zero point.
void ChooseForTensor(InferCall& call, uint32_t) {
  const InferredSize one = InferredSize::Literal(1);
  call.AddTensor(DType::kFloat64, 1).sizes[0] = one;
  call.AddTensor(DType::kInt64, 1).sizes[0] = one;
}

constexpr InferRow kRows[] = {
    {"quantized_decomposed.quantize_per_tensor.default", Quantize, 5},
    {"quantized_decomposed.quantize_per_tensor.tensor", Quantize, 5},
    {"quantized_decomposed.quantize_per_tensor.tensor2", Quantize, 5},
    {"quantized_decomposed.quantize_per_channel.default", Quantize, 6},
    {"quantized_decomposed.quantize_per_channel_group.default", Quantize, 5},
    {"quantized_decomposed.quantize_per_token.default", Quantize, 5},
    {"quantized_decomposed.convert_element_type.no_fuse", Quantize, 1},
    {"quantized_decomposed.dequantize_per_tensor.default", Dequantize, 6},
    {"quantized_decomposed.dequantize_per_tensor.tensor", Dequantize, 6},
    {"quantized_decomposed.dequantize_per_tensor.tensor2", Dequantize, 6},
    {"quantized_decomposed.dequantize_per_channel.default", Dequantize, 7},
    {"quantized_decomposed.dequantize_per_channel_group.default", Dequantize,
     7},
    {"quantized_decomposed.dequantize_per_token.default", Dequantize, 6},
    {"torchao.quantize_affine.default", Quantize, 4},
    {"torchao.dequantize_affine.default", Dequantize, 7},
    {"quantized_decomposed.fake_quant_per_channel.default", LikeArguments,
     LikeArg(0)},
    {"quantized_decomposed.choose_qparams.tensor", ChooseForTensor},
    {"quantized_decomposed.choose_qparams_symmetric.tensor", ChooseForTensor},
};

}  // namespace

std::span<const InferRow> QuantizedRows() { return kRows; }

}  // namespace tenon
