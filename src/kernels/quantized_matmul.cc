// Products with integer weights: int8 by int8, and float by weights of 8 and 4
// bits that stay packed.
#include "kernels/quantized_matmul.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/elements.h"
#include "kernels/int4_layout.h"
#include "kernels/registry.h"

namespace tenon {
namespace {

bool CheckMatrix(KernelCall& call, size_t i, DType dtype) {
  const Tensor& t = call.tensor(i);
  if (t.dim() == 2 && t.dtype() == dtype) return true;
  return call.Fail("'" + call.schema().args[i].name +
                   "' has to be a matrix of " + std::string(Name(dtype)));
}

}  // namespace

bool CheckIntMm(KernelCall& call) {
  const Tensor &a = call.tensor(0), &b = call.tensor(1);
  const DType dtype = a.dtype();
  if (!CheckMatrix(call, 0, dtype == DType::kUInt8 ? dtype : DType::kInt8) ||
      !CheckMatrix(call, 1, DType::kInt8)) {
    return false;
  }
  return b.size(0) == a.size(1) || call.Fail("the inner sizes differ");
}

bool CheckInt8PackMm(KernelCall& call) {
  const Tensor &x = call.tensor(0), &w = call.tensor(1), &s = call.tensor(2);
  if (!CheckMatrix(call, 0, x.dtype()) || !CheckMatrix(call, 1, DType::kInt8)) {
    return false;
  }
  return (w.size(1) == x.size(1) && s.numel() == w.size(0)) ||
         call.Fail("the sizes of input, weight and scales don't fit");
}

bool CheckInt4PackMm(KernelCall& call) {
  const Tensor &x = call.tensor(0), &w = call.tensor(1), &sz = call.tensor(3);
  const int64_t group = call.Int(2);
  if (!CheckMatrix(call, 0, x.dtype()) ||
      !CheckMatrix(call, 1, DType::kUInt8)) {
    return false;
  }
  const int64_t k = x.size(1), n = w.size(0);
  if (group < 1 || w.size(1) * 2 != k || k % group != 0 || sz.dim() != 3 ||
      sz.size(0) != k / group || sz.size(1) != n || sz.size(2) != 2) {
    return call.Fail("the sizes of input, weight, groups and scales don't fit");
  }
  return n % 2 == 0 || call.Fail("an odd number of rows isn't packed");
}

namespace {

bool ReturnMatrix(KernelCall& call, DType dtype, int64_t rows, int64_t columns,
                  const std::vector<float>& values) {
  Tensor out = Tensor::Empty(dtype, {rows, columns});
  if (!out.defined()) return call.Fail("out of memory");
  WriteAll(&out, values);
  call.Return(std::move(out));
  return true;
}

// Exact in int32, which wraps. The first factor may be unsigned.
bool IntMm(KernelCall& call) {
  if (!CheckIntMm(call)) return false;
  const Tensor &a = call.tensor(0), &b = call.tensor(1);
  const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  const std::vector<int64_t> as = ReadAll<int64_t>(a), bs = ReadAll<int64_t>(b);
  std::vector<int64_t> sums(static_cast<size_t>(m * n), 0);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t p = 0; p < k; ++p) {
      const int64_t x = as[static_cast<size_t>(i * k + p)];
      for (int64_t j = 0; j < n; ++j) {
        sums[static_cast<size_t>(i * n + j)] +=
            x * bs[static_cast<size_t>(p * n + j)];
      }
    }
  }
  Tensor out = Tensor::Empty(DType::kInt32, {m, n});
  if (!out.defined()) return call.Fail("out of memory");
  WriteAll(&out, sums);
  call.Return(std::move(out));
  return true;
}

// x times the rows of `weights` [n, k], with float32 sums.
std::vector<float> TimesRows(const std::vector<float>& x,
                             const std::vector<float>& weights, int64_t m,
                             int64_t n, int64_t k) {
  std::vector<float> out;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += x[static_cast<size_t>(i * k + p)] *
               weights[static_cast<size_t>(j * k + p)];
      }
      out.push_back(sum);
    }
  }
  return out;
}

bool WeightInt8PackMm(KernelCall& call) {
  if (!CheckInt8PackMm(call)) return false;
  const Tensor &x = call.tensor(0), &w = call.tensor(1), &s = call.tensor(2);
  const int64_t m = x.size(0), k = x.size(1), n = w.size(0);
  std::vector<float> out =
      TimesRows(ReadAll<float>(x), ReadAll<float>(w), m, n, k);
  const std::vector<float> scales = ReadAll<float>(s);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] *= scales[i % static_cast<size_t>(n)];
  }
  return ReturnMatrix(call, x.dtype(), m, n, out);
}

bool ConvertWeightToInt4Pack(KernelCall& call) {
  if (!CheckMatrix(call, 0, DType::kInt32)) return false;
  const Tensor& q = call.tensor(0);
  const int64_t n = q.size(0), k = q.size(1);
  if (n % 16 != 0 || k % 2 != 0) {
    return call.Fail("rows have to be a multiple of 16, columns even");
  }
  std::vector<int64_t> bytes(static_cast<size_t>(n * k / 2), 0);
  const std::vector<int64_t> values = ReadAll<int64_t>(q);
  const Int4Layout layout(n, k);
  for (int64_t row = 0; row < n; ++row) {
    for (int64_t column = 0; column < k; ++column) {
      const Int4Layout::Place at = layout.Find(row, column);
      const int64_t v = values[static_cast<size_t>(row * k + column)] & 15;
      bytes[static_cast<size_t>(at.byte)] |= at.is_high ? v << 4 : v;
    }
  }
  Tensor out = Tensor::Empty(DType::kUInt8, {n, k / 2});
  if (!out.defined()) return call.Fail("out of memory");
  WriteAll(&out, bytes);
  call.Return(std::move(out));
  return true;
}

