#include "backends/cpu/loops/library_tiles.h"

#include <cmath>
#include <limits>

#include "kernels/arithmetic.h"
#include "kernels/special_math.h"

namespace tenon::cpu {
namespace {

template <typename T, typename R, typename F>
void Loop1(void* out, const void* const* in, int64_t count, F f) {
  const T* a = static_cast<const T*>(in[0]);
  R* r = static_cast<R*>(out);
  for (int64_t i = 0; i < count; ++i) r[i] = static_cast<R>(f(a[i]));
}

template <typename T, typename F>
void Loop2(void* out, const void* const* in, int64_t count, F f) {
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  T* r = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) r[i] = static_cast<T>(f(a[i], b[i]));
}

// --- functions of one floating number; p and q are the operation's parameters

#define TENON_UNARY(Name, R, expression)                                  \
  template <typename T>                                                   \
  void Name##Tile(void* out, const void* const* in, const double* params, \
                  int64_t count) {                                        \
    [[maybe_unused]] const double p = params[0];                          \
    Loop1<T, R>(out, in, count, [=](T a) { return (expression); });       \
  }

TENON_UNARY(Acos, T, std::acos(a))
TENON_UNARY(Acosh, T, std::acosh(a))
TENON_UNARY(Asin, T, std::asin(a))
TENON_UNARY(Asinh, T, std::asinh(a))
TENON_UNARY(Atan, T, std::atan(a))
TENON_UNARY(Atanh, T, std::atanh(a))
TENON_UNARY(Cosh, T, std::cosh(a))
TENON_UNARY(Sinh, T, std::sinh(a))
TENON_UNARY(Tan, T, std::tan(a))
TENON_UNARY(Log10, T, std::log10(a))
TENON_UNARY(Erfc, T, std::erfc(a))
TENON_UNARY(Frac, T, a - std::trunc(a))
TENON_UNARY(Mish, T, a* std::tanh(std::log1p(std::exp(a))))
TENON_UNARY(LogSigmoid, T,
            (a < T(0) ? a : T(0)) - std::log1p(std::exp(-std::abs(a))))
TENON_UNARY(Lgamma, T, std::lgamma(static_cast<double>(a)))
TENON_UNARY(Digamma, T, Digamma(static_cast<double>(a)))
TENON_UNARY(Erfinv, T, Erfinv(static_cast<double>(a)))
TENON_UNARY(Erfcx, T, Erfcx(static_cast<double>(a)))
TENON_UNARY(Ndtr, T, Ndtr(static_cast<double>(a)))
TENON_UNARY(Ndtri, T, Ndtri(static_cast<double>(a)))
TENON_UNARY(LogNdtr, T, LogNdtr(static_cast<double>(a)))
TENON_UNARY(BesselI0, T, BesselI0(static_cast<double>(a)))
TENON_UNARY(BesselI0e, T, BesselI0e(static_cast<double>(a)))
TENON_UNARY(BesselI1, T, BesselI1(static_cast<double>(a)))
TENON_UNARY(BesselI1e, T, BesselI1e(static_cast<double>(a)))
TENON_UNARY(IsFinite, uint8_t, std::isfinite(a))
TENON_UNARY(SignBit, uint8_t, std::signbit(a))
#undef TENON_UNARY

constexpr double kPi = 3.14159265358979323846;

template <typename T>
void SincTile(void* out, const void* const* in, const double*, int64_t count) {
  Loop1<T, T>(out, in, count, [](T a) {
    if (a == T(0)) return T(1);
    const T scaled = static_cast<T>(kPi) * a;
    return std::sin(scaled) / scaled;
  });
}

template <typename T>
void EntrTile(void* out, const void* const* in, const double*, int64_t count) {
  Loop1<T, T>(out, in, count, [](T a) {
    if (std::isnan(a)) return a;
    if (a > T(0)) return -a * std::log(a);
    return a == T(0) ? T(0) : -std::numeric_limits<T>::infinity();
  });
}

template <typename T>
void LogitTile(void* out, const void* const* in, const double* params,
               int64_t count) {
  const double eps = params[0];
  Loop1<T, T>(out, in, count, [=](T a) {
    if (eps >= 0) {
      const T low = static_cast<T>(eps), high = static_cast<T>(1 - eps);
      a = a < low ? low : a > high ? high : a;
    }
    return std::log(a / (T(1) - a));
  });
}

