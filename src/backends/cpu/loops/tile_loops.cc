// Elementwise operations and casts on tiles.
#include <cmath>
#include <cstdint>

#include "backends/cpu/loops/loops.h"
#include "backends/cpu/loops/loops_isa.h"
#include "backends/cpu/loops/vector_math.h"
#include "backends/cpu/narrow_types.h"

namespace tenon::cpu {
namespace TENON_CPU_ISA {
namespace {

using Bool = uint8_t;

// Calls on the C library by type, since std:: overloads would be emitted out
// of line.
inline float Pow(float a, float b) { return __builtin_powf(a, b); }
inline double Pow(double a, double b) { return __builtin_pow(a, b); }
inline float Mod(float a, float b) { return __builtin_fmodf(a, b); }
inline double Mod(double a, double b) { return __builtin_fmod(a, b); }
#define TENON_UNARY_LIBRARY(Name, function)                         \
  inline float Name(float x) { return __builtin_##function##f(x); } \
  inline double Name(double x) { return __builtin_##function(x); }
TENON_UNARY_LIBRARY(Exp2, exp2)
TENON_UNARY_LIBRARY(Expm1, expm1)
TENON_UNARY_LIBRARY(Log, log)
TENON_UNARY_LIBRARY(Log1p, log1p)
TENON_UNARY_LIBRARY(Log2, log2)
TENON_UNARY_LIBRARY(Sqrt, sqrt)
TENON_UNARY_LIBRARY(Sin, sin)
TENON_UNARY_LIBRARY(Cos, cos)
TENON_UNARY_LIBRARY(Floor, floor)
TENON_UNARY_LIBRARY(Ceil, ceil)
TENON_UNARY_LIBRARY(Trunc, trunc)
TENON_UNARY_LIBRARY(Round, rint)
TENON_UNARY_LIBRARY(Abs, fabs)
#undef TENON_UNARY_LIBRARY
inline float Atan2(float y, float x) { return __builtin_atan2f(y, x); }
inline double Atan2(double y, double x) { return __builtin_atan2(y, x); }

template <typename T, typename R, typename F>
inline __attribute__((always_inline)) void Loop1(void* out,
                                                 const void* const* in,
                                                 int64_t count, F f) {
  const T* a = static_cast<const T*>(in[0]);
  R* r = static_cast<R*>(out);
  for (int64_t i = 0; i < count; ++i) r[i] = f(a[i]);
}

template <typename T, typename R, typename F>
inline __attribute__((always_inline)) void Loop2(void* out,
                                                 const void* const* in,
                                                 int64_t count, F f) {
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  R* r = static_cast<R*>(out);
  for (int64_t i = 0; i < count; ++i) r[i] = f(a[i], b[i]);
}

// TENON_TILE_n(name, result type, expression over a, b, p, q)
#define TENON_TILE_1(Name, R, expression)                                  \
  template <typename T>                                                    \
  void Name##Tile(void* out, const void* const* in, const double* params,  \
                  int64_t count) {                                         \
    [[maybe_unused]] const T p = params ? static_cast<T>(params[0]) : T(); \
    [[maybe_unused]] const T q = params ? static_cast<T>(params[1]) : T(); \
    Loop1<T, R>(out, in, count,                                            \
                [=](T a) { return static_cast<R>(expression); });          \
  }
#define TENON_TILE_2(Name, R, expression)                                  \
  template <typename T>                                                    \
  void Name##Tile(void* out, const void* const* in, const double* params,  \
                  int64_t count) {                                         \
    [[maybe_unused]] const T p = params ? static_cast<T>(params[0]) : T(); \
    Loop2<T, R>(out, in, count,                                            \
                [=](T a, T b) { return static_cast<R>(expression); });     \
  }

TENON_TILE_1(Copy, T, a)
TENON_TILE_2(Add, T, a + b)
TENON_TILE_2(Sub, T, a - b)
TENON_TILE_2(Mul, T, a* b)
TENON_TILE_2(Div, T, a / b)
TENON_TILE_2(AddScaled, T, a + p * b)
TENON_TILE_2(Max, T, a != a ? a : (b != b ? b : (a > b ? a : b)))
TENON_TILE_2(Min, T, a != a ? a : (b != b ? b : (a < b ? a : b)))
TENON_TILE_2(Pow, T, Pow(a, b))
TENON_TILE_2(Atan2, T, Atan2(a, b))
TENON_TILE_2(And, T, a& b)
TENON_TILE_2(Or, T, a | b)
TENON_TILE_2(Xor, T, a ^ b)
TENON_TILE_2(Eq, Bool, a == b)
TENON_TILE_2(Ne, Bool, a != b)
TENON_TILE_2(Lt, Bool, a < b)
TENON_TILE_2(Le, Bool, a <= b)
TENON_TILE_2(Gt, Bool, a > b)
TENON_TILE_2(Ge, Bool, a >= b)
TENON_TILE_1(Not, T, a == 0)
TENON_TILE_1(Neg, T, -a)
TENON_TILE_1(AbsFloating, T, Abs(a))
TENON_TILE_1(AbsInteger, T, a < 0 ? -a : a)
TENON_TILE_1(Square, T, a* a)
TENON_TILE_1(Relu, T, a < 0 ? T(0) : a)
TENON_TILE_1(BitNot, T, ~a)
TENON_TILE_1(Sign, T, (a > 0) - (a < 0))
TENON_TILE_1(Exp, T, Exp(a))
TENON_TILE_1(Exp2, T, Exp2(a))
TENON_TILE_1(Expm1, T, Expm1(a))
TENON_TILE_1(Log, T, Log(a))
TENON_TILE_1(Log1p, T, Log1p(a))
TENON_TILE_1(Log2, T, Log2(a))
TENON_TILE_1(Sqrt, T, Sqrt(a))
TENON_TILE_1(Rsqrt, T, T(1) / Sqrt(a))
TENON_TILE_1(Reciprocal, T, T(1) / a)
TENON_TILE_1(Tanh, T, Tanh(a))
TENON_TILE_1(Sigmoid, T, Sigmoid(a))
TENON_TILE_1(Silu, T, a / (T(1) + Exp(-a)))
TENON_TILE_1(Gelu, T, Gelu(a))
TENON_TILE_1(GeluTanh, T,
             T(0.5) * a *
                 (T(1) + Tanh(T(0.79788456080286535588) *
                              (a + T(0.044715) * a * a * a))))
TENON_TILE_1(Erf, T, Erf(a))
TENON_TILE_1(Sin, T, Sin(a))
TENON_TILE_1(Cos, T, Cos(a))
TENON_TILE_1(Floor, T, Floor(a))
TENON_TILE_1(Ceil, T, Ceil(a))
TENON_TILE_1(Trunc, T, Trunc(a))
TENON_TILE_1(Round, T, Round(a))
TENON_TILE_1(HardSigmoid, T,
             (a + T(3) < 0 ? T(0) : (a + T(3) > T(6) ? T(6) : a + T(3))) / T(6))
TENON_TILE_1(HardSwish, T,
             a*(a + T(3) < 0 ? T(0) : (a + T(3) > T(6) ? T(6) : a + T(3))) /
                 T(6))
TENON_TILE_1(LeakyRelu, T, a > 0 ? a : a * p)
TENON_TILE_1(Elu, T, a < 0 ? p * Expm1(a) : a)
TENON_TILE_1(Softplus, T, a* p > q ? a : Log1p(Exp(a * p)) / p)
TENON_TILE_1(PowScalar, T, Pow(a, p))
TENON_TILE_1(IsNan, Bool, a != a)
TENON_TILE_1(IsInf, Bool, Abs(a) == T(__builtin_inff()))
#undef TENON_TILE_1
#undef TENON_TILE_2

template <typename T>
void RemainderTile(void* out, const void* const* in, const double*,
                   int64_t count) {
  Loop2<T, T>(out, in, count, [](T a, T b) {
    const T mod = Mod(a, b);
    return mod != 0 && (b < 0) != (mod < 0) ? mod + b : mod;
  });
}

template <typename T>
void WhereTile(void* out, const void* const* in, const double*, int64_t count) {
  const Bool* c = static_cast<const Bool*>(in[0]);
  const T* a = static_cast<const T*>(in[1]);
  const T* b = static_cast<const T*>(in[2]);
  T* r = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) r[i] = c[i] != 0 ? a[i] : b[i];
}

template <typename T>
void AddcmulTile(void* out, const void* const* in, const double* params,
                 int64_t count) {
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  const T* c = static_cast<const T*>(in[2]);
  const T p = static_cast<T>(params[0]);
  T* r = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) r[i] = a[i] + p * b[i] * c[i];
}

// What every type has.
template <typename T>
TileFn FindAnyTile(TileOp op) {
  switch (op) {
    case TileOp::kCopy:
      return CopyTile<T>;
    case TileOp::kEq:
      return EqTile<T>;
    case TileOp::kNe:
      return NeTile<T>;
    case TileOp::kLt:
      return LtTile<T>;
    case TileOp::kLe:
      return LeTile<T>;
    case TileOp::kGt:
      return GtTile<T>;
    case TileOp::kGe:
      return GeTile<T>;
    case TileOp::kMax:
      return MaxTile<T>;
    case TileOp::kMin:
      return MinTile<T>;
    case TileOp::kWhere:
      return WhereTile<T>;
    default:
      return nullptr;
  }
}

// What numbers have. U is T without signed overflow.
template <typename T, typename U>
TileFn FindNumberTile(TileOp op) {
  switch (op) {
    case TileOp::kAdd:
      return AddTile<U>;
    case TileOp::kSub:
      return SubTile<U>;
    case TileOp::kMul:
      return MulTile<U>;
    case TileOp::kAddScaled:
      return AddScaledTile<T>;
    case TileOp::kNeg:
      return NegTile<U>;
    case TileOp::kSquare:
      return SquareTile<U>;
    case TileOp::kRelu:
      return ReluTile<T>;
    case TileOp::kSign:
      return SignTile<T>;
    case TileOp::kAddcmul:
      return AddcmulTile<T>;
    default:
      return FindAnyTile<T>(op);
  }
}

template <typename T, typename U>
TileFn FindIntegerTile(TileOp op) {
  switch (op) {
    case TileOp::kAnd:
      return AndTile<T>;
    case TileOp::kOr:
      return OrTile<T>;
    case TileOp::kXor:
      return XorTile<T>;
    case TileOp::kBitNot:
      return BitNotTile<T>;
    case TileOp::kAbs:
      return AbsIntegerTile<T>;
    default:
      return FindNumberTile<T, U>(op);
  }
}

TileFn FindBoolTile(TileOp op) {
  switch (op) {
    case TileOp::kAnd:
    case TileOp::kMul:
      return AndTile<Bool>;
    case TileOp::kOr:
    case TileOp::kAdd:
      return OrTile<Bool>;
    case TileOp::kXor:
      return XorTile<Bool>;
    case TileOp::kNot:
    case TileOp::kBitNot:
      return NotTile<Bool>;
    default:
      return FindAnyTile<Bool>(op);
  }
}

template <typename T>
TileFn FindFloatingTile(TileOp op) {
  switch (op) {
#define TENON_CASE(Name) \
  case TileOp::k##Name:  \
    return Name##Tile<T>;
    TENON_CASE(Div)
    TENON_CASE(Pow)
    TENON_CASE(Remainder)
    TENON_CASE(Atan2)
    TENON_CASE(Exp)
    TENON_CASE(Exp2)
    TENON_CASE(Expm1)
    TENON_CASE(Log)
    TENON_CASE(Log1p)
    TENON_CASE(Log2)
    TENON_CASE(Sqrt)
    TENON_CASE(Rsqrt)
    TENON_CASE(Reciprocal)
    TENON_CASE(Tanh)
    TENON_CASE(Sigmoid)
    TENON_CASE(Silu)
    TENON_CASE(Gelu)
    TENON_CASE(GeluTanh)
    TENON_CASE(Erf)
    TENON_CASE(Sin)
    TENON_CASE(Cos)
    TENON_CASE(Floor)
    TENON_CASE(Ceil)
    TENON_CASE(Trunc)
    TENON_CASE(Round)
    TENON_CASE(HardSigmoid)
    TENON_CASE(HardSwish)
    TENON_CASE(LeakyRelu)
    TENON_CASE(Elu)
    TENON_CASE(Softplus)
    TENON_CASE(PowScalar)
    TENON_CASE(IsNan)
    TENON_CASE(IsInf)
#undef TENON_CASE
    case TileOp::kAbs:
      return AbsFloatingTile<T>;
    default:
      return FindNumberTile<T, T>(op);
  }
}

// --- casts ---

template <typename From, typename To>
void CastTile(void* out, const void* const* in, const double*, int64_t count) {
  Loop1<From, To>(out, in, count, [](From a) { return static_cast<To>(a); });
}

// What is out of range, or not a number, becomes the smallest integer.
template <typename From, typename To>
void FloatToIntegerTile(void* out, const void* const* in, const double*,
                        int64_t count) {
  constexpr From kLimit = sizeof(To) == 8 ? From(0x1p63) : From(0x1p31);
  constexpr To kLeast =
      static_cast<To>(sizeof(To) == 8 ? INT64_MIN : INT32_MIN);
  Loop1<From, To>(out, in, count, [](From a) {
    return a >= -kLimit && a < kLimit ? static_cast<To>(a) : kLeast;
  });
}

template <typename From, typename To>
TileFn FindIntegerCast() {
  if constexpr (static_cast<From>(0.5) != 0) {
    return FloatToIntegerTile<From, To>;
  } else {
    return CastTile<From, To>;
  }
}

template <typename From>
void CastToBoolTile(void* out, const void* const* in, const double*,
                    int64_t count) {
  Loop1<From, Bool>(out, in, count, [](From a) { return Bool(a != 0); });
}

template <typename From>
TileFn FindCastFrom(DType to) {
  switch (to) {
    case DType::kFloat32:
      return CastTile<From, float>;
    case DType::kFloat64:
      return CastTile<From, double>;
    case DType::kInt64:
      return FindIntegerCast<From, int64_t>();
    case DType::kInt32:
      return FindIntegerCast<From, int32_t>();
    case DType::kBool:
      return CastToBoolTile<From>;
    default:
      return nullptr;
  }
}

}  // namespace

TileFn FindTile(TileOp op, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return FindFloatingTile<float>(op);
    case DType::kFloat64:
      return FindFloatingTile<double>(op);
    case DType::kInt64:
      return FindIntegerTile<int64_t, uint64_t>(op);
    case DType::kInt32:
      return FindIntegerTile<int32_t, uint32_t>(op);
    case DType::kBool:
      return FindBoolTile(op);
    default:
      return FindNarrowTile(op, dtype);
  }
}

TileFn FindCast(DType from, DType to) {
  if (IsNarrow(from) || IsNarrow(to)) return FindNarrowCast(from, to);
  switch (from) {
    case DType::kFloat32:
      return FindCastFrom<float>(to);
    case DType::kFloat64:
      return FindCastFrom<double>(to);
    case DType::kInt64:
      return FindCastFrom<int64_t>(to);
    case DType::kInt32:
      return FindCastFrom<int32_t>(to);
    case DType::kBool:
      return FindCastFrom<uint8_t>(to);
    default:
      return nullptr;
  }
}

}  // namespace TENON_CPU_ISA
}  // namespace tenon::cpu
