#include "kernels/special_math.h"

#include <math.h>  // NOLINT: j0 and friends are POSIX, not in <cmath>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace tenon {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kSqrtPi = 1.7724538509055160273;

// Coefficients B(2k) of Euler and Maclaurin's formula, over (2k)!.
constexpr double kBernoulli[] = {1.0 / 12,         -1.0 / 720,
                                 1.0 / 30240,      -1.0 / 1209600,
                                 1.0 / 47900160,   -691.0 / 1307674368000,
                                 1.0 / 74724249600};

// exp(-x^2) with the rounding error of the square put back.
double ExpMinusSquare(double x) {
  const double square = x * x;
  return std::exp(-square) * std::exp(-std::fma(x, x, -square));
}

// The x > 0 with erfc(x) = q, 0 < q < 1: Newton on the logarithm.
double ErfcInverse(double q) {
  double x = std::sqrt(std::max(-std::log(q) - 0.5, 0.01));
  for (int i = 0; i < 60; ++i) {
    const double value = std::erfc(x);
    if (value == 0) {
      x *= 0.9;
      continue;
    }
    const double slope = -2 / kSqrtPi * ExpMinusSquare(x) / value;
    const double step = (std::log(value) - std::log(q)) / slope;
    const double next = x - step;
    const double bounded = next > 0 ? next : x / 2;
    if (std::abs(bounded - x) <= 2 * kEpsilon * std::abs(x)) return bounded;
    x = bounded;
  }
  return x;
}

// K_order(x) exp(x), by the trapezoidal rule on the integral of
// exp(-x (cosh t - 1)) cosh(order t); the integrand is entire and decays
// doubly exponentially, so that a step of 1/16 is exact to rounding.
double ScaledBesselK(double order, double x) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return kInf;
  if (std::isinf(x)) return 0;
  constexpr double kStep = 1.0 / 16;
  double sum = 0.5;
  for (int i = 1;; ++i) {
    const double t = i * kStep;
    const double half = std::sinh(t / 2);
    const double decay = x * 2 * half * half;
    if (decay - order * t > 750) break;
    sum += std::exp(order * t - decay) * (1 + std::exp(-2 * order * t)) / 2;
  }
  return sum * kStep;
}

// I_order(x) exp(-x) for x >= 0, order 0 or 1.
double ScaledBesselI(int order, double x) {
  if (x > 30) {
    // 1 - (m-1)/(8x) + (m-1)(m-9)/(2! (8x)^2) - ..., m = 4 order^2.
    const double m = 4.0 * order * order;
    double term = 1, sum = 1;
    for (int k = 1; k < 60; ++k) {
      const double odd = 2 * k - 1;
      const double next = -term * (m - odd * odd) / (k * 8 * x);
      if (std::abs(next) > std::abs(term)) break;
      term = next;
      sum += term;
    }
    return sum / std::sqrt(2 * M_PI * x);
  }
  const double square = x * x / 4;
  double term = order == 0 ? 1 : x / 2, sum = term;
  for (int k = 1; term > sum * kEpsilon / 4; ++k) {
    term *= square / (static_cast<double>(k) * (k + order));
    sum += term;
  }
  return sum * std::exp(-x);
}

// x^a e^-x / Gamma(a), without overflow on the way.
double GammaPrefix(double a, double x) {
  return std::exp(a * std::log(x) - x - std::lgamma(a));
}

double GammaSeries(double a, double x) {
  double term = 1 / a, sum = term;
  for (int n = 1; n < 100000 && term > sum * kEpsilon / 2; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return sum * GammaPrefix(a, x);
}

// Lentz's evaluation of the continued fraction of Q.
double GammaFraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, result = d;
  for (int i = 1; i < 100000; ++i) {
    const double numerator = -i * (i - a);
    b += 2;
    d = numerator * d + b;
    if (std::abs(d) < kTiny) d = kTiny;
    c = b + numerator / c;
    if (std::abs(c) < kTiny) c = kTiny;
    d = 1 / d;
    const double factor = d * c;
    result *= factor;
    if (std::abs(factor - 1) < kEpsilon) break;
  }
  return result * GammaPrefix(a, x);
}

}  // namespace

