#include "xnnpack/quantized_filter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "support/assert.h"

namespace tenon::xnnpack {
namespace {

// XNNPACK's blocks of four-bit columns.
constexpr int64_t kGroupUnit = 32;

std::vector<uint32_t> DimsOf(const Tensor& t) {
  return {t.sizes().begin(), t.sizes().end()};
}

// [in, out] -> [out, in].
Tensor Transposed(const Tensor& matrix) {
  return matrix
      .View({matrix.size(1), matrix.size(0)},
            {matrix.stride(1), matrix.stride(0)}, matrix.offset())
      .Contiguous();
}

// Two to a byte, row by row, the even column in the low half; 8 stands for 0.
Tensor Packed(const Tensor& matrix) {
  const Tensor q = matrix.Contiguous();
  const int64_t rows = q.size(0), columns = q.size(1);
  const int64_t bytes = (columns + 1) / 2;
  Tensor out = Tensor::Empty(DType::kUInt8, {rows, bytes});
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t b = 0; b < bytes; ++b) {
      const int8_t* from = q.data<int8_t>() + r * columns + 2 * b;
      const int low = from[0] + 8, high = 2 * b + 1 < columns ? from[1] + 8 : 8;
      out.mutable_data<uint8_t>()[r * bytes + b] =
          static_cast<uint8_t>(low | high << 4);
    }
  }
  return out;
}

// One scale per output, whether the program has one or several.
PerChannelQuant PerChannel(GraphBuilder* graph, const QuantizedWeight& weight,
                           int64_t num_outputs, int32_t channel_dim,
                           float factor) {
  Tensor scales = Tensor::Empty(DType::kFloat32, {num_outputs});
  for (int64_t i = 0; i < num_outputs; ++i) {
    const size_t at = weight.is_per_tensor() ? 0 : static_cast<size_t>(i);
    scales.mutable_data<float>()[i] = weight.scales[at] * factor;
  }
  return {channel_dim, graph->AddData(scales),
          static_cast<uint32_t>(num_outputs)};
}

// The upper half of a float32's bits.
uint16_t TruncatedBfloat16(float x) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16);
}
float FromBfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
uint16_t NearestBfloat16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

}  // namespace

bool HasOutputScales(const QuantizedWeight& weight, bool is_transposed) {
  if (weight.integers.dim() != 2 || weight.group > 0) return false;
  return weight.is_per_tensor() || weight.axis == (is_transposed ? 1 : 0);
}

bool HasKnownGroups(const QuantizedWeight& weight, bool is_transposed) {
  return weight.integers.dim() == 2 && !is_transposed && weight.group > 0 &&
         weight.group % kGroupUnit == 0 && weight.is_int4;
}

uint32_t AddMatrix(GraphBuilder* graph, const QuantizedWeight& weight,
                   bool is_transposed, bool may_pack) {
  TENON_ASSERT(HasOutputScales(weight, is_transposed),
               "a matrix has a scale per output");
  const Tensor matrix =
      is_transposed ? Transposed(weight.integers) : weight.integers;
  const auto quant = PerChannel(graph, weight, matrix.size(0), 0, 1);
  // With an odd number of columns XNNPACK 1.5.1's results are wrong for some.
  if (weight.is_int4 && may_pack && matrix.size(1) % 2 == 0) {
    return graph->AddConstant(Packed(matrix), DimsOf(matrix), Datatype::kQcint4,
                              quant);
  }
  return graph->AddConstant(matrix, DimsOf(matrix), Datatype::kQcint8, quant);
}

std::vector<uint32_t> AddGroupMatrix(GraphBuilder* graph,
                                     const QuantizedWeight& weight) {
  // A float32 has 24 bits, three times those of a bfloat16.
  constexpr size_t kMaxParts = 3;
  const auto count = static_cast<int64_t>(weight.scales.size());
  const Tensor packed = Packed(weight.integers);
  std::vector<float> left = weight.scales;
  std::vector<uint32_t> out;
  bool has_more = true;
  while (has_more && out.size() < kMaxParts) {
    Tensor scales = Tensor::Empty(DType::kBFloat16, {count});
    has_more = false;
    for (int64_t i = 0; i < count; ++i) {
      float& rest = left[static_cast<size_t>(i)];
      // Scales have to be positive; the smallest is as good as none.
      const float scale = std::max(rest, std::numeric_limits<float>::min());
      const uint16_t bits =
          graph->rounds() ? NearestBfloat16(scale) : TruncatedBfloat16(scale);
      rest = graph->rounds() ? 0 : std::max(rest - FromBfloat16(bits), 0.0f);
      has_more = has_more || rest > 0;
      scales.mutable_data<uint16_t>()[i] = bits;
    }
    const PerChannelGroupQuant quant{0, static_cast<int32_t>(weight.group),
                                     graph->AddData(scales),
                                     static_cast<uint32_t>(count)};
    out.push_back(graph->AddConstant(packed, DimsOf(weight.integers),
                                     Datatype::kQbint4, quant));
  }
  return out;
}

uint32_t AddFilter(GraphBuilder* graph, const QuantizedWeight& weight,
                   const Tensor& laid_out, int32_t channel_dim) {
  const auto quant =
      PerChannel(graph, weight, laid_out.size(channel_dim), channel_dim, 1);
  return graph->AddConstant(laid_out, DimsOf(laid_out), Datatype::kQcint8,
                            quant);
}

std::optional<Tensor> RoundedBias(const QuantizedWeight& weight,
                                  const Tensor& bias, int64_t num_outputs,
                                  const IntegerProduct& product) {
  // XNNPACK's own bound of what a sum is scaled by.
  constexpr double kMaxFactor = 256;
  Tensor out = Tensor::Empty(DType::kInt32, {num_outputs});
  for (int64_t i = 0; i < num_outputs; ++i) {
    const size_t at = weight.is_per_tensor() ? 0 : static_cast<size_t>(i);
    const double unit = double{product.input.scale} * double{weight.scales[at]};
    const double step = double{product.output.scale};
    const double number =
        bias.defined() ? double{bias.data<float>()[i * bias.stride(0)]} : 0;
    const double rounded = std::nearbyint(number / unit);
    const bool fits =
        std::abs(rounded) < double{1 << 30} && unit / step < kMaxFactor &&
        std::isnormal(static_cast<float>(unit)) &&
        std::abs(rounded * unit - number) <= product.max_shift * step;
    if (!fits) return std::nullopt;
    out.mutable_data<int32_t>()[i] = static_cast<int32_t>(rounded);
  }
  return out;
}

uint32_t AddIntegerBias(GraphBuilder* graph, const QuantizedWeight& weight,
                        const Tensor& rounded, float input_scale) {
  const auto quant = PerChannel(graph, weight, rounded.size(0), 0, input_scale);
  return graph->AddConstant(rounded, DimsOf(rounded), Datatype::kQcint32,
                            quant);
}

}  // namespace tenon::xnnpack
