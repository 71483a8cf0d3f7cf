#include "backends/cpu/int_matmul.h"

#include <omp.h>

#include <algorithm>

namespace tenon::cpu {
namespace {

// As many products of bytes as int32 holds for sure.
constexpr int64_t kExactProducts = int64_t{1} << 16;
// Columns whose sums stay in the cache while rows of B go by.
constexpr int64_t kBlockColumns = 1024;
// Smaller products aren't worth waking threads for.
constexpr int64_t kSharedProducts = int64_t{1} << 19;

// Unsigned, since that may wrap.
template <typename A>
uint32_t Dot(const A* a, const int8_t* b, int64_t size) {
  uint32_t total = 0;
  for (int64_t begin = 0; begin < size; begin += kExactProducts) {
    const int64_t end = std::min(size, begin + kExactProducts);
    int32_t sum = 0;
    for (int64_t p = begin; p < end; ++p) {
      sum += int32_t{a[p]} * int32_t{b[p]};
    }
    total += static_cast<uint32_t>(sum);
  }
  return total;
}

}  // namespace

template <typename A>
void IntMatmulStep::MultiplyColumns(Frame& frame, int64_t begin,
                                    int64_t end) const {
  const A* a = frame.at<A>(s_.a);
  const int8_t* b = frame.at<int8_t>(s_.b);
  uint32_t* c = frame.at<uint32_t>(s_.c);
  if (s_.b_row == 1) {
    for (int64_t j = begin; j < end; ++j) {
      for (int64_t i = 0; i < s_.m; ++i) {
        c[i * s_.n + j] = Dot(a + i * s_.a_row, b + j * s_.b_column, s_.k);
      }
    }
    return;
  }
  for (int64_t first = begin; first < end; first += kBlockColumns) {
    const int64_t size = std::min(end - first, kBlockColumns);
    for (int64_t i = 0; i < s_.m; ++i) {
      uint32_t* sums = c + i * s_.n + first;
      std::fill_n(sums, size, 0);
      for (int64_t p = 0; p < s_.k; ++p) {
        const int32_t x = a[i * s_.a_row + p];
        const int8_t* row = b + p * s_.b_row + first;
        for (int64_t j = 0; j < size; ++j) {
          sums[j] += static_cast<uint32_t>(x * int32_t{row[j]});
        }
      }
    }
  }
}

bool IntMatmulStep::Run(Frame& frame) {
  const bool is_shared =
      s_.num_threads > 1 && s_.m * s_.n * s_.k >= kSharedProducts;
#pragma omp parallel num_threads(is_shared ? s_.num_threads : 1)
  {
    const int64_t count = omp_get_num_threads(), i = omp_get_thread_num();
    const int64_t begin = s_.n * i / count, end = s_.n * (i + 1) / count;
    if (s_.a_type == DType::kUInt8) {
      MultiplyColumns<uint8_t>(frame, begin, end);
    } else {
      MultiplyColumns<int8_t>(frame, begin, end);
    }
  }
  return true;
}

}  // namespace tenon::cpu
