// Activation functions and their derivatives.
#include <cmath>
#include <limits>

#include "kernels/arithmetic.h"
#include "kernels/broadcast.h"
#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/elementwise.h"
#include "kernels/pointwise.h"
#include "kernels/random.h"
#include "kernels/views.h"

namespace tenon {
namespace {

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kSqrt2OverPi = 0.79788456080286535588;
constexpr double kGeluCubic = 0.044715;
constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;

// Plans over the first `arity` arguments, runs `f` and returns the result.
template <unsigned kFlags, size_t kArity, typename F>
bool Run(KernelCall& call, F f) {
  std::vector<Operand> operands;
  for (size_t i = 0; i < kArity; ++i) operands.push_back(OperandOf(call, i));
  ElementwisePlan plan;
  if (!PlanElementwise(call, operands, kFlags, &plan)) return false;
  RunElementwise<kFlags, kArity>(&plan, f);
  call.Return(plan.out);
  return true;
}

// A parameter in the type of the elements.
template <typename T>
T As(double value) {
  return static_cast<T>(value);
}

// --- without parameters ---

constexpr unsigned kReals = kNoBool | kNoComplex;

template <typename T>
T Softplus(T x) {
  return x > T(20) ? x : std::log1p(std::exp(x));
}
constexpr auto kRelu = [](auto x) {
  using T = decltype(x);
  return x < T(0) ? T(0) : x;
};
constexpr auto kRelu6 = [](auto x) {
  using T = decltype(x);
  return x < T(0) ? T(0) : x > T(6) ? T(6) : x;
};
constexpr auto kSilu = [](auto x) {
  return x / (decltype(x)(1) + std::exp(-x));
};
constexpr auto kMish = [](auto x) {
  return x * std::tanh(std::log1p(std::exp(x)));
};
template <typename T>
T ClampTo(T x, T low, T high) {
  return x < low ? low : x > high ? high : x;
}
constexpr auto kHardsigmoid = [](auto x) {
  using T = decltype(x);
  return ClampTo(x + T(3), T(0), T(6)) / T(6);
};
constexpr auto kHardswish = [](auto x) {
  using T = decltype(x);
  return x * ClampTo(x + T(3), T(0), T(6)) / T(6);
};
constexpr auto kSelu = [](auto x) {
  using T = decltype(x);
  const T negative = As<T>(kSeluAlpha * kSeluScale);
  return x <= T(0) ? std::expm1(x) * negative : x * As<T>(kSeluScale);
};
constexpr auto kLogSigmoid = [](auto x) {
  using T = decltype(x);
  return (x < T(0) ? x : T(0)) - std::log1p(std::exp(-std::abs(x)));
};
constexpr auto kPrelu = [](auto x, auto weight) {
  return x > decltype(x)(0) ? x : weight * x;
};

// --- gelu ---

// x * P(X < x) of a standard normal X. `via_onednn` follows the library that
// PyTorch uses for float32 and bfloat16: it doubles before it halves, and its
// infinity is nan.
template <typename T>
T Gelu(T x, bool is_tanh, bool via_onednn) {
  const T one_plus_erf = T(1) + std::erf(x * As<T>(kSqrtHalf));
  if (!is_tanh && via_onednn) {
    if (std::isinf(x)) return std::numeric_limits<T>::quiet_NaN();
    return T(0.5) * (x * one_plus_erf);
  }
  if (!is_tanh) return x * T(0.5) * one_plus_erf;
  const T inner = As<T>(kSqrt2OverPi) * (x + As<T>(kGeluCubic) * x * x * x);
  return T(0.5) * x * (T(1) + std::tanh(inner));
}

template <typename T>
T GeluSlope(T x, bool is_tanh) {
  if (!is_tanh) {
    const T cdf = T(0.5) * (T(1) + std::erf(x * As<T>(kSqrtHalf)));
    const T pdf = std::exp(T(-0.5) * x * x) * As<T>(kSqrt2OverPi * 0.5);
    return cdf + x * pdf;
  }
  const T beta = As<T>(kSqrt2OverPi), kappa = As<T>(kGeluCubic);
  const T bent = std::tanh(beta * (x + kappa * x * x * x));
  const T left = T(0.5) * (T(1) + bent);
  const T right =
      T(0.5) * x * (T(1) - bent * bent) * beta * (T(1) + T(3) * kappa * x * x);
  return left + right;
}

bool IsTanh(KernelCall& call, size_t arg, bool* is_tanh) {
  const std::string& approximate = call.arg(arg).string();
  *is_tanh = approximate == "tanh";
  if (*is_tanh || approximate == "none") return true;
  return call.Fail("no approximation of gelu is called '" + approximate + "'");
}

bool GeluKernel(KernelCall& call) {
  bool is_tanh = false;
  const DType dtype = call.tensor(0).dtype();
  const bool via_onednn = dtype == DType::kFloat32 || dtype == DType::kBFloat16;
  return IsTanh(call, 1, &is_tanh) && Run<kFloatsOnly, 1>(call, [=](auto x) {
           return Gelu(x, is_tanh, via_onednn);
         });
}

bool GeluBackward(KernelCall& call) {
  bool is_tanh = false;
  return IsTanh(call, 2, &is_tanh) &&
         Run<kFloatsOnly, 2>(
             call, [=](auto g, auto x) { return g * GeluSlope(x, is_tanh); });
}

// --- with parameters ---

bool Elu(KernelCall& call) {
  const double alpha = call.Float(1), scale = call.Float(2);
  const double input_scale = call.Float(3);
  return Run<kFloatsOnly, 1>(call, [=](auto x) {
    using T = decltype(x);
    if (x > T(0)) return x * As<T>(scale);
    return std::expm1(x * As<T>(input_scale)) * As<T>(alpha * scale);
  });
}

bool Celu(KernelCall& call) {
  const double alpha = call.Float(1);
  if (alpha == 0) return call.Fail("celu needs an alpha other than 0");
  return Run<kFloatsOnly, 1>(call, [=](auto x) {
    using T = decltype(x);
    if (x > T(0)) return x;
    return std::expm1(x * As<T>(1 / alpha)) * As<T>(alpha);
  });
}

bool LeakyRelu(KernelCall& call) {
  const double slope = call.Float(1);
  return Run<kFloatsOnly, 1>(call, [=](auto x) {
    using T = decltype(x);
    return x > T(0) ? x : x * As<T>(slope);
  });
}

bool Threshold(KernelCall& call) {
  const RuntimeValue threshold = call.Scalar(1), value = call.Scalar(2);
  const DType dtype = call.tensor(0).dtype();
  if (!CheckFits(call, threshold, dtype) || !CheckFits(call, value, dtype)) {
    return false;
  }
  return Run<kReals, 1>(call, [&](auto x) {
    using T = decltype(x);
    return x <= ScalarAs<T>(threshold) ? ScalarAs<T>(value) : x;
  });
}

bool ThresholdBackward(KernelCall& call) {
  const RuntimeValue threshold = call.Scalar(2);
  return Run<kReals, 2>(call, [&](auto g, auto x) {
    using T = decltype(x);
    return x <= ScalarAs<T>(threshold) ? T(0) : g;
  });
}

// clamp, except that the dtype stays: bounds of integers lose their fraction.
bool Hardtanh(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  RuntimeValue low = call.Scalar(1), high = call.Scalar(2);
  if (self.dtype() == DType::kBool || IsComplex(self.dtype())) {
    return call.Fail("not defined for " + std::string(Name(self.dtype())));
  }
  if (IsIntegral(self.dtype())) {
    low = ScalarAs<int64_t>(low);
    high = ScalarAs<int64_t>(high);
  }
  return ForwardTo(call, "aten.clamp.default", {self, low, high});
}

bool HardtanhBackward(KernelCall& call) {
  const double low = call.Float(2), high = call.Float(3);
  return Run<kFloatsOnly, 2>(call, [=](auto g, auto x) {
    using T = decltype(x);
    return x <= As<T>(low) || x >= As<T>(high) ? T(0) : g;
  });
}

bool Hardshrink(KernelCall& call) {
  const double lambda = call.Float(1);
  return Run<kFloatsOnly, 1>(call, [=](auto x) {
    using T = decltype(x);
    return x >= As<T>(-lambda) && x <= As<T>(lambda) ? T(0) : x;
  });
}

// Of hardshrink and softshrink alike.
bool ShrinkBackward(KernelCall& call) {
  const double lambda = call.Float(2);
  return Run<kFloatsOnly, 2>(call, [=](auto g, auto x) {
    using T = decltype(x);
    return x >= As<T>(-lambda) && x <= As<T>(lambda) ? T(0) : g;
  });
}

bool Softshrink(KernelCall& call) {
  const double lambda = call.Float(1);
  if (lambda < 0) return call.Fail("lambda is negative");
  return Run<kFloatsOnly, 1>(call, [=](auto x) {
    using T = decltype(x);
    const T l = As<T>(lambda);
    if (std::isnan(x)) return x;
    return x > l ? x - l : x < -l ? x + l : T(0);
  });
}

bool SoftplusKernel(KernelCall& call) {
  const double beta = call.Float(1), threshold = call.Float(2);
  return Run<kFloatsOnly, 1>(call, [=](auto x) {
    using T = decltype(x);
    const T scaled = x * As<T>(beta);
    return scaled > As<T>(threshold)
               ? x
               : std::log1p(std::exp(scaled)) / As<T>(beta);
  });
}

bool SoftplusBackward(KernelCall& call) {
  const double beta = call.Float(2), threshold = call.Float(3);
  return Run<kFloatsOnly, 2>(call, [=](auto g, auto x) {
    using T = decltype(x);
    const T z = std::exp(x * As<T>(beta));
    return x * As<T>(beta) > As<T>(threshold) ? g : g * z / (z + T(1));
  });
}

bool EluBackward(KernelCall& call) {
  const double alpha = call.Float(1), scale = call.Float(2);
  const double input_scale = call.Float(3);
  const bool is_result = call.Bool(4);
  if (is_result && alpha < 0) return call.Fail("alpha is negative");
  ElementwisePlan plan;
  if (!PlanElementwise(call, {OperandOf(call, 0), OperandOf(call, 5)},
                       kFloatsOnly, &plan)) {
    return false;
  }
  RunElementwise<kFloatsOnly, 2>(&plan, [=](auto g, auto x) {
    using T = decltype(x);
    if (x > T(0)) return g * As<T>(scale);
    if (is_result) return g * As<T>(input_scale) * (x + As<T>(alpha * scale));
    return g * As<T>(input_scale * alpha * scale) *
           std::exp(x * As<T>(input_scale));
  });
  call.Return(plan.out);
  return true;
}

bool LeakyReluBackward(KernelCall& call) {
  const double slope = call.Float(2);
  return Run<kFloatsOnly, 2>(call, [=](auto g, auto x) {
    using T = decltype(x);
    return x > T(0) ? g : g * As<T>(slope);
  });
}

// --- derivatives without parameters ---

constexpr auto kSigmoidBackward = [](auto g, auto y) {
  using T = decltype(y);
  if constexpr (kIsComplex<T>) {
    return g * std::conj((T(1) - y) * y);
  } else {
    return g * (T(1) - y) * y;
  }
};
constexpr auto kTanhBackward = [](auto g, auto y) {
  using T = decltype(y);
  if constexpr (kIsComplex<T>) {
    return g * std::conj(T(1) - y * y);
  } else {
    return g * (T(1) - y * y);
  }
};
constexpr auto kSiluBackward = [](auto g, auto x) {
  using T = decltype(x);
  const T s = Sigmoid(x);
  return g * s * (T(1) + x * (T(1) - s));
};
constexpr auto kMishBackward = [](auto g, auto x) {
  using T = decltype(x);
  const T s = Sigmoid(x);
  const T t = std::tanh(std::log1p(std::exp(x)));
  return g * (t + x * s * (T(1) - t * t));
};
constexpr auto kHardsigmoidBackward = [](auto g, auto x) {
  using T = decltype(x);
  return x > T(-3) && x < T(3) ? g / T(6) : T(0);
};
constexpr auto kHardswishBackward = [](auto g, auto x) {
  using T = decltype(x);
  if (x <= T(-3)) return T(0);
  return x < T(3) ? g * (x / T(3) + T(0.5)) : g;
};
constexpr auto kLogSigmoidBackward = [](auto g, auto x) {
  using T = decltype(x);
  return g * (T(1) - Sigmoid(x));
};

// The second result is what PyTorch keeps for the backward pass. Both are
// contiguous whatever the input is.
bool LogSigmoidForward(KernelCall& call) {
  const Operand self = {call.tensor(0).Contiguous(), false};
  if (!self.tensor.defined()) return call.Fail("no memory");
  ElementwisePlan result, buffer;
  if (!PlanElementwise(call, {self}, kFloatsOnly, &result) ||
      !PlanElementwise(call, {self}, kFloatsOnly, &buffer)) {
    return false;
  }
  RunElementwise<kFloatsOnly, 1>(&result, kLogSigmoid);
  RunElementwise<kFloatsOnly, 1>(&buffer,
                                 [](auto x) { return std::exp(-std::abs(x)); });
  call.Return(result.out);
  call.Return(buffer.out);
  return true;
}

// The result is like the input even where strides don't matter.
bool PreluKernel(KernelCall& call) {
  ElementwisePlan plan;
  if (!PlanElementwise(call, {OperandOf(call, 0), OperandOf(call, 1)},
                       kFloatsOnly, &plan) ||
      !Allocate(call, plan.common, plan.out.sizes(),
                LikeStrides(call.tensor(0)), &plan.out)) {
    return false;
  }
  RunElementwise<kFloatsOnly, 2>(&plan, kPrelu);
  call.Return(plan.out);
  return true;
}

// One weight for all, or one per channel: dimension 1.
bool Prelu(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  Tensor weight = call.tensor(1);
  if (weight.dim() > 1) return call.Fail("prelu's weight has one dimension");
  if (weight.numel() != 1) {
    const int64_t channels = self.dim() < 2 ? 1 : self.size(1);
    if (self.dim() == 0 || weight.numel() != channels) {
      return call.Fail("prelu has " + std::to_string(weight.numel()) +
                       " weights for " + std::to_string(channels) +
                       " channels");
    }
  }
  Sizes sizes(self.sizes().size(), 1);
  if (sizes.size() > 1) sizes[1] = weight.numel();
  weight = Reshaped(weight, sizes);
  return ForwardTo(call, "aten._prelu_kernel.default", {self, weight});
}

// Gradients of the input and, before it is summed, of the weight.
bool PreluBackward(KernelCall& call) {
  std::vector<Operand> operands;
  for (size_t i = 0; i < 3; ++i) operands.push_back(OperandOf(call, i));
  ElementwisePlan input, weight;
  if (!PlanElementwise(call, operands, kFloatsOnly, &input) ||
      !PlanElementwise(call, operands, kFloatsOnly, &weight)) {
    return false;
  }
  RunElementwise<kFloatsOnly, 3>(&input, [](auto g, auto x, auto w) {
    return x > decltype(x)(0) ? g : w * g;
  });
  RunElementwise<kFloatsOnly, 3>(&weight, [](auto g, auto x, auto) {
    using T = decltype(x);
    return x > T(0) ? T(0) : x * g;
  });
  call.Return(input.out);
  call.Return(weight.out);
  return true;
}

// --- rrelu ---

// Negative elements times a slope: the mean of the bounds, or in training a
// random one per element, which `noise` keeps (1 for other elements).
bool RreluTo(KernelCall& call, double lower, double upper, bool training,
             Tensor* noise) {
  if (!(lower <= upper)) return call.Fail("the bounds are in the wrong order");
  if (!training) {
    return ForwardTo(call, "aten.leaky_relu.default",
                     {call.arg(0), (lower + upper) / 2});
  }
  const Tensor& self = call.tensor(0);
  Tensor out;
  if (!IsFloating(self.dtype())) return call.Fail("rrelu needs a float dtype");
  if (!Allocate(call, self.dtype(), self.sizes(), LikeStrides(self), &out)) {
    return false;
  }
  Generator& generator = GeneratorOf(call);
  std::vector<double> values = ReadAll<double>(self);
  std::vector<double> slopes(values.size(), 1.0);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] > 0) continue;
    slopes[i] = generator.Uniform() * (upper - lower) + lower;
    values[i] *= slopes[i];
  }
  WriteAll(&out, values);
  if (noise != nullptr) WriteAll(noise, slopes);
  call.Return(out);
  return true;
}

