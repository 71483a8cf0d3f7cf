// sum, prod, mean, any, all, norms and logsumexp.
#include <cmath>
#include <limits>

#include "kernels/arithmetic.h"
#include "kernels/compose.h"
#include "kernels/promotion.h"
#include "kernels/reduction.h"
#include "kernels/views.h"

namespace tenon {
namespace {

template <typename T>
T Identity(T x) {
  return x;
}

template <typename C>
C SumOf(std::span<const C> line) {
  if constexpr (kIsInteger<C>) {
    C sum = 0;
    for (const C value : line) sum = Add(sum, value);
    return sum;
  } else {
    return PairwiseSum(line, Identity<C>);
  }
}

template <typename C>
C ProductOf(std::span<const C> line) {
  C product(1);
  for (const C value : line) product = Mul(product, value);
  return product;
}

// --- sum, prod, mean ---

// Where an operator's arguments stand; -1 = it has no such argument.
struct Positions {
  int dims = -1;
  int keepdim = -1;
  int dtype = -1;
};

bool ReadPositions(KernelCall& call, const Positions& at, const Tensor& self,
                   std::vector<bool>* reduced, bool* keepdim) {
  *keepdim = at.keepdim >= 0 && call.Bool(static_cast<size_t>(at.keepdim));
  return ReadDims(
      call, self,
      at.dims >= 0 ? call.arg(static_cast<size_t>(at.dims)) : RuntimeValue(),
      true, reduced);
}

template <typename F>
bool Accumulate(KernelCall& call, const Positions& at, Tensor self, F f) {
  std::vector<bool> reduced;
  bool keepdim = false;
  if (!CastTo(call, static_cast<size_t>(at.dtype), SumDType(self.dtype()),
              &self) ||
      !ReadPositions(call, at, self, &reduced, &keepdim)) {
    return false;
  }
  Tensor out;
  const bool ok = DispatchCompute(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    return ReduceLines<C>(call, self, reduced, keepdim, self.dtype(), f, &out);
  });
  if (ok) call.Return(out);
  return ok;
}

constexpr Positions kWhole = {-1, -1, 1};
constexpr Positions kByDim = {1, 2, 3};

template <const Positions& kAt>
bool Sum(KernelCall& call) {
  return Accumulate(call, kAt, call.tensor(0),
                    [](auto line) { return SumOf(line); });
}

template <const Positions& kAt>
bool Product(KernelCall& call) {
  return Accumulate(call, kAt, call.tensor(0),
                    [](auto line) { return ProductOf(line); });
}

template <typename C>
C SkipNan(C value) {
  return IsNan(value) ? C(0) : value;
}

bool Nansum(KernelCall& call) {
  if (IsComplex(call.tensor(0).dtype())) {
    return call.Fail("nansum isn't defined for complex");
  }
  return Accumulate(call, kByDim, call.tensor(0), [](auto line) {
    using C = std::remove_cv_t<typename decltype(line)::element_type>;
    if constexpr (kIsInteger<C>) {
      return SumOf(line);
    } else {
      return PairwiseSum(line, SkipNan<C>);
    }
  });
}

bool CheckMeanDType(KernelCall& call, DType dtype) {
  if (IsFloating(dtype) || IsComplex(dtype)) return true;
  return call.Fail("a mean of " + std::string(Name(dtype)) +
                   " needs a floating dtype");
}

template <const Positions& kAt>
bool Mean(KernelCall& call) {
  Tensor self = call.tensor(0);
  std::vector<bool> reduced;
  bool keepdim = false;
  if (!CastTo(call, static_cast<size_t>(kAt.dtype), self.dtype(), &self) ||
      !CheckMeanDType(call, self.dtype()) ||
      !ReadPositions(call, kAt, self, &reduced, &keepdim)) {
    return false;
  }
  Tensor out;
  const bool ok = DispatchFloating(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    return ReduceLines<C>(
        call, self, reduced, keepdim, self.dtype(),
        [](std::span<const C> line) {
          return SumOf(line) / C(static_cast<float>(line.size()));
        },
        &out);
  });
  if (ok) call.Return(out);
  return ok;
}

