// Accumulates statistics of numbers of one C++ type, block by block.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tenon {

// T is float, double or an integer type. Numbers must be finite. All loops run
// over kLanes accumulators side by side, so that compilers can use vectors
// without changing the order of any sum.
//
// Sums are kept in units of a power of two: 1, but for doubles so large or
// small that their squares would overflow or vanish.
template <typename T>
class NumberStats {
 public:
  void Add(const T* values, size_t count) {
    if (count == 0) return;
    if constexpr (std::is_same_v<T, double>) {
      WidenUnit(UnitOf(Largest(values, count)));
      AddLanes(values, count, unit_ == 0 ? 1 : 1 / unit_);
    } else {
      AddLanes(values, count, 1);
    }
    count_ += count;
  }

  uint64_t count() const { return count_; }
  uint64_t num_zero() const { return num_zero_; }
  // Of count() > 0.
  T min() const { return min_; }
  T max() const { return max_; }
  double mean() const { return sum_ / static_cast<double>(count_) * unit_; }
  // The root of the sum of squares.
  double norm() const { return std::sqrt(squares_) * unit_; }

 private:
  static constexpr size_t kLanes = 16;
  // Doubles up to 2^±kPlainExponent are squared as they are.
  static constexpr int kPlainExponent = 400;
  static constexpr int kLowestExponent = -1000;  // whose inverse is finite

  struct Lanes {
    std::array<T, kLanes> min, max;
    std::array<double, kLanes> sum{}, squares{};
    // As wide as a number, so that vectors count along.
    std::array<std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>, kLanes>
        zeros{};

    void Add(size_t lane, T value, double inverse) {
      const double number = static_cast<double>(value) * inverse;
      min[lane] = value < min[lane] ? value : min[lane];
      max[lane] = value > max[lane] ? value : max[lane];
      sum[lane] += number;
      squares[lane] += number * number;
      zeros[lane] += value == 0 ? 1 : 0;
    }
  };

  void AddLanes(const T* values, size_t count, double inverse) {
    Lanes lanes;
    lanes.min.fill(min_);
    lanes.max.fill(max_);
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (size_t k = 0; k < kLanes; ++k) lanes.Add(k, values[i + k], inverse);
    }
    for (size_t k = 0; i < count; ++i, ++k) lanes.Add(k, values[i], inverse);
    for (size_t k = 0; k < kLanes; ++k) {
      min_ = std::min(min_, lanes.min[k]);
      max_ = std::max(max_, lanes.max[k]);
      sum_ += lanes.sum[k];
      squares_ += lanes.squares[k];
      num_zero_ += lanes.zeros[k];
    }
  }

  static T Largest(const T* values, size_t count) {
    std::array<T, kLanes> largest{};
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (size_t k = 0; k < kLanes; ++k) {
        const T magnitude = std::abs(values[i + k]);
        largest[k] = magnitude > largest[k] ? magnitude : largest[k];
      }
    }
    for (; i < count; ++i)
      largest[0] = std::max(largest[0], std::abs(values[i]));
    return *std::max_element(largest.begin(), largest.end());
  }

  // 0 for a block of zeros, which suits any unit.
  static double UnitOf(double largest) {
    if (largest == 0) return 0;
    const int exponent = std::ilogb(largest);
    if (std::abs(exponent) <= kPlainExponent) return 1;
    return std::ldexp(1.0, std::max(exponent, kLowestExponent));
  }

  void WidenUnit(double unit) {
    if (unit <= unit_) return;
    const double ratio = unit_ / unit;
    sum_ *= ratio;
    squares_ *= ratio * ratio;
    unit_ = unit;
  }

  uint64_t count_ = 0, num_zero_ = 0;
  T min_ = std::numeric_limits<T>::max();
  T max_ = std::numeric_limits<T>::lowest();
  // The largest unit that a block wanted; 0 before any did.
  double unit_ = std::is_same_v<T, double> ? 0 : 1;
  double sum_ = 0, squares_ = 0;
};

}  // namespace tenon