double Digamma(double x) {
  if (x == 0) return std::copysign(kInf, -x);
  if (std::isinf(x)) return x > 0 ? x : kNan;
  if (x < 0) {
    if (x == std::floor(x)) return kNan;
    // Reflection; the fraction first, since tan of large numbers is rough.
    const double fraction = x - std::floor(x);
    return Digamma(1 - x) - M_PI / std::tan(M_PI * fraction);
  }
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  const double y = 1 / (x * x);
  const double tail =
      y *
      (1.0 / 12 -
       y * (1.0 / 120 -
            y * (1.0 / 252 -
                 y * (1.0 / 240 - y * (1.0 / 132 - y * (691.0 / 32760 -
                                                        y * (1.0 / 12)))))));
  return sum + std::log(x) - 0.5 / x - tail;
}

double HurwitzZeta(double x, double q) {
  if (x == 1) return kInf;
  if (x < 1) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return kInf;
    if (x != std::floor(x)) return kNan;  // a power of a negative number
  }
  if (std::isnan(x) || !std::isfinite(q)) return kNan;
  // Terms until the rest is smooth, then Euler and Maclaurin.
  double sum = 0, base = q;
  for (int k = 0; k < 20 || base < 10; ++k, base += 1) {
    const double term = std::pow(base, -x);
    sum += term;
    if (base > 0 && std::abs(term) < std::abs(sum) * kEpsilon / 8) return sum;
    if (k > 1000000) return kNan;
  }
  const double power = std::pow(base, -x);
  sum += power * base / (x - 1) + power / 2;
  double factor = x * power / base;
  for (size_t k = 0; k < std::size(kBernoulli); ++k) {
    sum += kBernoulli[k] * factor;
    const double n = static_cast<double>(2 * k);
    factor *= (x + n + 1) * (x + n + 2) / (base * base);
  }
  return sum;
}

double Polygamma(int n, double x) {
  if (n == 0) return Digamma(x);
  const double sign = n % 2 == 0 ? -1 : 1;
  return sign * std::tgamma(n + 1.0) * HurwitzZeta(n + 1.0, x);
}

double MultiLgamma(double x, int p) {
  double sum = 0.25 * p * (p - 1) * std::log(M_PI);
  for (int j = 0; j < p; ++j) sum += std::lgamma(x - 0.5 * j);
  return sum;
}

double GammaP(double a, double x) {
  if (a < 0 || x < 0) return kNan;
  if (a == 0) return x > 0 ? 1 : kNan;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 0;
  if (std::isinf(x)) return 1;
  if (std::isnan(a) || std::isnan(x)) return kNan;
  return x < a + 1 ? GammaSeries(a, x) : 1 - GammaFraction(a, x);
}

double GammaQ(double a, double x) {
  if (a < 0 || x < 0) return kNan;
  if (a == 0) return x > 0 ? 0 : kNan;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 1;
  if (std::isinf(x)) return 0;
  if (std::isnan(a) || std::isnan(x)) return kNan;
  return x < a + 1 ? 1 - GammaSeries(a, x) : GammaFraction(a, x);
}

double Erfinv(double y) {
  if (std::isnan(y) || std::abs(y) > 1) return kNan;
  if (std::abs(y) == 1) return std::copysign(kInf, y);
  if (std::abs(y) > 0.5) {
    return std::copysign(ErfcInverse(1 - std::abs(y)), y);
  }
  // Newton from the linear term; erf is nearly straight here.
  double x = y * kSqrtPi / 2;
  for (int i = 0; i < 20; ++i) {
    const double step = (std::erf(x) - y) / (2 / kSqrtPi * ExpMinusSquare(x));
    x -= step;
    if (std::abs(step) <= kEpsilon * std::abs(x)) break;
  }
  return x;
}

double Erfcx(double x) {
  if (x < 25) return std::exp(x * x) * std::erfc(x);
  const double y = 1 / (2 * x * x);
  return (1 - y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y)))) / (x * kSqrtPi);
}

