// Special functions of mathematics, in double.
//
// Plain methods with wide margins: power series where terms decay, asymptotic
// series where the argument is large, Newton steps for inverses. Arguments
// outside a function's domain give nan and poles infinities; at infinity most
// give nan, as in PyTorch, even where a limit exists.
#pragma once

#include <cmath>

namespace tenon {

double Digamma(double x);
// sum over k >= 0 of (k + q)^-x.
double HurwitzZeta(double x, double q);
// The n-th derivative of Digamma, n from 0, but see Trigamma.
double Polygamma(int n, double x);

// The first derivative of Digamma in T. At its poles PyTorch's reflection
// formula shows how far sin(pi x) is from 0, which depends on the type.
template <typename T>
T Trigamma(T x) {
  if (!(x < T(0.5)))
    return static_cast<T>(HurwitzZeta(2, static_cast<double>(x)));
  const T sine = std::sin(static_cast<T>(M_PI) * x);
  const T pole = static_cast<T>(M_PI) * static_cast<T>(M_PI) / (sine * sine);
  return pole - Trigamma(T(1) - x);
}
// log of the multivariate gamma function of dimension p.
double MultiLgamma(double x, int p);
// The regularised incomplete gamma functions P(a, x) and Q(a, x) = 1 - P.
double GammaP(double a, double x);
double GammaQ(double a, double x);

double Erfinv(double y);
double Erfcx(double x);    // exp(x^2) erfc(x)
double Ndtr(double x);     // the normal distribution function
double Ndtri(double p);    // its inverse
double LogNdtr(double x);  // its logarithm

double BesselI0(double x);
double BesselI0e(double x);  // exp(-|x|) I0(x)
double BesselI1(double x);
double BesselI1e(double x);
double BesselJ0(double x);
double BesselJ1(double x);
double BesselY0(double x);
double BesselY1(double x);
double BesselK0(double x);
double BesselK1(double x);
double ScaledBesselK0(double x);  // exp(x) K0(x)
double ScaledBesselK1(double x);
double SphericalBesselJ0(double x);  // sin(x) / x
double AiryAi(double x);

}  // namespace tenon
