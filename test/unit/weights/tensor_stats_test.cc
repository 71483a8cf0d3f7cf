#include "weights/tensor_stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <random>

#include "kernels/elements.h"

namespace tenon {
namespace {

constexpr DType kDTypes[] = {
#define TENON_DTYPE(name, text, short_text, code, bytes) DType::name,
#include "ir/kinds.def"
};

// Random bits, every NaN and infinity of small kinds among them.
Tensor RandomBits(DType dtype, Sizes sizes, uint32_t seed) {
  Tensor tensor = Tensor::Zeros(dtype, std::move(sizes));
  std::mt19937 random(seed);
  const size_t size =
      static_cast<size_t>(tensor.numel()) * SizeBytes(tensor.dtype());
  for (size_t i = 0; i < size; ++i) {
    tensor.mutable_raw()[i] = static_cast<std::byte>(random());
  }
  return tensor;
}

// The definition, one element after the other.
struct Expectation {
  uint64_t finite = 0, zero = 0, nan = 0, inf = 0;
  long double min = INFINITY, max = -INFINITY, norm = 0;
  std::complex<long double> sum = 0;

  void Add(std::complex<double> value) {
    const double re = value.real(), im = value.imag();
    if (std::isnan(re) || std::isnan(im)) {
      ++nan;
      return;
    }
    if (std::isinf(re) || std::isinf(im)) {
      ++inf;
      return;
    }
    ++finite;
    zero += re == 0 && im == 0;
    const std::complex<long double> wide(re, im);
    sum += wide;
    norm += std::norm(wide);
  }
  void AddBound(long double value) {
    min = std::min(min, value);
    max = std::max(max, value);
  }
};

long double Value(const StatsBound& bound) {
  return std::visit([](auto v) { return static_cast<long double>(v); }, bound);
}

Expectation Expect(const Tensor& tensor) {
  Expectation out;
  const auto values = ReadAll<std::complex<double>>(tensor);
  for (const std::complex<double>& value : values) {
    const uint64_t before = out.finite;
    out.Add(value);
    if (out.finite == before) continue;
    if (IsComplex(tensor.dtype())) {
      out.AddBound(std::hypot(value.real(), value.imag()));
    } else if (IsFloating(tensor.dtype())) {
      out.AddBound(value.real());
    }
  }
  if (IsFloating(tensor.dtype()) || IsComplex(tensor.dtype())) return out;
  if (tensor.dtype() == DType::kUInt64) {
    for (const uint64_t v : ReadAll<uint64_t>(tensor)) out.AddBound(v);
  } else {
    for (const int64_t v : ReadAll<int64_t>(tensor)) out.AddBound(v);
  }
  return out;
}

void Compare(const Tensor& tensor, const std::string& what) {
  const TensorStats stats = ComputeStats(tensor);
  const Expectation expected = Expect(tensor);
  EXPECT_EQ(stats.num_elements, static_cast<uint64_t>(tensor.numel())) << what;
  EXPECT_EQ(stats.num_finite, expected.finite) << what;
  EXPECT_EQ(stats.num_zero, expected.zero) << what;
  EXPECT_EQ(stats.num_nan, expected.nan) << what;
  EXPECT_EQ(stats.num_inf, expected.inf) << what;
  if (expected.finite == 0) return;
  EXPECT_EQ(Value(stats.min), expected.min) << what;
  EXPECT_EQ(Value(stats.max), expected.max) << what;
  const auto near = [&](double found, long double wanted, long double unit) {
    // A norm can be more than any double.
    if (std::abs(wanted) > std::numeric_limits<double>::max()) {
      EXPECT_TRUE(std::isinf(found)) << what;
      return;
    }
    EXPECT_LE(std::abs(found - wanted), 1e-10L * unit) << what;
  };
  const long double norm = std::sqrt(expected.norm);
  const auto count = static_cast<long double>(expected.finite);
  near(stats.norm, norm, norm);
  near(stats.mean, expected.sum.real() / count, norm);
  near(stats.mean_imaginary, expected.sum.imag() / count, norm);
}

TEST(TensorStatsTest, EveryDTypeOnRandomBits) {
  for (const DType dtype : kDTypes) {
    if (dtype == DType::kUnknown) continue;
    for (const int64_t size : {0, 1, 15, 16, 17, 2047, 2048, 2049, 300007}) {
      const std::string what =
          std::string(Name(dtype)) + " " + std::to_string(size);
      Compare(RandomBits(dtype, {size}, static_cast<uint32_t>(size)), what);
    }
  }
}

TEST(TensorStatsTest, StridedTensors) {
  for (const DType dtype : kDTypes) {
    if (dtype == DType::kUnknown) continue;
    const Tensor base = RandomBits(dtype, {40, 50}, 7);
    Compare(base.View({50, 40}, {1, 50}, 0), std::string(Name(dtype)));
    Compare(base.View({3, 5}, {0, 7}, 11), std::string(Name(dtype)));
  }
}

TEST(TensorStatsTest, UnalignedElements) {
  for (const DType dtype : kDTypes) {
    if (dtype == DType::kUnknown) continue;
    const size_t item = SizeBytes(dtype);
    const Tensor aligned = RandomBits(dtype, {1000}, 3);
    std::vector<std::byte> shifted(1000 * item + 1);
    std::memcpy(shifted.data() + 1, aligned.raw(), 1000 * item);
    const Tensor tensor(
        Storage::BorrowConst(Bytes(shifted).subspan(1), nullptr), dtype, {1000},
        {1}, 0);
    const TensorStats a = ComputeStats(aligned), b = ComputeStats(tensor);
    EXPECT_EQ(a.norm, b.norm);
    EXPECT_EQ(a.num_zero, b.num_zero);
  }
}

// Every float16, subnormals included.
TEST(TensorStatsTest, AllHalves) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    Tensor tensor = Tensor::Zeros(dtype, {65536});
    for (uint32_t i = 0; i < 65536; ++i) {
      tensor.mutable_data<uint16_t>()[i] = static_cast<uint16_t>(i);
    }
    Compare(tensor, std::string(Name(dtype)));
    // One by one: a range of one element is the element.
    for (uint32_t i = 0; i < 65536; i += 37) {
      Compare(tensor.View({1}, {1}, i), std::to_string(i));
    }
  }
}