bool Rrelu(KernelCall& call) {
  return RreluTo(call, call.Float(1), call.Float(2), call.Bool(3), nullptr);
}

bool RreluWithNoise(KernelCall& call) {
  Tensor& noise = call.arg(1).tensor();
  if (noise.sizes() != call.tensor(0).sizes()) {
    return call.Fail("noise and input differ in sizes");
  }
  return RreluTo(call, call.Float(2), call.Float(3), call.Bool(4), &noise);
}

// rrelu_with_noise_backward(grad, self, noise, lower, upper, training, ...)
bool RreluBackward(KernelCall& call) {
  const double lower = call.Float(3), upper = call.Float(4);
  if (call.Bool(5) && upper - lower > 1e-6) {
    return ForwardTo(call, "aten.mul.Tensor", {call.arg(2), call.arg(0)});
  }
  return ForwardTo(
      call, "aten.leaky_relu_backward.default",
      {call.arg(0), call.arg(1), (lower + upper) / 2, call.arg(6)});
}

// --- gates ---

// Both halves of a dimension.
bool Halve(KernelCall& call, const Tensor& self, int64_t dim, Tensor* first,
           Tensor* second) {
  if (self.dim() == 0) return call.Fail("glu needs a dimension to halve");
  if (!WrapDim(call, self.dim(), &dim)) return false;
  if (self.size(dim) % 2 != 0) {
    return call.Fail("glu needs a dimension of even size");
  }
  const int64_t half = self.size(dim) / 2;
  *first = Narrowed(self, dim, 0, half);
  *second = Narrowed(self, dim, half, half);
  return true;
}

