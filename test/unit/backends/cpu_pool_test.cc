// The pooling loops of every instruction set that the machine has, against
// plain ones.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "backends/cpu/loops/loops.h"
#include "region_builder.h"

namespace tenon::cpu {
namespace {

struct Pooled {
  std::vector<float> maxima, sums;
  std::vector<int64_t> indices;
};

Pooled PoolPlainly(const std::vector<float>& x, const PoolArgs& p) {
  Pooled pooled;
  for (int64_t oh = 0; oh < p.out_size[0]; ++oh) {
    for (int64_t ow = 0; ow < p.out_size[1]; ++ow) {
      float best = -std::numeric_limits<float>::infinity(), sum = 0;
      int64_t index = -1;
      for (int64_t kh = 0; kh < p.kernel[0]; ++kh) {
        for (int64_t kw = 0; kw < p.kernel[1]; ++kw) {
          const int64_t ih =
              oh * p.stride[0] - p.padding[0] + kh * p.dilation[0];
          const int64_t iw =
              ow * p.stride[1] - p.padding[1] + kw * p.dilation[1];
          if (ih < 0 || ih >= p.in_size[0] || iw < 0 || iw >= p.in_size[1]) {
            continue;
          }
          const int64_t at = ih * p.in_size[1] + iw;
          const float value = x[static_cast<size_t>(at)];
          if (index < 0) index = at;
          if (value > best || value != value) {
            best = value;
            index = at;
          }
          sum += value;
        }
      }
      pooled.maxima.push_back(best);
      pooled.sums.push_back(sum);
      pooled.indices.push_back(index);
    }
  }
  return pooled;
}

bool IsSame(float a, float b) { return a == b || (a != a && b != b); }

// Several planes side by side: the given one, or its negative.
void CheckChannelsLast(const Loops& loops, const PoolArgs& p,
                       const std::vector<float>& x, const Pooled& expected,
                       const std::string& what) {
  std::vector<float> negative(x);
  for (float& value : negative) value = -value;
  const Pooled other = PoolPlainly(negative, p);
  const auto count = static_cast<size_t>(p.out_plane());
  for (const size_t channels : {2u, 37u, 83u}) {
    std::vector<float> last(x.size() * channels);
    for (size_t i = 0; i < last.size(); ++i) {
      const size_t at = i / channels;
      last[i] = i % channels % 3 == 0 ? x[at] : negative[at];
    }
    std::vector<float> maxima(count * channels), sums(count * channels);
    const auto number = static_cast<int64_t>(channels);
    loops.max_pool_last(last.data(), maxima.data(), number, p);
    loops.sum_pool_last(last.data(), sums.data(), number, p);
    for (size_t i = 0; i < maxima.size(); ++i) {
      const size_t at = i / channels;
      const Pooled& plain = i % channels % 3 == 0 ? expected : other;
      ASSERT_TRUE(IsSame(maxima[i], plain.maxima[at])) << what << " at " << i;
      // Sums are taken row by row.
      const bool is_close = IsSame(sums[i], plain.sums[at]) ||
                            std::abs(sums[i] - plain.sums[at]) < 1e-5f;
      ASSERT_TRUE(is_close) << what << " at " << i;
    }
  }
}

void Check(const PoolArgs& p, const std::vector<float>& x) {
  const Pooled expected = PoolPlainly(x, p);
  const auto count = static_cast<size_t>(p.out_plane());
  for (const Loops* const* set = SupportedLoops(); *set != nullptr; ++set) {
    const std::string what =
        std::string((*set)->name) + ", input " + std::to_string(p.in_size[0]) +
        " x " + std::to_string(p.in_size[1]) + ", kernel " +
        std::to_string(p.kernel[0]) + " x " + std::to_string(p.kernel[1]) +
        ", stride " + std::to_string(p.stride[1]) + ", padding " +
        std::to_string(p.padding[1]) + ", dilation " +
        std::to_string(p.dilation[1]);
    std::vector<float> maxima(count), indexed_maxima(count), sums(count);
    std::vector<int64_t> indices(count, -7);
    (*set)->max_pool(x.data(), maxima.data(), nullptr, p);
    (*set)->max_pool(x.data(), indexed_maxima.data(), indices.data(), p);
    (*set)->sum_pool(x.data(), sums.data(), p);
    CheckChannelsLast(**set, p, x, expected, what);
    for (size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(IsSame(maxima[i], expected.maxima[i])) << what << " at " << i;
      ASSERT_TRUE(IsSame(indexed_maxima[i], expected.maxima[i]))
          << what << " at " << i;
      ASSERT_EQ(indices[i], expected.indices[i]) << what << " at " << i;
      ASSERT_TRUE(IsSame(sums[i], expected.sums[i])) << what << " at " << i;
    }
  }
}

TEST(CpuPoolTest, EveryGeometry) {
  RandomTensors random;
  for (const int64_t columns : {1, 2, 5, 9, 20, 37, 70}) {
    for (const int64_t kernel : {1, 2, 3, 5}) {
      for (const int64_t stride : {1, 2, 3}) {
        for (const int64_t dilation : {1, 2}) {
          for (const int64_t padding : {int64_t{0}, kernel / 2}) {
            PoolArgs p;
            const int64_t rows = 6;
            const int64_t in_size[] = {rows, columns};
            const int64_t kernels[] = {2, kernel};
            bool fits = true;
            for (int d = 0; d < 2; ++d) {
              p.in_size[d] = in_size[d];
              p.kernel[d] = kernels[d];
              p.stride[d] = stride;
              p.dilation[d] = d == 0 ? 1 : dilation;
              p.padding[d] = d == 0 ? padding / 2 : padding;
              const int64_t room = p.in_size[d] + 2 * p.padding[d] -
                                   (p.kernel[d] - 1) * p.dilation[d] - 1;
              fits = fits && room >= 0;
              p.out_size[d] = room / stride + 1;
            }
            // Every window has a tap in the input.
            if (!fits || columns < 2 * dilation) continue;
            const Tensor values = random.Floats({rows, columns});
            std::vector<float> x(values.data<float>(),
                                 values.data<float>() + values.numel());
            Check(p, x);
            // Ties, and what isn't a finite number.
            for (size_t i = 0; i < x.size(); ++i) {
              x[i] = std::round(x[i]);
              if (i % 11 == 3) x[i] = std::numeric_limits<float>::quiet_NaN();
              if (i % 7 == 1) x[i] = -std::numeric_limits<float>::infinity();
            }
            Check(p, x);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::cpu