bool Nanmean(KernelCall& call) {
  Tensor self = call.tensor(0);
  std::vector<bool> reduced;
  bool keepdim = false;
  if (!IsFloating(self.dtype())) {
    return call.Fail("nanmean is defined for floating kinds only");
  }
  if (!CastTo(call, 3, self.dtype(), &self) ||
      !CheckMeanDType(call, self.dtype()) ||
      !ReadPositions(call, kByDim, self, &reduced, &keepdim)) {
    return false;
  }
  Tensor out;
  const bool ok = DispatchReal(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    return ReduceLines<C>(
        call, self, reduced, keepdim, self.dtype(),
        [](std::span<const C> line) {
          C count(0);
          for (const C value : line) count += IsNan(value) ? C(0) : C(1);
          return PairwiseSum(line, SkipNan<C>) / count;
        },
        &out);
  });
  if (ok) call.Return(out);
  return ok;
}

// --- any, all, count_nonzero ---

enum class Quantifier { kAny, kAll };

template <Quantifier kQuantifier, bool kEmptyIsAll>
bool Quantify(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  std::vector<bool> reduced;
  const bool has_dims = call.num_args() > 1;
  if (!ReadDims(call, self, has_dims ? call.arg(1) : RuntimeValue(),
                kEmptyIsAll, &reduced)) {
    return false;
  }
  const DType result =
      self.dtype() == DType::kUInt8 ? DType::kUInt8 : DType::kBool;
  Tensor out;
  const bool ok = DispatchCompute(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    return ReduceLines<C>(
        call, self, reduced, has_dims && call.Bool(2), result,
        [](std::span<const C> line) {
          constexpr bool any = kQuantifier == Quantifier::kAny;
          for (const C value : line) {
            if ((value != C(0)) == any) return int64_t{any};
          }
          return int64_t{!any};
        },
        &out);
  });
  if (ok) call.Return(out);
  return ok;
}

bool CountNonzero(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  std::vector<bool> reduced;
  if (!ReadDims(call, self, call.arg(1), true, &reduced)) return false;
  Tensor out;
  const bool ok = DispatchCompute(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    return ReduceLines<C>(
        call, self, reduced, false, DType::kInt64,
        [](std::span<const C> line) {
          int64_t count = 0;
          for (const C value : line) count += value != C(0) ? 1 : 0;
          return count;
        },
        &out);
  });
  if (ok) call.Return(out);
  return ok;
}

// --- norms ---

// (sum |x|^p)^(1/p); 0 counts, infinities are extremes. In double whatever
// the dtype, since powers leave the range of float early.
template <typename C>
double NormOf(std::span<const C> line, double order) {
  const auto magnitude = [](C x) { return static_cast<double>(std::abs(x)); };
  double norm = order < 0 && std::isinf(order)
                    ? std::numeric_limits<double>::infinity()
                    : 0.0;
  for (const C value : line) {
    const double x = magnitude(value);
    if (std::isinf(order)) {
      norm = order > 0 ? Maximum(norm, x) : Minimum(norm, x);
    } else if (order == 0) {
      norm += x != 0 ? 1 : 0;
    } else if (order == 1) {
      norm += x;
    } else if (order == 2) {
      norm += x * x;
    } else {
      norm += std::pow(x, order);
    }
  }
  if (std::isinf(order) || order == 0 || order == 1) return norm;
  return order == 2 ? std::sqrt(norm) : std::pow(norm, 1 / order);
}

bool VectorNorm(KernelCall& call, Tensor self, double order,
                const RuntimeValue& dims, bool keepdim) {
  std::vector<bool> reduced;
  if (!IsFloating(self.dtype()) && !IsComplex(self.dtype())) {
    return call.Fail("norms are defined for floating and complex kinds");
  }
  if (!ReadDims(call, self, dims, true, &reduced)) return false;
  if (LineLength(self, reduced) == 0 &&
      (order < 0 || (std::isinf(order) && order > 0))) {
    return call.Fail("this norm of no elements isn't defined");
  }
  Tensor out;
  const bool ok = DispatchFloating(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    return ReduceLines<C>(
        call, self, reduced, keepdim, RealDType(self.dtype()),
        [order](std::span<const C> line) { return NormOf(line, order); }, &out);
  });
  if (ok) call.Return(out);
  return ok;
}

