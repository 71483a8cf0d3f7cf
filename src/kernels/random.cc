#include "kernels/random.h"

#include <cmath>

#include "kernels/kernel.h"

namespace tenon {
namespace {

constexpr int kShift = 397;
constexpr uint32_t kUpperMask = 0x80000000u;
constexpr uint32_t kLowerMask = 0x7fffffffu;
constexpr uint32_t kMatrix = 0x9908b0dfu;

}  // namespace

void Generator::Seed(uint64_t seed) {
  // Only the low half counts, as in at::mt19937.
  state_[0] = static_cast<uint32_t>(seed);
  for (uint32_t i = 1; i < kWords; ++i) {
    const uint32_t last = state_[i - 1];
    state_[i] = 1812433253u * (last ^ (last >> 30)) + i;
  }
  next_ = kWords;
  next_normal_.reset();
}

void Generator::Twist() {
  for (int i = 0; i < kWords; ++i) {
    const size_t at = static_cast<size_t>(i);
    const uint32_t joined =
        (state_[at] & kUpperMask) |
        (state_[static_cast<size_t>((i + 1) % kWords)] & kLowerMask);
    state_[at] = state_[static_cast<size_t>((i + kShift) % kWords)] ^
                 (joined >> 1) ^ ((joined & 1) != 0 ? kMatrix : 0);
  }
  next_ = 0;
}

uint32_t Generator::Random() {
  if (next_ == kWords) Twist();
  uint32_t y = state_[static_cast<size_t>(next_++)];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

uint64_t Generator::Random64() {
  const uint64_t high = Random();
  return high << 32 | Random();
}

double Generator::Uniform() {
  return static_cast<double>(Random64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
}

double Generator::Uniform(int bits) {
  const uint32_t kept = Random() & ((1u << bits) - 1);
  return std::ldexp(static_cast<double>(kept), -bits);
}

double Generator::Normal() {
  if (next_normal_) {
    const double value = *next_normal_;
    next_normal_.reset();
    return value;
  }
  const double u1 = Uniform(), u2 = Uniform();
  const double radius = std::sqrt(-2.0 * std::log1p(-u2));
  const double angle = 2.0 * M_PI * u1;
  next_normal_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

uint64_t Generator::Below(uint64_t range) {
  return range >= uint64_t{1} << 28 ? Random64() % range : Random() % range;
}

Generator& GeneratorOf(KernelCall& call) {
  thread_local Generator fallback;
  return call.generator != nullptr ? *call.generator : fallback;
}

}  // namespace tenon
