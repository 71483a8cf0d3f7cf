// Functions of one element: elementary functions, rounding, signs, parts of
// complex numbers.
#include <cmath>

#include "kernels/arithmetic.h"
#include "kernels/elements.h"
#include "kernels/elementwise.h"
#include "kernels/pointwise.h"
#include "kernels/views.h"

namespace tenon {
namespace {

// --- elementary functions, in float, double and complex ---

template <typename T>
using Part = decltype(std::abs(T()));

constexpr auto kAcos = [](auto x) { return std::acos(x); };
constexpr auto kAcosh = [](auto x) { return std::acosh(x); };
constexpr auto kAsin = [](auto x) { return std::asin(x); };
constexpr auto kAsinh = [](auto x) { return std::asinh(x); };
constexpr auto kAtan = [](auto x) { return std::atan(x); };
constexpr auto kAtanh = [](auto x) { return std::atanh(x); };
constexpr auto kCos = [](auto x) { return std::cos(x); };
constexpr auto kCosh = [](auto x) { return std::cosh(x); };
constexpr auto kExp = [](auto x) { return std::exp(x); };
constexpr auto kLog = [](auto x) { return std::log(x); };
constexpr auto kLog10 = [](auto x) { return std::log10(x); };
constexpr auto kSin = [](auto x) { return std::sin(x); };
constexpr auto kSinh = [](auto x) { return std::sinh(x); };
constexpr auto kSqrt = [](auto x) { return std::sqrt(x); };
constexpr auto kTan = [](auto x) { return std::tan(x); };
constexpr auto kTanh = [](auto x) { return std::tanh(x); };
constexpr auto kReciprocal = [](auto x) { return decltype(x)(1) / x; };
constexpr auto kRsqrt = [](auto x) { return decltype(x)(1) / std::sqrt(x); };
constexpr auto kSigmoid = [](auto x) { return Sigmoid(x); };
constexpr auto kErf = [](auto x) { return std::erf(x); };
constexpr auto kErfc = [](auto x) { return std::erfc(x); };

constexpr auto kExp2 = [](auto x) {
  using T = decltype(x);
  if constexpr (kIsComplex<T>) {
    return std::exp(x * static_cast<Part<T>>(M_LN2));
  } else {
    return std::exp2(x);
  }
};
constexpr auto kLog2 = [](auto x) {
  using T = decltype(x);
  if constexpr (kIsComplex<T>) {
    return std::log(x) / static_cast<Part<T>>(M_LN2);
  } else {
    return std::log2(x);
  }
};
constexpr auto kExpm1 = [](auto x) {
  using T = decltype(x);
  if constexpr (kIsComplex<T>) {
    // Without cancellation near 0: exp(a) cos(b) - 1 =
    // expm1(a) cos(b) - 2 sin(b / 2)^2.
    const auto a = x.real(), b = x.imag();
    const auto half = std::sin(b / 2);
    return T(std::expm1(a) * std::cos(b) - 2 * half * half,
             std::exp(a) * std::sin(b));
  } else {
    return std::expm1(x);
  }
};
constexpr auto kLog1p = [](auto x) {
  using T = decltype(x);
  if constexpr (kIsComplex<T>) {
    // In double; for complex128 a sum near 1 loses what PyTorch loses too.
    const std::complex<double> wide(x.real(), x.imag());
    return T(std::log(std::complex<double>(1) + wide));
  } else {
    return std::log1p(x);
  }
};
// sin(pi x) / (pi x).
constexpr auto kSinc = [](auto x) {
  using T = decltype(x);
  if (x == T(0)) return T(1);
  const T scaled = static_cast<Part<T>>(M_PI) * x;
  return std::sin(scaled) / scaled;
};
constexpr auto kDeg2rad = [](auto x) {
  return x * static_cast<decltype(x)>(M_PI / 180);
};
constexpr auto kRad2deg = [](auto x) {
  return x * static_cast<decltype(x)>(180 / M_PI);
};

// --- signs and magnitudes ---

constexpr auto kAbs = [](auto x) {
  using T = decltype(x);
  if constexpr (std::is_same_v<T, int64_t>) {
    return x < 0 ? Sub(T(0), x) : x;
  } else if constexpr (kIsInteger<T>) {
    return x;
  } else {
    return std::abs(x);
  }
};
constexpr auto kNeg = [](auto x) {
  using T = decltype(x);
  if constexpr (kIsInteger<T>) {
    return Sub(T(0), x);
  } else {
    return -x;
  }
};
constexpr auto kSign = [](auto x) {
  using T = decltype(x);
  return static_cast<T>((T(0) < x) - (x < T(0)));
};
constexpr auto kSgn = [](auto x) {
  using T = decltype(x);
  if constexpr (kIsComplex<T>) {
    const auto magnitude = std::abs(x);
    return magnitude == 0 ? T(0) : x / magnitude;
  } else {
    return kSign(x);
  }
};
constexpr auto kAngle = [](auto x) {
  using T = decltype(x);
  if constexpr (kIsComplex<T>) {
    return std::arg(x);
  } else {
    return std::isnan(x) ? x : x < 0 ? static_cast<T>(M_PI) : T(0);
  }
};
constexpr auto kConj = [](auto x) {
  if constexpr (kIsComplex<decltype(x)>) {
    return std::conj(x);
  } else {
    return x;
  }
};

// --- rounding ---

template <typename T>
T RoundEven(T x) {
  return std::nearbyint(x);
}
template <const auto& kReal>
constexpr auto kRounding = [](auto x) {
  if constexpr (kIsReal<decltype(x)>) {
    return kReal(x);
  } else {
    return x;
  }
};
constexpr auto kCeil = [](auto x) { return std::ceil(x); };
constexpr auto kFloor = [](auto x) { return std::floor(x); };
constexpr auto kTrunc = [](auto x) { return std::trunc(x); };
constexpr auto kRound = [](auto x) { return RoundEven(x); };
constexpr auto kFrac = [](auto x) { return x - std::trunc(x); };

bool RoundDecimals(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const int64_t decimals = call.Int(1);
  if (!IsFloating(self.dtype())) {
    return call.Fail("round to decimals isn't defined for " +
                     std::string(Name(self.dtype())));
  }
  ElementwisePlan plan;
  if (!PlanElementwise(call, {OperandOf(call, 0)}, kFloatsOnly, &plan)) {
    return false;
  }
  RunElementwise<kFloatsOnly, 1>(&plan, [decimals](auto x) {
    using T = decltype(x);
    const T scale =
        static_cast<T>(std::pow(10.0, std::abs(static_cast<double>(decimals))));
    return decimals < 0 ? RoundEven(x / scale) * scale
                        : RoundEven(x * scale) / scale;
  });
  call.Return(plan.out);
  return true;
}

// Replacements default to 0 and the dtype's extremes.
bool NanToNum(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  if (!IsFloating(self.dtype()) && !IsComplex(self.dtype())) {
    const Tensor copy = self.Clone();
    if (!copy.defined()) return call.Fail("no memory");
    call.Return(copy);
    return true;
  }
  const DType real = RealDType(self.dtype());
  const double largest = real == DType::kFloat16    ? 65504.0
                         : real == DType::kBFloat16 ? 0x1.fep127
                         : real == DType::kFloat32  ? 0x1.fffffep127
                                                    : 0x1.fffffffffffffp1023;
  const double nan = call.is_none(1) ? 0 : call.Float(1);
  const double positive = call.is_none(2) ? largest : call.Float(2);
  const double negative = call.is_none(3) ? -largest : call.Float(3);
  const auto replace = [=](auto x) {
    using T = decltype(x);
    if (std::isnan(x)) return static_cast<T>(nan);
    if (!std::isinf(x)) return x;
    return static_cast<T>(x > 0 ? positive : negative);
  };
  ElementwisePlan plan;
  if (!PlanElementwise(call, {OperandOf(call, 0)}, kAnyDType, &plan)) {
    return false;
  }
  RunElementwise<kIntToFloat, 1>(&plan, [&](auto x) {
    if constexpr (kIsComplex<decltype(x)>) {
      return decltype(x)(replace(x.real()), replace(x.imag()));
    } else {
      return replace(x);
    }
  });
  call.Return(plan.out);
  return true;
}

bool Positive(KernelCall& call) {
  if (call.tensor(0).dtype() == DType::kBool) {
    return call.Fail("positive isn't defined for bool");
  }
  call.Return(call.tensor(0));
  return true;
}

// Real tensors are their own conjugate; the result then is the input.
bool ConjPhysical(KernelCall& call) {
  if (!IsComplex(call.tensor(0).dtype())) {
    call.Return(call.tensor(0));
    return true;
  }
  return Elementwise<kConj, 1, kAnyDType>(call);
}

// x = mantissa * 2^exponent with a mantissa of [0.5, 1).
bool Frexp(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  if (!IsFloating(self.dtype())) {
    return call.Fail("frexp is defined for floating kinds only");
  }
  ElementwisePlan mantissa, exponent;
  ElementwiseTraits traits(kFloatsOnly);
  if (!PlanElementwise(call, {OperandOf(call, 0)}, traits, &mantissa)) {
    return false;
  }
  traits.result = DType::kInt32;
  if (!PlanElementwise(call, {OperandOf(call, 0)}, traits, &exponent)) {
    return false;
  }
  RunElementwise<kFloatsOnly, 1>(&mantissa, [](auto x) {
    int power = 0;
    return std::frexp(x, &power);
  });
  RunElementwise<kFloatsOnly, 1>(&exponent, [](auto x) {
    int power = 0;
    static_cast<void>(std::frexp(x, &power));
    return static_cast<decltype(x)>(power);
  });
  call.Return(mantissa.out);
  call.Return(exponent.out);
  return true;
}

template <const auto& kFunction>
constexpr Kernel kFloating = Elementwise<kFunction, 1, kIntToFloat>;
template <const auto& kFunction>
constexpr Kernel kReal = Elementwise<kFunction, 1, kIntToFloat | kNoComplex>;
template <const auto& kFunction>
constexpr Kernel kRounded =
    Elementwise<kRounding<kFunction>, 1, kNoBool | kNoComplex>;

constexpr KernelEntry kEntries[] = {
    {"aten.acos.default", kFloating<kAcos>},
    {"aten.arccos.default", kFloating<kAcos>},
    {"aten.acosh.default", kFloating<kAcosh>},
    {"aten.arccosh.default", kFloating<kAcosh>},
    {"aten.asin.default", kFloating<kAsin>},
    {"aten.arcsin.default", kFloating<kAsin>},
    {"aten.asinh.default", kFloating<kAsinh>},
    {"aten.arcsinh.default", kFloating<kAsinh>},
    {"aten.atan.default", kFloating<kAtan>},
    {"aten.arctan.default", kFloating<kAtan>},
    {"aten.atanh.default", kFloating<kAtanh>},
    {"aten.arctanh.default", kFloating<kAtanh>},
    {"aten.cos.default", kFloating<kCos>},
    {"aten.cosh.default", kFloating<kCosh>},
    {"aten.exp.default", kFloating<kExp>},
    {"aten.exp2.default", kFloating<kExp2>},
    {"prims.exp2.default", kFloating<kExp2>},
    {"aten.expm1.default", kFloating<kExpm1>},
    {"aten.log.default", kFloating<kLog>},
    {"aten.log10.default", kFloating<kLog10>},
    {"aten.log1p.default", kFloating<kLog1p>},
    {"aten.log2.default", kFloating<kLog2>},
    {"prims.log2.default", kFloating<kLog2>},
    {"aten.sin.default", kFloating<kSin>},
    {"aten.sinc.default", kFloating<kSinc>},
    {"aten.sinh.default", kFloating<kSinh>},
    {"aten.sqrt.default", kFloating<kSqrt>},
    {"aten.tan.default", kFloating<kTan>},
    {"aten.tanh.default", kFloating<kTanh>},
    {"aten.reciprocal.default", kFloating<kReciprocal>},
    {"prims.reciprocal.default", kFloating<kReciprocal>},
    {"aten.rsqrt.default", kFloating<kRsqrt>},
    {"prims.rsqrt.default", kFloating<kRsqrt>},
    {"aten.sigmoid.default", kFloating<kSigmoid>},
    {"aten.erf.default", kReal<kErf>},
    {"aten.erfc.default", kReal<kErfc>},
    {"aten.deg2rad.default", kReal<kDeg2rad>},
    {"aten.rad2deg.default", kReal<kRad2deg>},
    {"aten.abs.default", Elementwise<kAbs, 1, kRealResult>},
    {"aten.absolute.default", Elementwise<kAbs, 1, kRealResult>},
    {"prims.abs.default", Elementwise<kAbs, 1, kRealResult>},
    {"aten.neg.default", Elementwise<kNeg, 1, kNoBool>},
    {"aten.negative.default", Elementwise<kNeg, 1, kNoBool>},
    {"aten.positive.default", Positive},
    {"aten.sign.default", Elementwise<kSign, 1, kNoComplex>},
    {"prims.sign.default", Elementwise<kSign, 1, kNoComplex>},
    {"aten.sgn.default", Elementwise<kSgn, 1, kAnyDType>},
    {"aten.angle.default", Elementwise<kAngle, 1, kIntToFloat | kRealResult>},
    {"aten.conj_physical.default", ConjPhysical},
    {"aten._conj_physical.default", Elementwise<kConj, 1, kAnyDType>},
    {"prims.conj_physical.default", Elementwise<kConj, 1, kAnyDType>},
    // Lazy views in PyTorch. No tensor here carries a bit that says so: they
    // are computed at once, and a later write to one side misses the other.
    {"aten.conj.default", ConjPhysical},
    {"aten._conj.default", ConjPhysical},
    {"aten._conj_copy.default", Elementwise<kConj, 1, kAnyDType>},
    {"aten._neg_view.default", Elementwise<kNeg, 1, kNoBool>},
    {"aten._neg_view_copy.default", Elementwise<kNeg, 1, kNoBool>},
    {"aten.ceil.default", kRounded<kCeil>},
    {"aten.floor.default", kRounded<kFloor>},
    {"aten.trunc.default", kRounded<kTrunc>},
    {"aten.fix.default", kRounded<kTrunc>},
    {"prims.trunc.default", kRounded<kTrunc>},
    {"aten.round.default", kRounded<kRound>},
    {"aten.round.decimals", RoundDecimals},
    {"aten.frac.default", Elementwise<kFrac, 1, kFloatsOnly>},
    {"aten.nan_to_num.default", NanToNum},
    {"aten.frexp.Tensor", Frexp},
};

}  // namespace

std::span<const KernelEntry> UnaryKernels() { return kEntries; }

}  // namespace tenon
