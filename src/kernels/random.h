// PyTorch's CPU random stream: the Mersenne Twister of at::CPUGeneratorImpl
// and the distributions that draw from it, so that the same seed gives the
// same tensors (where PyTorch itself doesn't hand over to MKL).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace tenon {

class KernelCall;

class Generator {
 public:
  // PyTorch's seed when nobody set one.
  static constexpr uint64_t kDefaultSeed = 67280421310721;

  explicit Generator(uint64_t seed = kDefaultSeed) { Seed(seed); }
  void Seed(uint64_t seed);

  uint32_t Random();    // 32 bits
  uint64_t Random64();  // two draws, the first one on top

  // [0, 1) with as many bits as a mantissa has: 53 from a 64-bit draw, or
  // `bits` (24 for float32, 11 for float16, 8 for bfloat16) from a 32-bit one.
  double Uniform();
  double Uniform(int bits);
  // Standard normal; every second value comes from the pair before.
  double Normal();
  // [0, range), range > 0.
  uint64_t Below(uint64_t range);

 private:
  static constexpr int kWords = 624;

  void Twist();

  std::array<uint32_t, kWords> state_{};
  int next_ = 0;
  std::optional<double> next_normal_;
};

// The call's generator, or the thread's default one.
Generator& GeneratorOf(KernelCall& call);

}  // namespace tenon