template <typename T>
void SoftShrinkTile(void* out, const void* const* in, const double* params,
                    int64_t count) {
  const T lambda = static_cast<T>(params[0]);
  Loop1<T, T>(out, in, count, [=](T a) {
    if (std::isnan(a)) return a;
    return a > lambda ? a - lambda : a < -lambda ? a + lambda : T(0);
  });
}

template <typename T>
void RoundDecimalsTile(void* out, const void* const* in, const double* params,
                       int64_t count) {
  const T scale = static_cast<T>(std::pow(10.0, std::abs(params[0])));
  const bool is_negative = params[0] < 0;
  Loop1<T, T>(out, in, count, [=](T a) {
    return is_negative ? std::nearbyint(a / scale) * scale
                       : std::nearbyint(a * scale) / scale;
  });
}

// --- of two floating numbers ---

#define TENON_BINARY(Name, expression)                               \
  template <typename T>                                              \
  void Name##Tile(void* out, const void* const* in, const double*,   \
                  int64_t count) {                                   \
    Loop2<T>(out, in, count, [](T a, T b) { return (expression); }); \
  }

TENON_BINARY(Hypot, std::hypot(a, b))
TENON_BINARY(CopySign, std::copysign(a, b))
TENON_BINARY(NextAfter, std::nextafter(a, b))
TENON_BINARY(Xlogy, std::isnan(b) ? b : a == T(0) ? T(0) : a * std::log(b))
TENON_BINARY(Xlog1py, std::isnan(b) ? b : a == T(0) ? T(0) : a * std::log1p(b))
TENON_BINARY(Fmax, IsNan(a) ? b : IsNan(b) ? a : Maximum(a, b))
TENON_BINARY(Fmin, IsNan(a) ? b : IsNan(b) ? a : Minimum(a, b))
TENON_BINARY(Heaviside, a == T(0) ? b : static_cast<T>(a > T(0)))
TENON_BINARY(GammaP, GammaP(static_cast<double>(a), static_cast<double>(b)))
TENON_BINARY(GammaQ, GammaQ(static_cast<double>(a), static_cast<double>(b)))
TENON_BINARY(Zeta, HurwitzZeta(static_cast<double>(a), static_cast<double>(b)))
#undef TENON_BINARY

// The larger part is taken out.
template <bool kBase2, typename T>
T LogAddExp(T a, T b) {
  if (std::isinf(a) && a == b) return a;
  const T high = Maximum(a, b), low = -std::abs(a - b);
  return kBase2 ? high + static_cast<T>(std::log1p(std::exp2(low)) /
                                        0.69314718055994530942)
                : high + std::log1p(std::exp(low));
}

template <bool kBase2, typename T>
void LogAddExpTile(void* out, const void* const* in, const double*,
                   int64_t count) {
  Loop2<T>(out, in, count, [](T a, T b) { return LogAddExp<kBase2>(a, b); });
}

// From the nearer end, so that both are exact.
template <typename T>
void LerpTile(void* out, const void* const* in, const double*, int64_t count) {
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  const T* weight = static_cast<const T*>(in[2]);
  T* r = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) {
    const T w = weight[i];
    r[i] = std::abs(w) < T(0.5) ? std::fma(w, b[i] - a[i], a[i])
                                : std::fma(w - T(1), b[i] - a[i], b[i]);
  }
}

// --- of two numbers of any kind; W is what integers are computed in ---

template <typename T, typename W>
void FmodTile(void* out, const void* const* in, const double*, int64_t count) {
  Loop2<T>(out, in, count, [](T a, T b) { return Fmod<W>(a, b); });
}
template <typename T, typename W>
void DivFloorTile(void* out, const void* const* in, const double*,
                  int64_t count) {
  Loop2<T>(out, in, count, [](T a, T b) { return DivFloor<W>(a, b); });
}
template <typename T, typename W>
void DivTruncTile(void* out, const void* const* in, const double*,
                  int64_t count) {
  Loop2<T>(out, in, count, [](T a, T b) { return DivTrunc<W>(a, b); });
}

template <typename T>
void IntegerRemainderTile(void* out, const void* const* in, const double*,
                          int64_t count) {
  Loop2<T>(out, in, count, [](T a, T b) { return Remainder<int64_t>(a, b); });
}
template <typename T>
void IntegerPowTile(void* out, const void* const* in, const double*,
                    int64_t count) {
  Loop2<T>(out, in, count, [](T a, T b) { return Pow<int64_t>(a, b); });
}

