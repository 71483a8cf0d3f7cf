// The frame of elementwise operators: promote, broadcast, allocate, loop.
//
// An operator is a function of elements and a set of traits; `Elementwise`
// makes a kernel of the two:
//
//   constexpr auto kAtan2 = [](auto y, auto x) { return std::atan2(y, x); };
//   {"aten.atan2.default", Elementwise<kAtan2, 2, kIntToFloat | kNoComplex>},
//
// Elements arrive in a compute type of dispatch.h; what the function returns
// is cast to the result's dtype. Operators with parameters plan and run by
// themselves:
//
//   ElementwisePlan plan;
//   if (!PlanElementwise(call, {OperandOf(call, 0)}, traits, &plan)) ...
//   RunElementwise<kFloating>(&plan, [slope](auto x) { ... });
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/kernel.h"
#include "kernels/promotion.h"

namespace tenon {

// Traits of an elementwise operator.
enum : unsigned {
  kAnyDType = 0,
  // Promoted dtypes that the operator refuses.
  kNoBool = 1,
  kNoInteger = 2,
  kNoFloat = 4,
  kNoComplex = 8,
  kIntegersOnly = kNoBool | kNoFloat | kNoComplex,
  kBitsOnly = kNoFloat | kNoComplex,
  kFloatsOnly = kNoBool | kNoInteger | kNoComplex,
  // Integers and bool are computed in the default dtype.
  kIntToFloat = 16,
  // The result is bool, or for complex operands real.
  kBoolResult = 32,
  kRealResult = 64,
  // Python numbers beside float16 and bfloat16 aren't rounded to those.
  kExactNumbers = 128,
  // Python numbers are parameters: they have no say in the result's strides.
  kNumbersDontShape = 256,
};

struct ElementwisePlan {
  DType common = DType::kUnknown;  // what inputs are cast to
  std::vector<Tensor> inputs;      // expanded to the result's sizes
  Tensor out;
};

// Traits, and dtypes that an operator sets by itself.
struct ElementwiseTraits {
  ElementwiseTraits(unsigned f) : flags(f) {}  // NOLINT: implicit on purpose
  unsigned flags;
  DType common = DType::kUnknown;  // kUnknown = by promotion
  DType result = DType::kUnknown;  // kUnknown = by traits
};

bool PlanElementwise(KernelCall& call, const std::vector<Operand>& operands,
                     const ElementwiseTraits& traits, ElementwisePlan* plan);

// Calls `run` for stretches of up to 512 elements.
template <typename In, typename Out>
void ElementwiseLoop(
    ElementwisePlan* plan,
    const std::function<void(const In* const*, Out*, int64_t)>& run);

namespace internal {

template <typename In, size_t... kIndex, typename F>
void RunTyped(ElementwisePlan* plan, F f, std::index_sequence<kIndex...>) {
  using Result = decltype(f((static_cast<void>(kIndex), In())...));
  using Out = std::conditional_t<std::is_same_v<Result, bool>, int64_t, Result>;
  ElementwiseLoop<In, Out>(plan,
                           [&f](const In* const* in, Out* out, int64_t count) {
                             for (int64_t i = 0; i < count; ++i) {
                               out[i] = static_cast<Out>(f(in[kIndex][i]...));
                             }
                           });
}

}  // namespace internal

// Dispatches over the compute types that `kFlags` allow; the plan was made
// with the same flags.
template <unsigned kFlags, size_t kArity, typename F>
void RunElementwise(ElementwisePlan* plan, F f) {
  DispatchCompute(plan->common, [&](auto tag) {
    using C = typename decltype(tag)::type;
    constexpr bool refused = (kIsComplex<C> && (kFlags & kNoComplex) != 0) ||
                             (kIsReal<C> && (kFlags & kNoFloat) != 0) ||
                             (kIsInteger<C> && (kFlags & kIntToFloat) != 0) ||
                             (kIsInteger<C> && (kFlags & kNoBool) != 0 &&
                              (kFlags & kNoInteger) != 0);
    if constexpr (!refused) {
      internal::RunTyped<C>(plan, f, std::make_index_sequence<kArity>());
    }
  });
}

// The kernel of an operator whose first kArity arguments are its operands.
template <const auto& kFunction, size_t kArity, unsigned kFlags>
bool Elementwise(KernelCall& call) {
  std::vector<Operand> operands;
  for (size_t i = 0; i < kArity; ++i) operands.push_back(OperandOf(call, i));
  ElementwisePlan plan;
  if (!PlanElementwise(call, operands, kFlags, &plan)) return false;
  RunElementwise<kFlags, kArity>(&plan, kFunction);
  call.Return(plan.out);
  return true;
}

}  // namespace tenon