// linalg_vector_norm(self, ord, dim, keepdim, *, dtype)
bool LinalgVectorNorm(KernelCall& call) {
  Tensor self = call.tensor(0);
  return CastTo(call, 4, self.dtype(), &self) &&
         VectorNorm(call, self, call.Float(1), call.arg(2), call.Bool(3));
}

// norm(self, p, dim, keepdim); no p is 2.
bool Norm(KernelCall& call) {
  const double order = call.is_none(1) ? 2.0 : call.Float(1);
  return VectorNorm(call, call.tensor(0), order, call.arg(2), call.Bool(3));
}

bool Dist(KernelCall& call) {
  Tensor difference;
  return CallKernel(call, "aten.sub.Tensor", {call.arg(0), call.arg(1)},
                    &difference) &&
         VectorNorm(call, difference, call.Float(2), {}, false);
}

// --- logsumexp ---

template <typename C>
auto RealPart(C value) {
  if constexpr (kIsComplex<C>) {
    return value.real();
  } else {
    return value;
  }
}

template <typename C>
C LogSumExp(std::span<const C> line) {
  using Real = decltype(RealPart(C()));
  Real largest = -std::numeric_limits<Real>::infinity();
  for (const C value : line) largest = Maximum(largest, RealPart(value));
  // An infinite maximum would give inf - inf.
  const Real shift = std::isinf(largest) ? Real(0) : largest;
  return std::log(
             PairwiseSum(line, [shift](C x) { return std::exp(x - shift); })) +
         shift;
}

bool Logsumexp(KernelCall& call) {
  const Tensor& given = call.tensor(0);
  std::vector<bool> reduced;
  if (call.arg(1).is_list() && call.arg(1).list().empty()) {
    return call.Fail("logsumexp needs a dimension");
  }
  const Tensor self = Cast(given, IntToFloat(given.dtype()));
  if (!self.defined()) return call.Fail("no memory");
  if (!ReadDims(call, self, call.arg(1), false, &reduced)) return false;
  Tensor out;
  const bool ok = DispatchFloating(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    return ReduceLines<C>(
        call, self, reduced, call.Bool(2), self.dtype(),
        [](std::span<const C> line) { return LogSumExp(line); }, &out);
  });
  if (ok) call.Return(out);
  return ok;
}

bool Trace(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  if (self.dim() != 2) return call.Fail("a trace needs a matrix");
  const int64_t count = std::min(self.size(0), self.size(1));
  return ForwardTo(
      call, "aten.sum.default",
      {self.View({count}, {self.stride(0) + self.stride(1)}, self.offset())});
}

constexpr KernelEntry kEntries[] = {
    {"aten.sum.default", Sum<kWhole>},
    {"aten.sum.dim_IntList", Sum<kByDim>},
    {"aten.prod.default", Product<kWhole>},
    {"aten.prod.dim_int", Product<kByDim>},
    {"aten.nansum.default", Nansum},
    {"aten.mean.default", Mean<kWhole>},
    {"aten.mean.dim", Mean<kByDim>},
    {"aten.nanmean.default", Nanmean},
    {"aten.any.default", Quantify<Quantifier::kAny, true>},
    {"aten.any.dim", Quantify<Quantifier::kAny, true>},
    {"aten.any.dims", Quantify<Quantifier::kAny, false>},
    {"aten.all.default", Quantify<Quantifier::kAll, true>},
    {"aten.all.dim", Quantify<Quantifier::kAll, true>},
    {"aten.all.dims", Quantify<Quantifier::kAll, false>},
    {"aten.count_nonzero.default", CountNonzero},
    {"aten.count_nonzero.dim_IntList", CountNonzero},
    {"aten.linalg_vector_norm.default", LinalgVectorNorm},
    {"aten.norm.ScalarOpt_dim", Norm},
    {"aten.dist.default", Dist},
    {"aten.logsumexp.default", Logsumexp},
    {"aten.trace.default", Trace},
};

}  // namespace

std::span<const KernelEntry> SumKernels() { return kEntries; }

}  // namespace tenon