Tensor Doubles(const std::vector<double>& values) {
  Tensor tensor =
      Tensor::Zeros(DType::kFloat64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.mutable_data<double>());
  return tensor;
}

TEST(TensorStatsTest, LargeAndSmallDoublesKeepTheirNorm) {
  const double huge = 1.5e308, tiny = 5e-324;
  EXPECT_DOUBLE_EQ(ComputeStats(Doubles({huge / 4, huge / 4})).norm,
                   huge / 4 * std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(ComputeStats(Doubles({huge, huge, -huge})).mean, huge / 3);
  EXPECT_EQ(ComputeStats(Doubles({3 * tiny, 4 * tiny})).norm, 5 * tiny);
  // The unit of a block of zeros, and of tiny ones, gives way to a later one's.
  std::vector<double> mixed(2048, 0.0);
  mixed.resize(4096, tiny);
  mixed.push_back(3.0);
  mixed.push_back(4.0);
  EXPECT_DOUBLE_EQ(ComputeStats(Doubles(mixed)).norm, 5.0);
  mixed.push_back(huge);
  EXPECT_DOUBLE_EQ(ComputeStats(Doubles(mixed)).norm, huge);
}

TEST(TensorStatsTest, BoundsOfIntegersAreExact) {
  Tensor tensor = Tensor::Zeros(DType::kInt64, {2});
  tensor.mutable_data<int64_t>()[0] = INT64_MIN;
  tensor.mutable_data<int64_t>()[1] = INT64_MAX;
  const TensorStats stats = ComputeStats(tensor);
  EXPECT_EQ(std::get<int64_t>(stats.min), INT64_MIN);
  EXPECT_EQ(std::get<int64_t>(stats.max), INT64_MAX);
  Tensor wide = Tensor::Zeros(DType::kUInt64, {1});
  wide.mutable_data<uint64_t>()[0] = UINT64_MAX;
  EXPECT_EQ(std::get<uint64_t>(ComputeStats(wide).min), UINT64_MAX);
}

}  // namespace
}  // namespace tenon
