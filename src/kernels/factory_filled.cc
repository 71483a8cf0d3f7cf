// full, zeros, ones, empty, eye and their relatives; complex and polar.
#include <complex>

#include "kernels/broadcast.h"
#include "kernels/elements.h"
#include "kernels/elementwise.h"
#include "kernels/factory.h"
#include "kernels/views.h"

namespace tenon {
namespace {

// The dtype of full() by its fill value.
DType InferDType(const RuntimeValue& fill) {
  const DType dtype = ScalarDType(fill);
  if (dtype == DType::kFloat64) return DType::kFloat32;
  return dtype == DType::kComplex128 ? DType::kComplex64 : dtype;
}

bool MakeFilled(KernelCall& call, DType dtype, const Sizes& sizes,
                const Sizes& strides, const RuntimeValue& fill) {
  Tensor out;
  if (!CheckFits(call, fill, dtype) ||
      !Allocate(call, dtype, sizes, strides, &out)) {
    return false;
  }
  FillScalar(&out, fill);
  call.Return(out);
  return true;
}

// Of the size given by argument `size_arg`; contiguous unless memory_format
// says otherwise.
bool Filled(KernelCall& call, size_t size_arg, DType dtype,
            const RuntimeValue& fill) {
  const Sizes sizes = call.Ints(size_arg);
  if (!CheckSizes(call, sizes) || !ReadOptions(call, &dtype)) return false;
  Sizes strides = ContiguousStrides(sizes);
  const int format = call.schema().FindArg("memory_format");
  if (format >= 0 && !call.is_none(static_cast<size_t>(format))) {
    const MemoryFormat given =
        call.arg(static_cast<size_t>(format)).memory_format();
    const size_t rank = given == MemoryFormat::kChannelsLast     ? 4
                        : given == MemoryFormat::kChannelsLast3d ? 5
                                                                 : sizes.size();
    if (given == MemoryFormat::kPreserve || rank != sizes.size()) {
      return call.Fail(std::string(Name(given)) + " doesn't fit sizes " +
                       ToText(sizes));
    }
    strides = StridesFor(sizes, given);
  }
  return MakeFilled(call, dtype, sizes, strides, fill);
}

bool FilledLike(KernelCall& call, const RuntimeValue& fill) {
  const Tensor& self = call.tensor(0);
  DType dtype = self.dtype();
  Sizes strides;
  return ReadOptions(call, &dtype) && ReadLikeStrides(call, self, &strides) &&
         MakeFilled(call, dtype, self.sizes(), strides, fill);
}

bool Full(KernelCall& call) {
  const RuntimeValue fill = call.Scalar(1);
  return Filled(call, 0, InferDType(fill), fill);
}
bool FullLike(KernelCall& call) { return FilledLike(call, call.Scalar(1)); }
bool NewFull(KernelCall& call) {
  return Filled(call, 1, call.tensor(0).dtype(), call.Scalar(2));
}

// Uninitialised memory holds zeros here, so that runs are repeatable.
template <int kValue>
bool Constant(KernelCall& call) {
  return Filled(call, 0, DType::kFloat32, int64_t{kValue});
}
template <int kValue>
bool ConstantLike(KernelCall& call) {
  return FilledLike(call, int64_t{kValue});
}
template <int kValue>
bool NewConstant(KernelCall& call) {
  return Filled(call, 1, call.tensor(0).dtype(), int64_t{kValue});
}

// fill(self, value): a filled tensor like self. A 0-d tensor may be the value.
bool Fill(KernelCall& call) {
  const RuntimeValue& value = call.arg(1);
  if (value.is_tensor() && value.tensor().dim() != 0) {
    return call.Fail("the value to fill with has dimensions");
  }
  return FilledLike(call, call.Scalar(1));
}

bool EmptyWithStrides(KernelCall& call, size_t size_arg, DType dtype) {
  const Sizes sizes = call.Ints(size_arg), strides = call.Ints(size_arg + 1);
  if (!CheckSizes(call, sizes) || !ReadOptions(call, &dtype)) return false;
  if (sizes.size() != strides.size()) {
    return call.Fail("sizes " + ToText(sizes) + " and strides " +
                     ToText(strides) + " differ in number");
  }
  for (const int64_t stride : strides) {
    if (stride < 0) return call.Fail("negative strides aren't supported");
  }
  return MakeFilled(call, dtype, sizes, strides, int64_t{0});
}
bool EmptyStrided(KernelCall& call) {
  return EmptyWithStrides(call, 0, DType::kFloat32);
}
bool NewEmptyStrided(KernelCall& call) {
  return EmptyWithStrides(call, 1, call.tensor(0).dtype());
}

// physical_layout lists the dimensions from the slowest to the fastest.
bool EmptyPermuted(KernelCall& call) {
  const Sizes sizes = call.Ints(0), layout = call.Ints(1);
  DType dtype = DType::kFloat32;
  if (!CheckSizes(call, sizes) || !ReadOptions(call, &dtype)) return false;
  Sizes strides(sizes.size(), -1);
  if (layout.size() != sizes.size()) {
    return call.Fail("physical_layout doesn't name every dimension");
  }
  int64_t next = 1;
  for (size_t i = layout.size(); i-- > 0;) {
    const int64_t dim = layout[i];
    if (dim < 0 || dim >= static_cast<int64_t>(sizes.size()) ||
        strides[static_cast<size_t>(dim)] >= 0) {
      return call.Fail("physical_layout isn't a permutation");
    }
    strides[static_cast<size_t>(dim)] = next;
    next *= std::max<int64_t>(sizes[static_cast<size_t>(dim)], 1);
  }
  return MakeFilled(call, dtype, sizes, strides, int64_t{0});
}

bool ScalarTensorKernel(KernelCall& call) {
  DType dtype = DType::kFloat32;
  return ReadOptions(call, &dtype) &&
         MakeFilled(call, dtype, {}, {}, call.Scalar(0));
}

bool PrimsScalarTensor(KernelCall& call) {
  DType dtype = InferDType(call.Scalar(0));
  return ReadOptions(call, &dtype) &&
         MakeFilled(call, dtype, {}, {}, call.Scalar(0));
}

bool MakeEye(KernelCall& call, int64_t rows, int64_t columns) {
  DType dtype = DType::kFloat32;
  Tensor out;
  if (!CheckSizes(call, {rows, columns}) || !ReadOptions(call, &dtype) ||
      !AllocateZeros(call, dtype, {rows, columns}, &out)) {
    return false;
  }
  Tensor diagonal = out.View({std::min(rows, columns)}, {columns + 1}, 0);
  FillScalar(&diagonal, int64_t{1});
  call.Return(out);
  return true;
}
bool Eye(KernelCall& call) { return MakeEye(call, call.Int(0), call.Int(0)); }
bool EyeM(KernelCall& call) { return MakeEye(call, call.Int(0), call.Int(1)); }

// --- complex numbers from two reals ---

template <typename F>
bool FromParts(KernelCall& call, F f) {
  const Tensor &a = call.tensor(0), &b = call.tensor(1);
  if (a.dtype() != b.dtype() || !IsFloating(a.dtype()) ||
      a.dtype() == DType::kBFloat16 || SizeBytes(a.dtype()) == 1) {
    return call.Fail("both parts are float16, float32 or float64, and alike");
  }
  ElementwiseTraits traits(kAnyDType);
  traits.common = ComplexDType(a.dtype());
  ElementwisePlan plan;
  if (!PlanElementwise(call, {{a, false}, {b, false}}, traits, &plan)) {
    return false;
  }
  RunElementwise<kNoBool | kNoInteger | kNoFloat, 2>(&plan, f);
  call.Return(plan.out);
  return true;
}

bool Complex(KernelCall& call) {
  return FromParts(
      call, [](auto a, auto b) { return decltype(a)(a.real(), b.real()); });
}

bool Polar(KernelCall& call) {
  return FromParts(call, [](auto a, auto b) {
    return decltype(a)(a.real() * std::cos(b.real()),
                       a.real() * std::sin(b.real()));
  });
}

constexpr KernelEntry kEntries[] = {
    {"aten.full.default", Full},
    {"aten.full_like.default", FullLike},
    {"aten.new_full.default", NewFull},
    {"aten.zeros.default", Constant<0>},
    {"aten.zeros_like.default", ConstantLike<0>},
    {"aten.new_zeros.default", NewConstant<0>},
    {"aten.ones.default", Constant<1>},
    {"aten.ones_like.default", ConstantLike<1>},
    {"aten.new_ones.default", NewConstant<1>},
    {"aten.empty.memory_format", Constant<0>},
    {"aten.empty_like.default", ConstantLike<0>},
    {"aten.new_empty.default", NewConstant<0>},
    {"aten.empty_strided.default", EmptyStrided},
    {"aten.new_empty_strided.default", NewEmptyStrided},
    {"aten.empty_permuted.default", EmptyPermuted},
    {"aten.scalar_tensor.default", ScalarTensorKernel},
    {"prims.scalar_tensor.default", PrimsScalarTensor},
    {"aten.fill.Scalar", Fill},
    {"aten.fill.Tensor", Fill},
    {"aten.eye.default", Eye},
    {"aten.eye.m", EyeM},
    {"aten.complex.default", Complex},
    {"aten.polar.default", Polar},
};

}  // namespace

std::span<const KernelEntry> FilledKernels() { return kEntries; }

}  // namespace tenon