double Ndtr(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }

double Ndtri(double p) {
  if (std::isnan(p) || p < 0 || p > 1) return kNan;
  if (p == 0) return -kInf;
  if (p == 1) return kInf;
  // 1 - 2p is exact where p is near 1/2; the tails need p itself.
  if (p > 0.25 && p < 0.75) return -M_SQRT2 * Erfinv(1 - 2 * p);
  return p < 0.5 ? -M_SQRT2 * ErfcInverse(2 * p)
                 : M_SQRT2 * ErfcInverse(2 * (1 - p));
}

double LogNdtr(double x) {
  const double t = x * M_SQRT1_2;
  if (x < -1) return std::log(Erfcx(-t) / 2) - t * t;
  return std::log1p(-std::erfc(t) / 2);
}

double BesselI0e(double x) {
  return std::isnan(x) ? x : ScaledBesselI(0, std::abs(x));
}
double BesselI0(double x) {
  if (std::isinf(x)) return kNan;
  return BesselI0e(x) * std::exp(std::abs(x));
}
double BesselI1e(double x) {
  if (std::isnan(x)) return x;
  return std::copysign(ScaledBesselI(1, std::abs(x)), x);
}
double BesselI1(double x) {
  if (std::isinf(x)) return kNan;
  return BesselI1e(x) * std::exp(std::abs(x));
}

double BesselJ0(double x) { return std::isinf(x) ? kNan : ::j0(x); }
double BesselJ1(double x) { return std::isinf(x) ? kNan : ::j1(x); }
double BesselY0(double x) {
  if (x < 0 || std::isinf(x)) return kNan;
  return x == 0 ? -kInf : ::y0(x);
}
double BesselY1(double x) {
  if (x < 0 || std::isinf(x)) return kNan;
  return x == 0 ? -kInf : ::y1(x);
}

double ScaledBesselK0(double x) { return ScaledBesselK(0, x); }
double ScaledBesselK1(double x) { return ScaledBesselK(1, x); }
double BesselK0(double x) { return ScaledBesselK(0, x) * std::exp(-x); }
double BesselK1(double x) { return ScaledBesselK(1, x) * std::exp(-x); }

double SphericalBesselJ0(double x) {
  if (std::isinf(x)) return 0;
  return x == 0 ? 1 : std::sin(x) / x;
}

double AiryAi(double x) {
  if (!std::isfinite(x)) return kNan;
  if (x > 1) {
    const double zeta = 2.0 / 3 * x * std::sqrt(x);
    return std::sqrt(x / 3) / M_PI * ScaledBesselK(1.0 / 3, zeta) *
           std::exp(-zeta);
  }
  if (x < -8) {
    // sin and cos of zeta + pi/4, each times a series in 1 / zeta.
    const double zeta = 2.0 / 3 * -x * std::sqrt(-x);
    double term = 1, even = 1, odd = 0;
    for (int k = 1; k < 40; ++k) {
      const double next =
          term * (6.0 * k - 5) * (6.0 * k - 1) / (72.0 * k * zeta);
      if (next > term) break;
      term = next;
      const double sign = k % 4 < 2 ? 1 : -1;
      (k % 2 == 0 ? even : odd) += sign * term;
    }
    const double phase = zeta + M_PI / 4;
    return (std::sin(phase) * even - std::cos(phase) * odd) /
           (kSqrtPi * std::pow(-x, 0.25));
  }
  // Maclaurin: c1 f(x) - c2 g(x).
  const long double cube = static_cast<long double>(x) * x * x;
  long double f = 1, g = x, f_term = 1, g_term = x;
  for (int k = 1; k < 200; ++k) {
    f_term *= cube / ((3.0L * k - 1) * (3.0L * k));
    g_term *= cube / ((3.0L * k) * (3.0L * k + 1));
    f += f_term;
    g += g_term;
    if (std::abs(f_term) + std::abs(g_term) < 1e-22L) break;
  }
  return static_cast<double>(0.355028053887817239260L * f -
                             0.258819403792806798405L * g);
}

}  // namespace tenon
