#include "weights/tensor_stats.h"

#include <bit>
#include <cstring>
#include <memory>

#include "kernels/elements.h"
#include "tensor/row_major.h"
#include "weights/number_stats.h"

namespace tenon {
namespace {

// Elements that are converted and looked at before the next: they fit the
// first cache.
constexpr size_t kChunk = 2048;

// Takes blocks of elements; knows at the end.
class Collector {
 public:
  virtual ~Collector() = default;
  // Whole elements, aligned to nothing.
  virtual void Add(Bytes block) = 0;
  virtual void Finish(TensorStats* out) const = 0;
};

// Calls visit(Bytes) for pieces of at most kChunk elements.
template <typename Visit>
void ForEachChunk(Bytes block, size_t item_bytes, Visit&& visit) {
  while (!block.empty()) {
    const Bytes chunk =
        block.first(std::min(block.size(), kChunk * item_bytes));
    visit(chunk);
    block = block.subspan(chunk.size());
  }
}

template <typename T>
void Put(const NumberStats<T>& stats, TensorStats* out) {
  using Bound = std::conditional_t<
      std::is_floating_point_v<T>, double,
      std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
  out->num_finite = stats.count();
  out->num_zero = stats.num_zero();
  if (stats.count() == 0) return;
  out->min = static_cast<Bound>(stats.min());
  out->max = static_cast<Bound>(stats.max());
  out->mean = stats.mean();
  out->norm = stats.norm();
}

template <typename T>
class IntegerCollector : public Collector {
 public:
  void Add(Bytes block) override {
    ForEachChunk(block, sizeof(T), [&](Bytes chunk) {
      T values[kChunk];
      std::memcpy(values, chunk.data(), chunk.size());
      stats_.Add(values, chunk.size() / sizeof(T));
    });
  }
  void Finish(TensorStats* out) const override { Put(stats_, out); }

 private:
  NumberStats<T> stats_;
};

// Moves the finite ones of `values` to the front, counts the others, and
// returns how many are finite. Nearly always all of them are.
template <typename T>
size_t KeepFinite(T* values, size_t count, uint64_t* num_nan,
                  uint64_t* num_inf) {
  // The sum of x - x is 0 where all are finite, else NaN.
  constexpr size_t kLanes = 16;
  T sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t k = 0; k < kLanes; ++k) {
      sums[k] += values[i + k] - values[i + k];
    }
  }
  for (; i < count; ++i) sums[0] += values[i] - values[i];
  const bool all_finite =
      std::all_of(sums, sums + kLanes, [](T sum) { return sum == 0; });
  if (all_finite) return count;
  size_t kept = 0;
  for (i = 0; i < count; ++i) {
    const T value = values[i];
    if (std::isfinite(value)) {
      values[kept++] = value;
    } else {
      ++(std::isnan(value) ? *num_nan : *num_inf);
    }
  }
  return kept;
}

// To float, or as they are.
void Convert(const float* from, size_t count, float* to) {
  std::memcpy(to, from, count * sizeof(float));
}
void Convert(const double* from, size_t count, double* to) {
  std::memcpy(to, from, count * sizeof(double));
}
void Convert(const BFloat16* from, size_t count, float* to) {
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}
// Without branches, so that it can be done in vectors.
void Convert(const Float16* from, size_t count, float* to) {
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = from[i].bits;
    const uint32_t exponent = bits & 0x7c00;
    const auto mantissa = static_cast<int32_t>(bits & 0x3ff);
    const uint32_t subnormal =
        std::bit_cast<uint32_t>(static_cast<float>(mantissa) * 0x1p-24f);
    const uint32_t normal = ((bits & 0x7fff) << 13) + (112u << 23);
    const uint32_t special = 0x7f800000u | (bits & 0x3ff) << 13;
    const uint32_t magnitude = exponent == 0        ? subnormal
                               : exponent == 0x7c00 ? special
                                                    : normal;
    to[i] = std::bit_cast<float>(magnitude | (bits & 0x8000) << 16);
  }
}

// S as stored, C as computed with.
template <typename S, typename C>
class FloatingCollector : public Collector {
 public:
  void Add(Bytes block) override {
    ForEachChunk(block, sizeof(S), [&](Bytes chunk) {
      S stored[kChunk];
      C values[kChunk];
      std::memcpy(stored, chunk.data(), chunk.size());
      const size_t count = chunk.size() / sizeof(S);
      Convert(stored, count, values);
      stats_.Add(values, KeepFinite(values, count, &num_nan_, &num_inf_));
    });
  }
  void Finish(TensorStats* out) const override {
    Put(stats_, out);
    out->num_nan = num_nan_;
    out->num_inf = num_inf_;
  }

 private:
  NumberStats<C> stats_;
  uint64_t num_nan_ = 0, num_inf_ = 0;
};

// C is std::complex<float> or <double>.
template <typename C>
class ComplexCollector : public Collector {
 public:
  explicit ComplexCollector(DType dtype) : dtype_(dtype) {}