// The first half, times the sigmoid of the second.
bool Glu(KernelCall& call) {
  Tensor first, second;
  ElementwisePlan plan;
  if (!Halve(call, call.tensor(0), call.Int(1), &first, &second) ||
      !PlanElementwise(call, {{first, false}, {second, false}}, kFloatsOnly,
                       &plan)) {
    return false;
  }
  RunElementwise<kFloatsOnly, 2>(&plan,
                                 [](auto a, auto b) { return a * Sigmoid(b); });
  call.Return(plan.out);
  return true;
}

bool GluBackward(KernelCall& call) {
  const Tensor& self = call.tensor(1);
  Tensor first, second, out, to_first, to_second;
  if (!Halve(call, self, call.Int(2), &first, &second) ||
      !Allocate(call, self.dtype(), self.sizes(), &out) ||
      !Halve(call, out, call.Int(2), &to_first, &to_second)) {
    return false;
  }
  const std::vector<Operand> operands = {
      OperandOf(call, 0), {first, false}, {second, false}};
  ElementwisePlan plan;
  if (!PlanElementwise(call, operands, kFloatsOnly, &plan)) return false;
  if (plan.out.sizes() != to_first.sizes()) {
    return call.Fail("the gradient isn't of half the input's sizes");
  }
  plan.out = to_first;
  RunElementwise<kFloatsOnly, 3>(
      &plan, [](auto g, auto, auto b) { return g * Sigmoid(b); });
  plan.out = to_second;
  RunElementwise<kFloatsOnly, 3>(&plan, [](auto g, auto a, auto b) {
    const auto s = Sigmoid(b);
    return g * a * s * (decltype(s)(1) - s);
  });
  call.Return(out);
  return true;
}