// Scale and zero point per group of columns; the zero point is a float that is
// added after scaling.
bool WeightInt4PackMm(KernelCall& call) {
  if (!CheckInt4PackMm(call)) return false;
  const Tensor &x = call.tensor(0), &w = call.tensor(1), &sz = call.tensor(3);
  const int64_t group = call.Int(2);
  const int64_t m = x.size(0), k = x.size(1), n = w.size(0);
  const std::vector<int64_t> bytes = ReadAll<int64_t>(w);
  const std::vector<float> parameters = ReadAll<float>(sz);
  const Int4Layout layout(n, k);
  std::vector<float> weights;
  for (int64_t row = 0; row < n; ++row) {
    for (int64_t column = 0; column < k; ++column) {
      const Int4Layout::Place at = layout.Find(row, column);
      const int64_t byte = bytes[static_cast<size_t>(at.byte)];
      const int64_t q = at.is_high ? byte >> 4 : byte & 15;
      const auto p = static_cast<size_t>((column / group * n + row) * 2);
      weights.push_back(static_cast<float>(q - 8) * parameters[p] +
                        parameters[p + 1]);
    }
  }
  return ReturnMatrix(call, x.dtype(), m, n,
                      TimesRows(ReadAll<float>(x), weights, m, n, k));
}

// A row in int8, and how to get it back.
struct QuantizedRow {
  std::vector<int32_t> values;
  float scale;
  int32_t zero;
};
QuantizedRow QuantizeRow(const float* x, int64_t k) {
  constexpr float kLow = -128, kHigh = 127;
  float a = 0, b = 0;
  for (int64_t p = 0; p < k; ++p) {
    a = std::min(a, x[p]);
    b = std::max(b, x[p]);
  }
  QuantizedRow row;
  row.scale =
      std::max((b - a) / (kHigh - kLow), std::numeric_limits<float>::min());
  const float zero = kLow - std::nearbyint(a / row.scale);
  row.zero = static_cast<int32_t>(std::clamp(zero, kLow, kHigh));
  const float inverse = 1 / row.scale;
  for (int64_t p = 0; p < k; ++p) {
    const float q =
        std::nearbyint(x[p] * inverse) + static_cast<float>(row.zero);
    row.values.push_back(static_cast<int32_t>(std::clamp(q, kLow, kHigh)));
  }
  return row;
}

// The weight is a float tensor in which each of the first n * k / 2 elements
// holds a byte, two weights with the even column low; then come the scales, and
// where there is one the bias. That is PyTorch's plain form; other CPUs get an
// opaque one.
bool DynQuantMatmul4Bit(KernelCall& call) {
  const Tensor& x = call.tensor(0);
  const int64_t group = call.Int(2), k = call.Int(3), n = call.Int(4);
  if (x.dim() != 2 || x.dtype() != DType::kFloat32 || x.size(1) != k ||
      group < 1 || k < 1 || n < 1 || k % 2 != 0 || k % group != 0) {
    return call.Fail("the sizes of input, groups and features don't fit");
  }
  if (call.tensor(1).dtype() != DType::kFloat32) {
    return call.Fail("the weight is packed for another kind of CPU");
  }
  const std::vector<float> packed = ReadAll<float>(call.tensor(1));
  const auto scales = static_cast<size_t>(n * k / 2);
  const size_t bias = scales + static_cast<size_t>(n * (k / group));
  const bool has_bias = packed.size() == bias + static_cast<size_t>(n);
  if (packed.size() != bias && !has_bias) {
    return call.Fail("the packed weight has another size");
  }
  const std::vector<float> inputs = ReadAll<float>(x);
  std::vector<float> out;
  for (int64_t i = 0; i < x.size(0); ++i) {
    const QuantizedRow row = QuantizeRow(inputs.data() + i * k, k);
    for (int64_t j = 0; j < n; ++j) {
      float sum = has_bias ? packed[bias + static_cast<size_t>(j)] : 0;
      for (int64_t g = 0; g < k / group; ++g) {
        int32_t products = 0;
        for (int64_t p = g * group; p < (g + 1) * group; ++p) {
          const auto byte = static_cast<int32_t>(
              packed[static_cast<size_t>((j * k + p) / 2)]);
          const int32_t q = (p % 2 == 0 ? byte & 15 : byte >> 4 & 15) - 8;
          products += (row.values[static_cast<size_t>(p)] - row.zero) * q;
        }
        const auto s = scales + static_cast<size_t>(j * (k / group) + g);
        sum += static_cast<float>(products) * packed[s] * row.scale;
      }
      out.push_back(sum);
    }
  }
  return ReturnMatrix(call, DType::kFloat32, x.size(0), n, out);
}

constexpr KernelEntry kEntries[] = {
    {"aten._convert_weight_to_int4pack_for_cpu.default",
     &ConvertWeightToInt4Pack},
    {"aten._dyn_quant_matmul_4bit.default", &DynQuantMatmul4Bit},
    {"aten._int_mm.default", &IntMm},
    {"aten._weight_int4pack_mm_for_cpu.default", &WeightInt4PackMm},
    {"aten._weight_int8pack_mm.default", &WeightInt8PackMm},
};

}  // namespace

std::span<const KernelEntry> QuantizedMatmulKernels() { return kEntries; }

}  // namespace tenon
