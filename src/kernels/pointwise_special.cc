// Operators of special functions (special_math.h), and of logarithms that mind
// their zeros.
#include <cmath>
#include <limits>

#include "kernels/arithmetic.h"
#include "kernels/elements.h"
#include "kernels/elementwise.h"
#include "kernels/pointwise.h"
#include "kernels/special_math.h"

namespace tenon {
namespace {

template <double (*kFunction)(double)>
constexpr auto kInDouble = [](auto x) {
  return static_cast<decltype(x)>(kFunction(static_cast<double>(x)));
};
template <double (*kFunction)(double, double)>
constexpr auto kInDouble2 = [](auto a, auto b) {
  return static_cast<decltype(a)>(
      kFunction(static_cast<double>(a), static_cast<double>(b)));
};

double Lgamma(double x) { return std::lgamma(x); }

constexpr auto kEntr = [](auto x) {
  using T = decltype(x);
  if (std::isnan(x)) return x;
  if (x > T(0)) return -x * std::log(x);
  return x == T(0) ? T(0) : -std::numeric_limits<T>::infinity();
};
constexpr auto kXlogy = [](auto x, auto y) {
  using T = decltype(x);
  if (std::isnan(y)) return y;
  return x == T(0) ? T(0) : x * std::log(y);
};
constexpr auto kXlog1py = [](auto x, auto y) {
  using T = decltype(x);
  if (std::isnan(y)) return y;
  return x == T(0) ? T(0) : x * std::log1p(y);
};

// log(base^a + base^b), base e or 2; the larger part is taken out.
template <bool kBase2>
constexpr auto kLogAddExp = [](auto a, auto b) {
  using T = decltype(a);
  if constexpr (kIsComplex<T>) {
    if (b.real() > a.real()) std::swap(a, b);
    const T rest = std::exp(b - a);
    return a + std::log(T(1) + rest);
  } else {
    if (std::isinf(a) && a == b) return a;
    const T high = Maximum(a, b), low = -std::abs(a - b);
    return kBase2 ? high + static_cast<T>(std::log1p(std::exp2(low)) / M_LN2)
                  : high + std::log1p(std::exp(low));
  }
};

// --- logit ---

template <typename T>
T Logit(T x, double eps) {
  if (eps >= 0) {
    const T low = static_cast<T>(eps), high = static_cast<T>(1 - eps);
    x = x < low ? low : x > high ? high : x;
  }
  return std::log(x / (T(1) - x));
}

bool LogitKernel(KernelCall& call) {
  const double eps = call.is_none(1) ? -1 : call.Float(1);
  constexpr unsigned kFlags = kIntToFloat | kNoComplex;
  ElementwisePlan plan;
  if (!PlanElementwise(call, {OperandOf(call, 0)}, kFlags, &plan)) return false;
  RunElementwise<kFlags, 1>(&plan, [eps](auto x) { return Logit(x, eps); });
  call.Return(plan.out);
  return true;
}

// Outside [eps, 1 - eps] the clamp has no slope; without eps there is no
// value outside [0, 1] at all.
bool LogitBackward(KernelCall& call) {
  const bool has_eps = !call.is_none(2);
  const double eps = has_eps ? call.Float(2) : 0;
  ElementwisePlan plan;
  if (!PlanElementwise(call, {OperandOf(call, 0), OperandOf(call, 1)},
                       kFloatsOnly, &plan)) {
    return false;
  }
  RunElementwise<kFloatsOnly, 2>(&plan, [=](auto g, auto x) {
    using T = decltype(x);
    const T low = static_cast<T>(eps), high = static_cast<T>(1 - eps);
    if (x < low || x > high) {
      return has_eps ? T(0) : std::numeric_limits<T>::quiet_NaN();
    }
    if (!has_eps && (x == T(0) || x == T(1))) {
      return g * std::numeric_limits<T>::infinity();
    }
    return g / (x * (T(1) - x));
  });
  call.Return(plan.out);
  return true;
}

// --- orders ---

bool PolygammaOf(KernelCall& call, size_t order_arg, size_t self_arg) {
  const int64_t n = call.Int(order_arg);
  if (n < 0) return call.Fail("a negative order of polygamma");
  if (n > 1000) return call.Fail("an order of polygamma beyond 1000");
  constexpr unsigned kFlags = kIntToFloat | kNoComplex;
  ElementwisePlan plan;
  if (!PlanElementwise(call, {OperandOf(call, self_arg)}, kFlags, &plan)) {
    return false;
  }
  RunElementwise<kFlags, 1>(&plan, [n](auto x) {
    if (n == 1) return Trigamma(x);
    return static_cast<decltype(x)>(
        Polygamma(static_cast<int>(n), static_cast<double>(x)));
  });
  call.Return(plan.out);
  return true;
}
bool PolygammaKernel(KernelCall& call) { return PolygammaOf(call, 0, 1); }

bool Mvlgamma(KernelCall& call) {
  const int64_t p = call.Int(1);
  if (p < 1 || p > 10000) return call.Fail("a dimension outside [1, 10000]");
  constexpr unsigned kFlags = kIntToFloat | kNoComplex;
  ElementwisePlan plan;
  if (!PlanElementwise(call, {OperandOf(call, 0)}, kFlags, &plan)) return false;
  RunElementwise<kFlags, 1>(&plan, [p](auto x) {
    return static_cast<decltype(x)>(
        MultiLgamma(static_cast<double>(x), static_cast<int>(p)));
  });
  call.Return(plan.out);
  return true;
}

// --- nextafter ---

// The neighbour of a 16-bit pattern whose order is that of its magnitude.
uint16_t NextBits(uint16_t bits, bool up) {
  const bool negative = (bits & 0x8000) != 0;
  if ((bits & 0x7fff) == 0) return up ? 0x0001 : 0x8001;
  return static_cast<uint16_t>(up == negative ? bits - 1 : bits + 1);
}

bool Nextafter(KernelCall& call) {
  ElementwisePlan plan;
  if (!PlanElementwise(call, {OperandOf(call, 0), OperandOf(call, 1)},
                       kFloatsOnly, &plan)) {
    return false;
  }
  const DType dtype = plan.common;
  RunElementwise<kFloatsOnly, 2>(&plan, [dtype](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_same_v<T, float>) {
      if (dtype != DType::kFloat32) {
        if (std::isnan(a) || std::isnan(b)) return a + b;
        if (a == b) return b;
        if (dtype == DType::kBFloat16) {
          BFloat16 value(a);
          value.bits = NextBits(value.bits, b > a);
          return static_cast<float>(value);
        }
        Float16 value(a);
        value.bits = NextBits(value.bits, b > a);
        return static_cast<float>(value);
      }
    }
    return std::nextafter(a, b);
  });
  call.Return(plan.out);
  return true;
}

template <double (*kFunction)(double)>
constexpr Kernel kUnary =
    Elementwise<kInDouble<kFunction>, 1, kIntToFloat | kNoComplex>;
template <double (*kFunction)(double, double)>
constexpr Kernel kBinary =
    Elementwise<kInDouble2<kFunction>, 2, kIntToFloat | kNoComplex>;
template <const auto& kFunction>
constexpr Kernel kReal2 = Elementwise<kFunction, 2, kIntToFloat | kNoComplex>;

constexpr KernelEntry kEntries[] = {
    {"aten.lgamma.default", kUnary<Lgamma>},
    {"prims.lgamma.default", kUnary<Lgamma>},
    {"aten.digamma.default", kUnary<Digamma>},
    {"prims.digamma.default", kUnary<Digamma>},
    {"aten.polygamma.default", PolygammaKernel},
    {"aten.special_polygamma.default", PolygammaKernel},
    {"aten.mvlgamma.default", Mvlgamma},
    {"aten.igamma.default", kBinary<GammaP>},
    {"prims.igamma.default", kBinary<GammaP>},
    {"aten.igammac.default", kBinary<GammaQ>},
    {"prims.igammac.default", kBinary<GammaQ>},
    {"aten.special_zeta.default", kBinary<HurwitzZeta>},
    {"aten.special_zeta.self_scalar", kBinary<HurwitzZeta>},
    {"aten.special_zeta.other_scalar", kBinary<HurwitzZeta>},
    {"prims.zeta.default", kBinary<HurwitzZeta>},
    {"aten.erfinv.default", kUnary<Erfinv>},
    {"prims.erf_inv.default", kUnary<Erfinv>},
    {"aten.special_erfcx.default", kUnary<Erfcx>},
    {"prims.erfcx.default", kUnary<Erfcx>},
    {"aten.special_ndtr.default", kUnary<Ndtr>},
    {"aten.special_ndtri.default", kUnary<Ndtri>},
    {"prims.ndtri.default", kUnary<Ndtri>},
    {"aten.special_log_ndtr.default", kUnary<LogNdtr>},
    {"aten.i0.default", kUnary<BesselI0>},
    {"prims.bessel_i0.default", kUnary<BesselI0>},
    {"aten.special_i0e.default", kUnary<BesselI0e>},
    {"prims.bessel_i0e.default", kUnary<BesselI0e>},
    {"aten.special_i1.default", kUnary<BesselI1>},
    {"prims.bessel_i1.default", kUnary<BesselI1>},
    {"aten.special_i1e.default", kUnary<BesselI1e>},
    {"prims.bessel_i1e.default", kUnary<BesselI1e>},
    {"aten.special_modified_bessel_i0.default", kUnary<BesselI0>},
    {"aten.special_modified_bessel_i1.default", kUnary<BesselI1>},
    {"aten.special_modified_bessel_k0.default", kUnary<BesselK0>},
    {"aten.special_modified_bessel_k1.default", kUnary<BesselK1>},
    {"aten.special_scaled_modified_bessel_k0.default", kUnary<ScaledBesselK0>},
    {"aten.special_scaled_modified_bessel_k1.default", kUnary<ScaledBesselK1>},
    {"aten.special_bessel_j0.default", kUnary<BesselJ0>},
    {"prims.bessel_j0.default", kUnary<BesselJ0>},
    {"aten.special_bessel_j1.default", kUnary<BesselJ1>},
    {"prims.bessel_j1.default", kUnary<BesselJ1>},
    {"aten.special_bessel_y0.default", kUnary<BesselY0>},
    {"aten.special_bessel_y1.default", kUnary<BesselY1>},
    {"aten.special_spherical_bessel_j0.default", kUnary<SphericalBesselJ0>},
    {"prims.spherical_bessel_j0.default", kUnary<SphericalBesselJ0>},
    {"aten.special_airy_ai.default", kUnary<AiryAi>},
    {"aten.special_entr.default",
     Elementwise<kEntr, 1, kIntToFloat | kNoComplex>},
    {"aten.xlogy.Tensor", kReal2<kXlogy>},
    {"aten.xlogy.Scalar_Self", kReal2<kXlogy>},
    {"aten.xlogy.Scalar_Other", kReal2<kXlogy>},
    {"aten.special_xlog1py.default", kReal2<kXlog1py>},
    {"aten.special_xlog1py.self_scalar", kReal2<kXlog1py>},
    {"aten.special_xlog1py.other_scalar", kReal2<kXlog1py>},
    {"aten.logaddexp.default",
     Elementwise<kLogAddExp<false>, 2, kNoBool | kNoInteger>},
    {"aten.logaddexp2.default", Elementwise<kLogAddExp<true>, 2, kFloatsOnly>},
    {"aten.logit.default", LogitKernel},
    {"aten.logit_backward.default", LogitBackward},
    {"aten.nextafter.default", Nextafter},
    {"prims.nextafter.default", Nextafter},
};

}  // namespace

std::span<const KernelEntry> SpecialKernels() { return kEntries; }

}  // namespace tenon