template <const auto& kFunction>
constexpr Kernel kFloatUnary = Elementwise<kFunction, 1, kFloatsOnly>;
template <const auto& kFunction>
constexpr Kernel kSlope = Elementwise<kFunction, 2, kFloatsOnly>;

constexpr KernelEntry kEntries[] = {
    {"aten.relu.default", Elementwise<kRelu, 1, kReals>},
    {"aten.relu6.default", Elementwise<kRelu6, 1, kReals>},
    {"aten.silu.default", Elementwise<kSilu, 1, kNoBool | kNoInteger>},
    {"aten.mish.default", kFloatUnary<kMish>},
    {"aten.hardsigmoid.default", kFloatUnary<kHardsigmoid>},
    {"aten.hardswish.default", kFloatUnary<kHardswish>},
    {"aten.selu.default", kFloatUnary<kSelu>},
    {"aten.log_sigmoid.default", kFloatUnary<kLogSigmoid>},
    {"aten.log_sigmoid_forward.default", LogSigmoidForward},
    {"aten._prelu_kernel.default", PreluKernel},
    {"aten.gelu.default", GeluKernel},
    {"aten.gelu_backward.default", GeluBackward},
    {"aten.elu.default", Elu},
    {"aten.celu.default", Celu},
    {"aten.leaky_relu.default", LeakyRelu},
    {"aten.threshold.default", Threshold},
    {"aten.threshold_backward.default", ThresholdBackward},
    {"aten.hardtanh.default", Hardtanh},
    {"aten.hardtanh_backward.default", HardtanhBackward},
    {"aten.hardshrink.default", Hardshrink},
    {"aten.hardshrink_backward.default", ShrinkBackward},
    {"aten.softshrink.default", Softshrink},
    {"aten.softshrink_backward.default", ShrinkBackward},
    {"aten.softplus.default", SoftplusKernel},
    {"aten.softplus_backward.default", SoftplusBackward},
    {"aten.elu_backward.default", EluBackward},
    {"aten.leaky_relu_backward.default", LeakyReluBackward},
    {"aten.sigmoid_backward.default",
     Elementwise<kSigmoidBackward, 2, kNoBool | kNoInteger>},
    {"aten.tanh_backward.default",
     Elementwise<kTanhBackward, 2, kNoBool | kNoInteger>},
    {"aten.silu_backward.default", kSlope<kSiluBackward>},
    {"aten.mish_backward.default", kSlope<kMishBackward>},
    {"aten.hardsigmoid_backward.default", kSlope<kHardsigmoidBackward>},
    {"aten.hardswish_backward.default", kSlope<kHardswishBackward>},
    {"aten.log_sigmoid_backward.default", kSlope<kLogSigmoidBackward>},
    {"aten.glu.default", Glu},
    {"aten.glu_backward.default", GluBackward},
    {"aten.prelu.default", Prelu},
    {"aten._prelu_kernel_backward.default", PreluBackward},
    {"aten.rrelu.default", Rrelu},
    {"aten.rrelu_with_noise.default", RreluWithNoise},
    {"aten.rrelu_with_noise_backward.default", RreluBackward},
};

}  // namespace

std::span<const KernelEntry> ActivationKernels() { return kEntries; }

}  // namespace tenon
