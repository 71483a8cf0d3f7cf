// Bitwise operators, shifts, gcd and lcm.
#include "kernels/arithmetic.h"
#include "kernels/elements.h"
#include "kernels/elementwise.h"
#include "kernels/pointwise.h"

namespace tenon {
namespace {

constexpr auto kAnd = [](auto a, auto b) { return a & b; };
constexpr auto kOr = [](auto a, auto b) { return a | b; };
constexpr auto kXor = [](auto a, auto b) { return a ^ b; };

uint64_t Magnitude(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value)
                   : static_cast<uint64_t>(value);
}
uint64_t Magnitude(uint64_t value) { return value; }

template <typename T>
T Gcd(T a, T b) {
  uint64_t x = Magnitude(a), y = Magnitude(b);
  while (x != 0) {
    const uint64_t rest = y % x;
    y = x;
    x = rest;
  }
  return static_cast<T>(y);
}

constexpr auto kGcd = [](auto a, auto b) { return Gcd(a, b); };
constexpr auto kLcm = [](auto a, auto b) {
  using T = decltype(a);
  const T gcd = Gcd(a, b);
  if (gcd == 0) return T(0);
  return static_cast<T>(Magnitude(Mul(static_cast<T>(a / gcd), b)));
};

bool BitwiseNot(KernelCall& call) {
  ElementwisePlan plan;
  if (!PlanElementwise(call, {OperandOf(call, 0)}, kBitsOnly, &plan)) {
    return false;
  }
  const bool is_bool = plan.common == DType::kBool;
  RunElementwise<kBitsOnly, 1>(&plan, [is_bool](auto x) {
    using T = decltype(x);
    return is_bool ? static_cast<T>(x == T(0)) : static_cast<T>(~x);
  });
  call.Return(plan.out);
  return true;
}

// A shift by a negative amount or by all bits leaves nothing, or the sign.
template <bool kLeft>
bool Shift(KernelCall& call) {
  ElementwisePlan plan;
  if (!PlanElementwise(call, {OperandOf(call, 0), OperandOf(call, 1)},
                       kIntegersOnly, &plan)) {
    return false;
  }
  const uint64_t bits = SizeBytes(plan.common) * 8;
  RunElementwise<kIntegersOnly, 2>(&plan, [bits](auto a, auto b) {
    using T = decltype(a);
    const uint64_t amount = static_cast<uint64_t>(b);
    if (amount >= bits) return kLeft || !(a < T(0)) ? T(0) : static_cast<T>(-1);
    return kLeft ? static_cast<T>(static_cast<uint64_t>(a) << amount)
                 : static_cast<T>(a >> amount);
  });
  call.Return(plan.out);
  return true;
}

template <const auto& kFunction>
constexpr Kernel kBitwise = Elementwise<kFunction, 2, kBitsOnly>;

constexpr KernelEntry kEntries[] = {
    {"aten.bitwise_and.Tensor", kBitwise<kAnd>},
    {"aten.bitwise_and.Scalar", kBitwise<kAnd>},
    {"aten.bitwise_and.Scalar_Tensor", kBitwise<kAnd>},
    {"aten.__and__.Tensor", kBitwise<kAnd>},
    {"aten.__and__.Scalar", kBitwise<kAnd>},
    {"aten.bitwise_or.Tensor", kBitwise<kOr>},
    {"aten.bitwise_or.Scalar", kBitwise<kOr>},
    {"aten.bitwise_or.Scalar_Tensor", kBitwise<kOr>},
    {"aten.__or__.Tensor", kBitwise<kOr>},
    {"aten.__or__.Scalar", kBitwise<kOr>},
    {"aten.bitwise_xor.Tensor", kBitwise<kXor>},
    {"aten.bitwise_xor.Scalar", kBitwise<kXor>},
    {"aten.bitwise_xor.Scalar_Tensor", kBitwise<kXor>},
    {"aten.__xor__.Tensor", kBitwise<kXor>},
    {"aten.__xor__.Scalar", kBitwise<kXor>},
    {"aten.bitwise_not.default", BitwiseNot},
    {"prims.bitwise_not.default", BitwiseNot},
    {"aten.bitwise_left_shift.Tensor", Shift<true>},
    {"aten.bitwise_left_shift.Tensor_Scalar", Shift<true>},
    {"aten.bitwise_left_shift.Scalar_Tensor", Shift<true>},
    {"aten.__lshift__.Tensor", Shift<true>},
    {"aten.__lshift__.Scalar", Shift<true>},
    {"aten.bitwise_right_shift.Tensor", Shift<false>},
    {"aten.bitwise_right_shift.Tensor_Scalar", Shift<false>},
    {"aten.bitwise_right_shift.Scalar_Tensor", Shift<false>},
    {"aten.__rshift__.Tensor", Shift<false>},
    {"aten.__rshift__.Scalar", Shift<false>},
    {"aten.gcd.default", Elementwise<kGcd, 2, kIntegersOnly>},
    {"aten.lcm.default", Elementwise<kLcm, 2, kIntegersOnly>},
};

}  // namespace

std::span<const KernelEntry> BitwiseKernels() { return kEntries; }

}  // namespace tenon
