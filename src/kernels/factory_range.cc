// arange, linspace, logspace.
#include <cmath>

#include "kernels/broadcast.h"
#include "kernels/elements.h"
#include "kernels/factory.h"

namespace tenon {
namespace {

bool IsInt(const RuntimeValue& scalar) {
  return scalar.is_int() || scalar.is_bool();
}

// The number of steps from start to end; the caller checked the signs. Exact
// for integers, otherwise in double, whatever the result's dtype.
int64_t CountSteps(const RuntimeValue& start, const RuntimeValue& end,
                   const RuntimeValue& step) {
  if (IsInt(start) && IsInt(end) && IsInt(step)) {
    const __int128 a = ScalarAs<int64_t>(start), b = ScalarAs<int64_t>(end);
    const __int128 s = ScalarAs<int64_t>(step);
    const __int128 rounding = s > 0 ? s - 1 : s + 1;
    const __int128 count = (b - a + rounding) / s;
    return count > INT64_MAX ? INT64_MAX : static_cast<int64_t>(count);
  }
  const double count =
      std::ceil((ScalarAs<double>(end) - ScalarAs<double>(start)) /
                ScalarAs<double>(step));
  return count < 0x1p62 ? static_cast<int64_t>(count) : INT64_MAX;
}

bool MakeRange(KernelCall& call, const RuntimeValue& start,
               const RuntimeValue& end, const RuntimeValue& step) {
  const bool all_int = IsInt(start) && IsInt(end) && IsInt(step);
  DType dtype = all_int ? DType::kInt64 : DType::kFloat32;
  if (!ReadOptions(call, &dtype)) return false;
  if (start.is_complex() || end.is_complex() || step.is_complex() ||
      IsComplex(dtype) || dtype == DType::kBool) {
    return call.Fail("ranges are of real numbers");
  }
  const double from = ScalarAs<double>(start), to = ScalarAs<double>(end);
  const double by = ScalarAs<double>(step);
  if (!std::isfinite(from) || !std::isfinite(to) || std::isnan(by)) {
    return call.Fail("the bounds of a range are finite");
  }
  if (by == 0 || (by > 0 && from > to) || (by < 0 && from < to)) {
    return call.Fail("the step doesn't lead from start to end");
  }
  const int64_t count = CountSteps(start, end, step);
  Tensor out;
  if (!Allocate(call, dtype, {count}, &out)) return false;
  if (IsFloating(dtype)) {
    std::vector<double> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = from + static_cast<double>(i) * by;
    }
    WriteAll(&out, values);
  } else {
    // An int dtype cuts start and step, not each element.
    const auto first = static_cast<uint64_t>(ScalarAs<int64_t>(start));
    const auto next = static_cast<uint64_t>(ScalarAs<int64_t>(step));
    std::vector<int64_t> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<int64_t>(first + i * next);
    }
    WriteAll(&out, values);
  }
  call.Return(out);
  return true;
}

bool Arange(KernelCall& call) {
  return MakeRange(call, int64_t{0}, call.Scalar(0), int64_t{1});
}
bool ArangeStart(KernelCall& call) {
  return MakeRange(call, call.Scalar(0), call.Scalar(1), int64_t{1});
}
bool ArangeStep(KernelCall& call) {
  return MakeRange(call, call.Scalar(0), call.Scalar(1), call.Scalar(2));
}

// Element i of `steps` points; counted from the nearer end, as PyTorch does.
template <typename C>
C LinearPoint(C start, C end, int64_t i, int64_t steps) {
  if (steps == 1) return start;
  const C step = (end - start) / static_cast<C>(static_cast<float>(steps - 1));
  const auto at = [](int64_t n) {
    return static_cast<C>(static_cast<float>(n));
  };
  return i < steps / 2 ? start + step * at(i) : end - step * at(steps - 1 - i);
}

bool ReadPoints(KernelCall& call, DType* dtype, int64_t* steps) {
  for (size_t i = 0; i < 2; ++i) {
    if (call.arg(i).is_tensor() && call.tensor(i).dim() != 0) {
      return call.Fail("the ends are numbers or 0-d tensors");
    }
  }
  *steps = call.Int(2);
  if (*steps < 0) return call.Fail("a negative number of steps");
  const bool complex =
      call.Scalar(0).is_complex() || call.Scalar(1).is_complex();
  *dtype = complex ? DType::kComplex64 : DType::kFloat32;
  if (!ReadOptions(call, dtype)) return false;
  if (complex && !IsComplex(*dtype)) {
    return call.Fail("complex ends don't fit " + std::string(Name(*dtype)));
  }
  return true;
}

template <typename F>
bool MakePoints(KernelCall& call, F transform) {
  DType dtype = DType::kUnknown;
  int64_t steps = 0;
  Tensor out;
  if (!ReadPoints(call, &dtype, &steps) ||
      !Allocate(call, dtype, {steps}, &out)) {
    return false;
  }
  // Between integers the points are spaced in double, then cut.
  const DType wide =
      IsFloating(dtype) || IsComplex(dtype) ? dtype : DType::kFloat64;
  DispatchFloating(wide, [&](auto tag) {
    using C = typename decltype(tag)::type;
    const auto read = [&](size_t arg) {
      const RuntimeValue number = call.Scalar(arg);
      if (wide == dtype) return ScalarAs<C>(number);
      return ScalarAs<C>(RuntimeValue(ScalarAs<int64_t>(number)));
    };
    const C start = read(0), end = read(1);
    std::vector<C> values(static_cast<size_t>(steps));
    for (int64_t i = 0; i < steps; ++i) {
      values[static_cast<size_t>(i)] =
          transform(LinearPoint(start, end, i, steps));
    }
    WriteAll(&out, values);
  });
  call.Return(out);
  return true;
}

bool Linspace(KernelCall& call) {
  return MakePoints(call, [](auto x) { return x; });
}

bool Logspace(KernelCall& call) {
  const double base = call.Float(3);
  return MakePoints(call, [base](auto x) {
    using C = decltype(x);
    return std::pow(static_cast<C>(static_cast<float>(base)), x);
  });
}

constexpr KernelEntry kEntries[] = {
    {"aten.arange.default", Arange},
    {"aten.arange.start", ArangeStart},
    {"aten.arange.start_step", ArangeStep},
    {"aten.linspace.default", Linspace},
    {"aten.linspace.Tensor_Tensor", Linspace},
    {"aten.linspace.Tensor_Scalar", Linspace},
    {"aten.linspace.Scalar_Tensor", Linspace},
    {"aten.logspace.default", Logspace},
    {"aten.logspace.Tensor_Tensor", Logspace},
    {"aten.logspace.Tensor_Scalar", Logspace},
    {"aten.logspace.Scalar_Tensor", Logspace},
};

}  // namespace

std::span<const KernelEntry> RangeKernels() { return kEntries; }

}  // namespace tenon