  void Add(Bytes block) override {
    ForEachChunk(block, SizeBytes(dtype_), [&](Bytes chunk) {
      alignas(C) std::byte stored[kChunk * sizeof(C)];
      C values[kChunk];
      std::memcpy(stored, chunk.data(), chunk.size());
      const size_t count = chunk.size() / SizeBytes(dtype_);
      LoadRun(dtype_, stored, 1, static_cast<int64_t>(count), values);
      AddValues(values, count);
    });
  }
  void Finish(TensorStats* out) const override {
    Put(magnitudes_, out);
    out->num_nan = num_nan_;
    out->num_inf = num_inf_;
    if (magnitudes_.count() == 0) return;
    out->mean = real_.mean();
    out->mean_imaginary = imaginary_.mean();
  }

 private:
  void AddValues(const C* values, size_t count) {
    double real[kChunk], imaginary[kChunk], magnitude[kChunk];
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
      const double re = values[i].real(), im = values[i].imag();
      if (std::isnan(re) || std::isnan(im)) {
        ++num_nan_;
      } else if (std::isinf(re) || std::isinf(im)) {
        ++num_inf_;
      } else {
        real[kept] = re;
        imaginary[kept] = im;
        magnitude[kept++] =
            std::min(std::hypot(re, im), std::numeric_limits<double>::max());
      }
    }
    real_.Add(real, kept);
    imaginary_.Add(imaginary, kept);
    magnitudes_.Add(magnitude, kept);
  }

  const DType dtype_;
  NumberStats<double> real_, imaginary_, magnitudes_;
  uint64_t num_nan_ = 0, num_inf_ = 0;
};

// Kinds of one byte: how often each of the 256 there is says all.
class ByteCollector : public Collector {
 public:
  explicit ByteCollector(DType dtype) : dtype_(dtype) {}

  // Four tables, so that runs of one value don't wait for each other.
  void Add(Bytes block) override {
    size_t i = 0;
    for (; i + 4 <= block.size(); i += 4) {
      for (size_t k = 0; k < 4; ++k) {
        ++counts_[k][static_cast<uint8_t>(block[i + k])];
      }
    }
    for (; i < block.size(); ++i) ++counts_[0][static_cast<uint8_t>(block[i])];
  }

  void Finish(TensorStats* out) const override {
    std::byte bits[256];
    double values[256];
    for (size_t i = 0; i < 256; ++i) bits[i] = static_cast<std::byte>(i);
    LoadRun(dtype_, bits, 1, 256, values);
    double min = 0, max = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < 256; ++i) {
      const uint64_t count =
          counts_[0][i] + counts_[1][i] + counts_[2][i] + counts_[3][i];
      if (count == 0) continue;
      const double value = values[i];
      if (std::isnan(value)) {
        out->num_nan += count;
        continue;
      }
      if (std::isinf(value)) {
        out->num_inf += count;
        continue;
      }
      min = out->num_finite == 0 ? value : std::min(min, value);
      max = out->num_finite == 0 ? value : std::max(max, value);
      out->num_finite += count;
      if (value == 0) out->num_zero += count;
      sum += value * static_cast<double>(count);
      squares += value * value * static_cast<double>(count);
    }
    if (out->num_finite == 0) return;
    out->min = Bound(min);
    out->max = Bound(max);
    out->mean = sum / static_cast<double>(out->num_finite);
    out->norm = std::sqrt(squares);
  }

 private:
  StatsBound Bound(double value) const {
    if (IsFloating(dtype_)) return value;
    if (IsSigned(dtype_)) return static_cast<int64_t>(value);
    return static_cast<uint64_t>(value);
  }

  const DType dtype_;
  uint64_t counts_[4][256] = {};
};

std::unique_ptr<Collector> CollectorOf(DType dtype) {
  switch (dtype) {
    case DType::kUnknown:
    case DType::kBool:
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E5M2:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat8E8M0FNU:
      return std::make_unique<ByteCollector>(dtype);
    case DType::kInt16:
      return std::make_unique<IntegerCollector<int16_t>>();
    case DType::kUInt16:
      return std::make_unique<IntegerCollector<uint16_t>>();
    case DType::kInt32:
      return std::make_unique<IntegerCollector<int32_t>>();
    case DType::kUInt32:
      return std::make_unique<IntegerCollector<uint32_t>>();
    case DType::kInt64:
      return std::make_unique<IntegerCollector<int64_t>>();
    case DType::kUInt64:
      return std::make_unique<IntegerCollector<uint64_t>>();
    case DType::kFloat16:
      return std::make_unique<FloatingCollector<Float16, float>>();
    case DType::kBFloat16:
      return std::make_unique<FloatingCollector<BFloat16, float>>();
    case DType::kFloat32:
      return std::make_unique<FloatingCollector<float, float>>();
    case DType::kFloat64:
      return std::make_unique<FloatingCollector<double, double>>();
    case DType::kComplex32:
    case DType::kComplex64:
      return std::make_unique<ComplexCollector<std::complex<float>>>(dtype);
    case DType::kComplex128:
      return std::make_unique<ComplexCollector<std::complex<double>>>(dtype);
  }
  return nullptr;
}

}  // namespace

TensorStats ComputeStats(const Tensor& tensor) {
  TensorStats stats;
  stats.num_elements = static_cast<uint64_t>(tensor.numel());
  const std::unique_ptr<Collector> collector = CollectorOf(tensor.dtype());
  VisitRowMajor(tensor, [&](Bytes block) {
    collector->Add(block);
    return true;
  });
  collector->Finish(&stats);
  return stats;
}

}  // namespace tenon
