// Dropout. Outside of training it gives its input back; in training the mask
// comes from aten.bernoulli_, which draws as PyTorch's CPU generator does.
#include <cmath>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

bool CheckProbability(KernelCall& call, double p) {
  if (p >= 0 && p <= 1) return true;
  return call.Fail("dropout probability has to be between 0 and 1, but got " +
                   std::to_string(p));
}

// Which elements stay: one value each, or one per sample and channel.
bool Noise(KernelCall& call, const Tensor& input, double p, bool per_feature,
           Tensor* out) {
  Sizes sizes = input.sizes();
  Sizes strides = LikeStrides(input);
  if (per_feature) {
    if (input.dim() < 2) {
      return call.Fail("feature dropout needs at least 2 dimensions");
    }
    for (size_t d = 2; d < sizes.size(); ++d) sizes[d] = 1;
    strides = ContiguousStrides(sizes);
  }
  Tensor noise;
  return Allocate(call, input.dtype(), sizes, strides, &noise) &&
         CallKernel(call, "aten.bernoulli_.float", {noise, 1 - p}, out);
}

// input · noise / (1 − p); with `alpha`, dropped elements become the negative
// saturation of selu instead, and the result is scaled to keep mean and
// variance.
bool Drop(KernelCall& call, bool per_feature, bool alpha, Tensor* out) {
  const Tensor& input = call.tensor(0);
  const double p = call.Float(1);
  const bool train = call.Bool(2);
  *out = input;
  if (!CheckProbability(call, p)) return false;
  if (p == 0 || !train || input.numel() == 0) return true;
  if (p == 1) {
    Tensor zeros;
    return AllocateZeros(call, input.dtype(), {}, &zeros) &&
           CallKernel(call, "aten.mul.Tensor", {input, zeros}, out);
  }
  Tensor noise, factor, shift;
  if (!Noise(call, input, p, per_feature, &noise)) return false;
  if (!alpha) {
    return CallKernel(call, "aten.div.Scalar", {noise, 1 - p}, &factor) &&
           CallKernel(call, "aten.mul.Tensor", {input, factor}, out);
  }
  constexpr double kAlpha = 1.7580993408473766;
  const double a = 1.0 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  Tensor minus_one, dropped;
  return CallKernel(call, "aten.sub.Scalar", {noise, int64_t{1}}, &minus_one) &&
         CallKernel(call, "aten.mul.Scalar", {minus_one, kAlpha * a},
                    &dropped) &&
         CallKernel(call, "aten.add.Scalar", {dropped, kAlpha * a * p},
                    &shift) &&
         CallKernel(call, "aten.mul.Scalar", {noise, a}, &factor) &&
         CallKernel(call, "aten.mul.Tensor", {input, factor}, &dropped) &&
         CallKernel(call, "aten.add.Tensor", {dropped, shift}, out);
}

template <bool kPerFeature, bool kAlpha>
bool Dropout(KernelCall& call) {
  Tensor out;
  if (!Drop(call, kPerFeature, kAlpha, &out)) return false;
  call.Return(out);
  return true;
}

template <bool kPerFeature, bool kAlpha>
bool DropoutInPlace(KernelCall& call) {
  Tensor self = call.tensor(0), out;
  if (!Drop(call, kPerFeature, kAlpha, &out)) return false;
  if (!out.SharesStorage(self)) {
    if (!PrepareWrite(call, self)) return false;
    CopyCast(&self, out);
  }
  call.Return(self);
  return true;
}

// Returns the mask too.
bool NativeDropout(KernelCall& call) {
  const Tensor& input = call.tensor(0);
  const double p = call.Float(1);
  const bool train = call.is_none(2) || call.Bool(2);
  if (input.numel() == 0) {
    Tensor mask;
    if (!Allocate(call, input.dtype(), input.sizes(), LikeStrides(input),
                  &mask)) {
      return false;
    }
    call.Return(input);
    call.Return(mask);
    return true;
  }
  Tensor mask;
  if (!Allocate(call, DType::kBool, input.sizes(), LikeStrides(input), &mask)) {
    return false;
  }
  if (!train) {
    Fill<int64_t>(&mask, 1);
    Tensor copy = input.Clone();
    if (!copy.defined()) return call.Fail("native_dropout: out of memory");
    call.Return(copy);
    call.Return(mask);
    return true;
  }
  if (!CheckProbability(call, p)) return false;
  Tensor drawn, out;
  if (p == 1) {
    Fill<int64_t>(&mask, 0);
    drawn = mask;
  } else if (!CallKernel(call, "aten.bernoulli_.float", {mask, 1 - p},
                         &drawn)) {
    return false;
  }
  const double scale = p == 1 ? 0.0 : 1.0 / (1.0 - p);
  if (!CallKernel(call, "aten.mul.Tensor", {input, drawn}, &out) ||
      !CallKernel(call, "aten.mul.Scalar", {out, scale}, &out)) {
    return false;
  }
  call.Return(out);
  call.Return(drawn);
  return true;
}

// grad · mask · scale.
bool NativeDropoutBackward(KernelCall& call) {
  Tensor masked;
  return CallKernel(call, "aten.mul.Tensor", {call.tensor(0), call.tensor(1)},
                    &masked) &&
         ForwardTo(call, "aten.mul.Scalar", {masked, call.Float(2)});
}

constexpr KernelEntry kEntries[] = {
    {"aten.dropout.default", Dropout<false, false>},
    {"aten.dropout_.default", DropoutInPlace<false, false>},
    {"aten.feature_dropout.default", Dropout<true, false>},
    {"aten.feature_dropout_.default", DropoutInPlace<true, false>},
    {"aten.alpha_dropout.default", Dropout<false, true>},
    {"aten.alpha_dropout_.default", DropoutInPlace<false, true>},
    {"aten.feature_alpha_dropout.default", Dropout<true, true>},
    {"aten.feature_alpha_dropout_.default", DropoutInPlace<true, true>},
    {"aten.native_dropout.default", NativeDropout},
    {"aten.native_dropout_backward.default", NativeDropoutBackward},
};

}  // namespace

std::span<const KernelEntry> DropoutKernels() { return kEntries; }

}  // namespace tenon
