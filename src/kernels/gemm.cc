#include "kernels/gemm.h"

#include <algorithm>

#include "kernels/views.h"

namespace tenon {
namespace {

// The dtype whose elements are stored as C is; kUnknown when there are several
// or none.
template <typename C>
bool IsStoredAs(DType dtype) {
  if constexpr (std::is_same_v<C, float>) return dtype == DType::kFloat32;
  if constexpr (std::is_same_v<C, double>) return dtype == DType::kFloat64;
  if constexpr (std::is_same_v<C, int64_t>) return dtype == DType::kInt64;
  if constexpr (std::is_same_v<C, uint64_t>) return dtype == DType::kUInt64;
  if constexpr (std::is_same_v<C, std::complex<float>>) {
    return dtype == DType::kComplex64;
  }
  return std::is_same_v<C, std::complex<double>> && dtype == DType::kComplex128;
}

// The transpose of a row-major [rows, columns], by tiles that fit the cache.
template <typename C>
void TransposeTiles(const C* from, int64_t rows, int64_t columns, C* to) {
  constexpr int64_t kTile = 32;
  for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
    for (int64_t c0 = 0; c0 < columns; c0 += kTile) {
      const int64_t r1 = std::min(rows, r0 + kTile);
      const int64_t c1 = std::min(columns, c0 + kTile);
      for (int64_t r = r0; r < r1; ++r) {
        for (int64_t c = c0; c < c1; ++c) {
          to[c * rows + r] = from[r * columns + c];
        }
      }
    }
  }
}

constexpr int64_t kRows = 4, kColumns = 64, kDepth = 64;

// One block: kRows rows (fewer at the edge) times kColumns columns, over
// `depth` terms.
template <typename C>
void MultiplyBlock(const C* a, const C* b, C* out, int64_t rows,
                   int64_t columns, int64_t depth, int64_t n, int64_t k) {
  C sums[kRows][kColumns] = {};
  for (int64_t p = 0; p < depth; ++p) {
    const C* b_row = b + p * n;
    for (int64_t r = 0; r < rows; ++r) {
      const C factor = a[r * k + p];
      for (int64_t j = 0; j < columns; ++j) {
        sums[r][j] = WrapAdd(sums[r][j], WrapMultiply(factor, b_row[j]));
      }
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < columns; ++j) {
      out[r * n + j] = WrapAdd(out[r * n + j], sums[r][j]);
    }
  }
}

}  // namespace

template <typename C>
Values<C>::Values(const Tensor& tensor) : tensor_(tensor) {
  if (tensor.numel() == 0) return;
  if (IsStoredAs<C>(tensor.dtype()) && tensor.is_contiguous()) {
    data_ = tensor.data<C>();
    return;
  }
  // A transposed matrix is read along its rows in memory.
  if (tensor.dim() == 2 && tensor.stride(0) == 1 && tensor.stride(1) != 1) {
    const std::vector<C> columns = ReadAll<C>(Transposed(tensor, 0, 1));
    owned_.resize(columns.size());
    TransposeTiles(columns.data(), tensor.size(1), tensor.size(0),
                   owned_.data());
  } else {
    owned_ = ReadAll<C>(tensor);
  }
  data_ = owned_.data();
}

template <typename C>
void MultiplyAdd(const C* a, const C* b, C* out, int64_t m, int64_t n,
                 int64_t k) {
  for (int64_t j = 0; j < n; j += kColumns) {
    const int64_t columns = std::min(kColumns, n - j);
    for (int64_t p = 0; p < k; p += kDepth) {
      const int64_t depth = std::min(kDepth, k - p);
      for (int64_t i = 0; i < m; i += kRows) {
        MultiplyBlock(a + i * k + p, b + p * n + j, out + i * n + j,
                      std::min(kRows, m - i), columns, depth, n, k);
      }
    }
  }
}

#define TENON_INSTANTIATE(C)                                             \
  template class Values<C>;                                              \
  template void MultiplyAdd<C>(const C*, const C*, C*, int64_t, int64_t, \
                               int64_t);
TENON_INSTANTIATE(int64_t)
TENON_INSTANTIATE(uint64_t)
TENON_INSTANTIATE(float)
TENON_INSTANTIATE(double)
TENON_INSTANTIATE(std::complex<float>)
TENON_INSTANTIATE(std::complex<double>)
#undef TENON_INSTANTIATE

}  // namespace tenon
