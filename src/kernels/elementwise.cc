#include "kernels/elementwise.h"

#include <algorithm>
#include <array>

#include "kernels/broadcast.h"
#include "kernels/elements.h"
#include "tensor/strided_loop.h"

namespace tenon {
namespace {

constexpr int64_t kChunk = 512;

bool Refused(DType dtype, unsigned flags) {
  if (dtype == DType::kBool) return (flags & kNoBool) != 0;
  if (IsIntegral(dtype)) return (flags & kNoInteger) != 0;
  if (IsComplex(dtype)) return (flags & kNoComplex) != 0;
  return (flags & kNoFloat) != 0;
}

DType ResultDType(DType common, const ElementwiseTraits& traits) {
  if (traits.result != DType::kUnknown) return traits.result;
  if ((traits.flags & kBoolResult) != 0) return DType::kBool;
  return (traits.flags & kRealResult) != 0 ? RealDType(common) : common;
}

// The dtype that one operand is cast to.
DType InputDType(const Operand& operand, DType common, unsigned flags) {
  const bool narrow = IsFloating(common) && SizeBytes(common) < 4;
  const bool exact = (flags & kExactNumbers) != 0 && operand.is_number;
  return narrow && exact ? DType::kFloat32 : common;
}

}  // namespace

bool PlanElementwise(KernelCall& call, const std::vector<Operand>& operands,
                     const ElementwiseTraits& traits, ElementwisePlan* plan) {
  plan->common =
      traits.common != DType::kUnknown ? traits.common : ResultType(operands);
  if (plan->common == DType::kUnknown) {
    return call.Fail("the operands' dtypes don't promote to a common one");
  }
  if (Refused(plan->common, traits.flags)) {
    return call.Fail("not defined for " + std::string(Name(plan->common)));
  }
  if ((traits.flags & kIntToFloat) != 0) {
    plan->common = IntToFloat(plan->common);
  }
  std::vector<Tensor> tensors;
  for (const Operand& operand : operands) tensors.push_back(operand.tensor);
  Sizes sizes;
  if (!BroadcastSizes(tensors, &sizes)) {
    std::string text;
    for (const Tensor& t : tensors) text += " " + ToText(t.sizes());
    return call.Fail("sizes don't broadcast:" + text);
  }
  if ((traits.flags & kNumbersDontShape) != 0) {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].is_number) tensors[i] = Tensor();
    }
  }
  if (!Allocate(call, ResultDType(plan->common, traits), sizes,
                ResultStrides(sizes, tensors), &plan->out)) {
    return false;
  }
  for (const Operand& operand : operands) {
    const Tensor input =
        Cast(operand.tensor, InputDType(operand, plan->common, traits.flags));
    if (!input.defined()) return call.Fail("no memory to promote an operand");
    plan->inputs.push_back(ExpandTo(input, sizes));
  }
  return true;
}

template <typename In, typename Out>
void ElementwiseLoop(
    ElementwisePlan* plan,
    const std::function<void(const In* const*, Out*, int64_t)>& run) {
  constexpr size_t kMaxInputs = 5;
  const size_t arity = std::min(plan->inputs.size(), kMaxInputs);
  if (plan->out.numel() == 0) return;
  std::vector<Sizes> strides = {plan->out.strides()};
  for (const Tensor& input : plan->inputs) strides.push_back(input.strides());
  std::array<std::vector<In>, kMaxInputs> buffers;
  std::array<const In*, kMaxInputs> pointers{};
  for (size_t k = 0; k < arity; ++k) {
    buffers[k].resize(kChunk);
    pointers[k] = buffers[k].data();
  }
  std::vector<Out> results(kChunk);
  std::byte* out = plan->out.mutable_raw();
  const int64_t out_bytes = static_cast<int64_t>(SizeBytes(plan->out.dtype()));
  StridedLoop loop(plan->out.sizes(), std::move(strides),
                   StridedLoop::Order::kAny);
  while (loop.Next()) {
    for (int64_t at = 0; at < loop.run(); at += kChunk) {
      const int64_t count = std::min(kChunk, loop.run() - at);
      for (size_t k = 0; k < arity; ++k) {
        const Tensor& input = plan->inputs[k];
        const int64_t position = loop.offset(k + 1) + at * loop.step(k + 1);
        LoadRun(input.dtype(),
                input.raw() +
                    position * static_cast<int64_t>(SizeBytes(input.dtype())),
                loop.step(k + 1), count, buffers[k].data());
      }
      run(pointers.data(), results.data(), count);
      StoreRun(plan->out.dtype(),
               out + (loop.offset(0) + at * loop.step(0)) * out_bytes,
               loop.step(0), count, results.data());
    }
  }
}

#define TENON_INSTANTIATE(In, Out)        \
  template void ElementwiseLoop<In, Out>( \
      ElementwisePlan*,                   \
      const std::function<void(const In* const*, Out*, int64_t)>&);
TENON_INSTANTIATE(int64_t, int64_t)
TENON_INSTANTIATE(uint64_t, uint64_t)
TENON_INSTANTIATE(uint64_t, int64_t)
TENON_INSTANTIATE(float, float)
TENON_INSTANTIATE(float, int64_t)
TENON_INSTANTIATE(double, double)
TENON_INSTANTIATE(double, int64_t)
TENON_INSTANTIATE(std::complex<float>, std::complex<float>)
TENON_INSTANTIATE(std::complex<float>, float)
TENON_INSTANTIATE(std::complex<float>, int64_t)
TENON_INSTANTIATE(std::complex<double>, std::complex<double>)
TENON_INSTANTIATE(std::complex<double>, double)
TENON_INSTANTIATE(std::complex<double>, int64_t)
#undef TENON_INSTANTIATE

}  // namespace tenon