// A shift by a negative amount or by all bits leaves nothing, or the sign.
template <bool kLeft, typename T>
void ShiftTile(void* out, const void* const* in, const double*, int64_t count) {
  Loop2<T>(out, in, count, [](T a, T b) {
    const auto amount = static_cast<uint64_t>(static_cast<int64_t>(b));
    if (amount >= sizeof(T) * 8) return kLeft || a >= 0 ? T(0) : T(-1);
    return kLeft ? static_cast<T>(static_cast<uint64_t>(a) << amount)
                 : static_cast<T>(a >> amount);
  });
}

template <typename T>
TileFn FindIntegerTile(TileOp op) {
  switch (op) {
    case TileOp::kFmod:
      return FmodTile<T, int64_t>;
    case TileOp::kDivFloor:
      return DivFloorTile<T, int64_t>;
    case TileOp::kDivTrunc:
      return DivTruncTile<T, int64_t>;
    case TileOp::kRemainder:
      return IntegerRemainderTile<T>;
    case TileOp::kPow:
      return IntegerPowTile<T>;
    case TileOp::kShiftLeft:
      return ShiftTile<true, T>;
    case TileOp::kShiftRight:
      return ShiftTile<false, T>;
    case TileOp::kHeaviside:
      return HeavisideTile<T>;
    default:
      return nullptr;
  }
}

template <typename T>
TileFn FindFloatingTile(TileOp op) {
  switch (op) {
#define TENON_CASE(Name) \
  case TileOp::k##Name:  \
    return Name##Tile<T>;
    TENON_CASE(Acos)
    TENON_CASE(Acosh)
    TENON_CASE(Asin)
    TENON_CASE(Asinh)
    TENON_CASE(Atan)
    TENON_CASE(Atanh)
    TENON_CASE(Cosh)
    TENON_CASE(Sinh)
    TENON_CASE(Tan)
    TENON_CASE(Log10)
    TENON_CASE(Erfc)
    TENON_CASE(Frac)
    TENON_CASE(Mish)
    TENON_CASE(LogSigmoid)
    TENON_CASE(Lgamma)
    TENON_CASE(Digamma)
    TENON_CASE(Erfinv)
    TENON_CASE(Erfcx)
    TENON_CASE(Ndtr)
    TENON_CASE(Ndtri)
    TENON_CASE(LogNdtr)
    TENON_CASE(BesselI0)
    TENON_CASE(BesselI0e)
    TENON_CASE(BesselI1)
    TENON_CASE(BesselI1e)
    TENON_CASE(IsFinite)
    TENON_CASE(SignBit)
    TENON_CASE(Sinc)
    TENON_CASE(Entr)
    TENON_CASE(Logit)
    TENON_CASE(SoftShrink)
    TENON_CASE(RoundDecimals)
    TENON_CASE(Hypot)
    TENON_CASE(CopySign)
    TENON_CASE(NextAfter)
    TENON_CASE(Xlogy)
    TENON_CASE(Xlog1py)
    TENON_CASE(Fmax)
    TENON_CASE(Fmin)
    TENON_CASE(Heaviside)
    TENON_CASE(GammaP)
    TENON_CASE(GammaQ)
    TENON_CASE(Zeta)
    TENON_CASE(Lerp)
#undef TENON_CASE
    case TileOp::kLogAddExp:
      return LogAddExpTile<false, T>;
    case TileOp::kLogAddExp2:
      return LogAddExpTile<true, T>;
    case TileOp::kFmod:
      return FmodTile<T, T>;
    case TileOp::kDivFloor:
      return DivFloorTile<T, T>;
    case TileOp::kDivTrunc:
      return DivTruncTile<T, T>;
    default:
      return nullptr;
  }
}

TileFn FindLibraryTile(TileOp op, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return FindFloatingTile<float>(op);
    case DType::kFloat64:
      return FindFloatingTile<double>(op);
    case DType::kInt32:
      return FindIntegerTile<int32_t>(op);
    case DType::kInt64:
      return FindIntegerTile<int64_t>(op);
    default:
      return nullptr;
  }
}

}  // namespace

TileFn FindTileLoop(TileOp op, DType dtype) {
  const TileFn loop = BestLoops().find_tile(op, dtype);
  return loop != nullptr ? loop : FindLibraryTile(op, dtype);
}

}  // namespace tenon::cpu
