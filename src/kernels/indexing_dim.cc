// Indices along one dimension: gather, scatter, index_select, index_add and
// their kin. Negative indices are errors here, except in index_fill.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/combination.h"
#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/registry.h"
#include "kernels/scalar_range.h"
#include "kernels/views.h"

namespace tenon {
namespace {

// Nan wins over everything, from either side.
template <typename C>
C Combine(Combination reduce, C a, C b) {
  if (reduce == Combination::kAssign) return b;
  if (reduce == Combination::kProduct) return a * b;
  if constexpr (!kIsComplex<C>) {
    if (reduce == Combination::kMax) return a != a || a > b ? a : b;
    if (reduce == Combination::kMin) return a != a || a < b ? a : b;
  }
  return a + b;
}

template <typename C>
C DivideCount(C sum, int64_t count) {
  if constexpr (kIsComplex<C>) {
    return sum / static_cast<typename C::value_type>(count);
  } else if constexpr (kIsReal<C>) {
    return sum / static_cast<C>(count);
  } else if constexpr (std::is_signed_v<C>) {
    return sum / count - (sum % count < 0 ? 1 : 0);  // rounds down
  } else {
    return sum / static_cast<C>(count);
  }
}

// Collects what lands on each element of `values`.
template <typename C>
class Reducer {
 public:
  Reducer(Combination reduce, bool include_self, std::vector<C>* values)
      : reduce_(reduce),
        include_self_(include_self),
        values_(*values),
        counts_(values->size(), 0) {}

  void Add(int64_t at, C value) {
    const size_t i = static_cast<size_t>(at);
    const bool replaces = counts_[i] == 0 && !include_self_;
    values_[i] = replaces ? value : Combine(reduce_, values_[i], value);
    ++counts_[i];
  }
  void Finish() {
    if (reduce_ != Combination::kMean) return;
    for (size_t i = 0; i < values_.size(); ++i) {
      const int64_t count = counts_[i] + (include_self_ ? 1 : 0);
      if (counts_[i] > 0) values_[i] = DivideCount(values_[i], count);
    }
  }

 private:
  Combination reduce_;
  bool include_self_;
  std::vector<C>& values_;
  std::vector<int64_t> counts_;
};

Tensor AtLeast1d(const Tensor& tensor) {
  return tensor.dim() == 0 ? Unsqueezed(tensor, 0) : tensor;
}

bool CheckIndexDType(KernelCall& call, const Tensor& index) {
  // PyTorch doesn't look at an empty one.
  if (index.dtype() == DType::kInt64 || index.dtype() == DType::kInt32 ||
      index.numel() == 0) {
    return true;
  }
  return call.Fail("expected an int64 or int32 index, found " +
                   std::string(Name(index.dtype())));
}

// The values of an index, all in [0, size).
bool ReadIndex(KernelCall& call, const Tensor& index, int64_t size,
               std::vector<int64_t>* out) {
  if (!CheckIndexDType(call, index)) return false;
  *out = ReadAll<int64_t>(index);
  for (int64_t value : *out) {
    if (value < 0 || value >= size) {
      return call.Fail("index " + std::to_string(value) +
                       " is out of bounds for a dimension of size " +
                       std::to_string(size));
    }
  }
  return true;
}

// --- gather and scatter: the index has a value for each element ---

// `index` has self's rank and, except along `dim`, at most its sizes.
bool CheckIndexShape(KernelCall& call, const Tensor& self, const Tensor& index,
                     int64_t dim) {
  if (index.numel() == 0) return true;
  if (self.dim() != index.dim()) {
    return call.Fail("index of rank " + std::to_string(index.dim()) +
                     " for a tensor of rank " + std::to_string(self.dim()));
  }
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d != dim && index.size(d) > self.size(d)) {
      return call.Fail("index of sizes " + ToText(index.sizes()) + " exceeds " +
                       ToText(self.sizes()) + " apart from dimension " +
                       std::to_string(dim));
    }
  }
  return true;
}

// Where each element of the index lies in a tensor of `strides`.
std::vector<int64_t> AlongDim(const Tensor& index,
                              const std::vector<int64_t>& values, Sizes strides,
                              int64_t dim) {
  const int64_t stride = strides[dim];
  strides[dim] = 0;
  std::vector<int64_t> offsets = ElementOffsets(index.sizes(), strides);
  for (size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] += values[i] * stride;
  }
  return offsets;
}

bool GatherAlong(KernelCall& call, const Tensor& given, int64_t dim,
                 const Tensor& given_index, Tensor* out) {
  const Tensor self = AtLeast1d(given), index = AtLeast1d(given_index);
  std::vector<int64_t> values;
  if (!WrapDim(call, self.dim(), &dim) || !CheckIndexDType(call, index) ||
      !CheckIndexShape(call, self, index, dim) ||
      !Allocate(call, self.dtype(), given_index.sizes(), out)) {
    return false;
  }
  if (index.numel() == 0) return true;
  if (!ReadIndex(call, index, self.size(dim), &values)) return false;
  const std::vector<int64_t> offsets =
      AlongDim(index, values, self.strides(), dim);
  const int64_t item = static_cast<int64_t>(SizeBytes(self.dtype()));
  std::byte* to = out->mutable_raw();
  for (int64_t offset : offsets) {
    std::memcpy(to, self.raw() + offset * item, static_cast<size_t>(item));
    to += item;
  }
  return true;
}

bool Gather(KernelCall& call) {
  Tensor out;
  if (!GatherAlong(call, call.tensor(0), call.Int(1), call.tensor(2), &out)) {
    return false;
  }
  call.Return(out);
  return true;
}

bool TakeAlongDim(KernelCall& call) {
  Tensor self = call.tensor(0), index = call.tensor(1);
  if (index.dtype() != DType::kInt64) {
    return call.Fail("take_along_dim: expected an int64 index");
  }
  int64_t dim = 0;
  if (call.is_none(2)) {
    const auto flat = [&](const Tensor& tensor, Tensor* out) {
      const Sizes sizes = {tensor.numel()};
      auto strides = ViewStrides(tensor.sizes(), tensor.strides(), sizes);
      if (!strides) return call.Fail("take_along_dim: no flat view");
      *out = tensor.View(sizes, *strides, tensor.offset());
      return true;
    };
    if (!flat(self, &self) || !flat(index, &index)) return false;
  } else {
    dim = call.Int(2);
    if (self.dim() != index.dim()) {
      return call.Fail("take_along_dim: input and indices differ in rank");
    }
    if (!WrapDim(call, self.dim(), &dim)) return false;
    Sizes self_sizes = self.sizes(), index_sizes = index.sizes(), common;
    if (self.dim() > 0) self_sizes[dim] = index_sizes[dim] = 1;
    if (!BroadcastSizes(self_sizes, index_sizes, &common)) {
      return call.Fail("take_along_dim: sizes do not broadcast");
    }
    self_sizes = index_sizes = common;
    if (self.dim() > 0) {
      self_sizes[dim] = self.size(dim);
      index_sizes[dim] = index.size(dim);
    }
    self = ExpandTo(self, self_sizes);
    index = ExpandTo(index, index_sizes);
  }
  // Unlike gather, this takes negative indices.
  const int64_t size = self.dim() == 0 ? 1 : self.size(dim);
  std::vector<int64_t> values = ReadAll<int64_t>(index);
  for (int64_t& value : values) value += value < 0 ? size : 0;
  Tensor wrapped, out;
  if (!Allocate(call, DType::kInt64, index.sizes(), &wrapped)) return false;
  WriteAll(&wrapped, values);
  if (!GatherAlong(call, self, dim, wrapped, &out)) return false;
  call.Return(out);
  return true;
}

// self with src (or `number`) written at the index.
bool ScatterAlong(KernelCall& call, Combination reduce, bool include_self,
                  const Tensor& given_src, const RuntimeValue& number) {
  const Tensor self = AtLeast1d(call.tensor(0));
  const Tensor index = AtLeast1d(call.tensor(2));
  int64_t dim = call.Int(1);
  if (!WrapDim(call, self.dim(), &dim) || !CheckIndexDType(call, index) ||
      !CheckIndexShape(call, self, index, dim)) {
    return false;
  }
  Tensor src;
  if (given_src.defined()) {
    src = AtLeast1d(given_src);
    if (src.dtype() != self.dtype()) {
      return call.Fail("scatter: self is " + std::string(Name(self.dtype())) +
                       " but src " + std::string(Name(src.dtype())));
    }
    if (index.numel() > 0 && src.dim() != index.dim()) {
      return call.Fail("scatter: index and src differ in rank");
    }
    for (int64_t d = 0; index.numel() > 0 && d < index.dim(); ++d) {
      if (index.size(d) > src.size(d)) {
        return call.Fail("scatter: index of sizes " + ToText(index.sizes()) +
                         " exceeds src of sizes " + ToText(src.sizes()));
      }
    }
  }
  Tensor out;
  if (!Allocate(call, self.dtype(), call.tensor(0).sizes(), &out)) return false;
  std::vector<int64_t> values;
  if (index.numel() > 0 && !ReadIndex(call, index, self.size(dim), &values)) {
    return false;
  }
  DispatchCompute(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    std::vector<C> into = ReadAll<C>(self);
    if (index.numel() > 0) {
      const std::vector<int64_t> offsets =
          AlongDim(index, values, ContiguousStrides(self.sizes()), dim);
      std::vector<C> from;
      if (src.defined()) {
        from = ReadAll<C>(src.View(index.sizes(), src.strides(), src.offset()));
      } else {
        from.assign(offsets.size(), ScalarAs<C>(number));
      }
      Reducer<C> reducer(reduce, include_self, &into);
      for (size_t i = 0; i < offsets.size(); ++i) {
        reducer.Add(offsets[i], from[i]);
      }
      reducer.Finish();
    }
    WriteAll(&out, into);
  });
  call.Return(out);
  return true;
}

bool ScatterSrc(KernelCall& call) {
  return ScatterAlong(call, Combination::kAssign, true, call.tensor(3), {});
}

bool ScatterValue(KernelCall& call) {
  return ScatterAlong(call, Combination::kAssign, true, Tensor(),
                      call.Scalar(3));
}

bool ScatterAdd(KernelCall& call) {
  return ScatterAlong(call, Combination::kSum, true, call.tensor(3), {});
}

// `reduce` is "add" or "multiply".
bool ScatterSrcReduce(KernelCall& call) {
  Combination reduce;
  return FindCombination(call, call.arg(4).string(), &reduce) &&
         ScatterAlong(call, reduce, true, call.tensor(3), {});
}

bool ScatterValueReduce(KernelCall& call) {
  Combination reduce;
  return FindCombination(call, call.arg(4).string(), &reduce) &&
         ScatterAlong(call, reduce, true, Tensor(), call.Scalar(3));
}

bool ScatterReduceTwo(KernelCall& call) {
  Combination reduce;
  return FindCombination(call, call.arg(4).string(), &reduce) &&
         ScatterAlong(call, reduce, call.Bool(5), call.tensor(3), {});
}

// --- index_*: one index for whole slices ---

// A dimension in the middle of a row-major order.
struct Slices {
  int64_t outer = 1, size = 1, inner = 1;

  Slices(const Sizes& sizes, int64_t dim) {
    for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
      (d < dim ? outer : d == dim ? size : inner) *= sizes[d];
    }
  }
};

bool CheckIndexRank(KernelCall& call, const Tensor& index) {
  if (index.dim() <= 1) return true;
  return call.Fail("expected a 0-d or 1-d index, found rank " +
                   std::to_string(index.dim()));
}

bool IndexSelect(KernelCall& call) {
  const Tensor& given = call.tensor(0);
  const Tensor& index = call.tensor(2);
  int64_t dim = call.Int(1);
  const Tensor self = AtLeast1d(given).Contiguous();
  std::vector<int64_t> values;
  if (!self.defined()) return call.Fail("index_select: out of memory");
  if (!WrapDim(call, self.dim(), &dim) || !CheckIndexRank(call, index) ||
      !ReadIndex(call, index, self.size(dim), &values)) {
    return false;
  }
  if (given.dim() == 0 && values.size() != 1) {
    return call.Fail("index_select: a 0-d tensor takes one index");
  }
  Sizes sizes = given.sizes();
  if (given.dim() > 0) sizes[dim] = static_cast<int64_t>(values.size());
  Tensor out;
  if (!CheckSizes(call, sizes) || !Allocate(call, self.dtype(), sizes, &out)) {
    return false;
  }
  const Slices slices(self.sizes(), dim);
  const int64_t block =
      slices.inner * static_cast<int64_t>(SizeBytes(self.dtype()));
  std::byte* to = out.mutable_raw();
  for (int64_t o = 0; o < slices.outer; ++o) {
    for (int64_t value : values) {
      std::memcpy(to, self.raw() + (o * slices.size + value) * block,
                  static_cast<size_t>(block));
      to += block;
    }
  }
  call.Return(out);
  return true;
}

// self with the slices of `source` combined into the indexed ones.
bool CombineSlices(KernelCall& call, Combination reduce, bool include_self,
                   const RuntimeValue& alpha) {
  const Tensor& given = call.tensor(0);
  const Tensor& index = call.tensor(2);
  const Tensor self = AtLeast1d(given), source = AtLeast1d(call.tensor(3));
  int64_t dim = call.Int(1);
  std::vector<int64_t> values;
  if (!WrapDim(call, self.dim(), &dim) || !CheckIndexRank(call, index) ||
      !ReadIndex(call, index, self.size(dim), &values)) {
    return false;
  }
  if (source.dtype() != self.dtype()) {
    return call.Fail("self and source differ in dtype: " + self.ToString() +
                     " and " + source.ToString());
  }
  Sizes expected = self.sizes();
  expected[dim] = static_cast<int64_t>(values.size());
  if (source.sizes() != expected) {
    return call.Fail("expected a source of sizes " + ToText(expected) +
                     ", found " + ToText(source.sizes()));
  }
  Tensor out;
  if (!Allocate(call, self.dtype(), given.sizes(), &out)) return false;
  const Slices slices(self.sizes(), dim);
  DispatchCompute(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    std::vector<C> into = ReadAll<C>(self);
    const std::vector<C> from = ReadAll<C>(source);
    const C factor = alpha.is_none() ? C(1) : ScalarAs<C>(alpha);
    Reducer<C> reducer(reduce, include_self, &into);
    size_t next = 0;
    for (int64_t o = 0; o < slices.outer; ++o) {
      for (int64_t value : values) {
        for (int64_t i = 0; i < slices.inner; ++i) {
          reducer.Add((o * slices.size + value) * slices.inner + i,
                      alpha.is_none() ? from[next] : factor * from[next]);
          ++next;
        }
      }
    }
    reducer.Finish();
    WriteAll(&out, into);
  });
  call.Return(out);
  return true;
}

bool IndexAdd(KernelCall& call) {
  return CombineSlices(call, Combination::kSum, true, call.Scalar(4));
}

bool IndexCopy(KernelCall& call) {
  return CombineSlices(call, Combination::kAssign, true, {});
}

bool IndexReduce(KernelCall& call) {
  Combination reduce;
  return FindCombination(call, call.arg(4).string(), &reduce) &&
         CombineSlices(call, reduce, call.Bool(5), {});
}

bool IndexFill(KernelCall& call) {
  const Tensor& given = call.tensor(0);
  const Tensor& index = call.tensor(2);
  int64_t dim = call.Int(1);
  if (call.arg(3).is_tensor() && call.tensor(3).dim() != 0) {
    return call.Fail("index_fill: expected a 0-d value");
  }
  const RuntimeValue value = call.Scalar(3);
  if (value.is_complex() && !IsComplex(given.dtype())) {
    return call.Fail("index_fill: complex value for a real tensor");
  }
  if (!WrapDim(call, given.dim(), &dim) || !CheckIndexRank(call, index) ||
      !CheckFits(call, value, given.dtype())) {
    return false;
  }
  if (index.dtype() != DType::kInt64) {
    return call.Fail("index_fill: expected an int64 index");
  }
  Tensor out;
  if (!CallKernel(call, "aten.clone.default", {given}, &out)) return false;
  const Tensor self = AtLeast1d(out);
  for (int64_t at : ReadAll<int64_t>(index)) {
    const int64_t size = self.size(dim);
    if (at < -size || at >= size) {
      return call.Fail("index_fill: index " + std::to_string(at) +
                       " is out of bounds for a dimension of size " +
                       std::to_string(size));
    }
    Tensor slice = Selected(self, dim, at < 0 ? at + size : at);
    FillScalar(&slice, value);
  }
  call.Return(out);
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.gather.default", Gather},
    {"aten.take_along_dim.default", TakeAlongDim},
    {"aten.scatter.src", ScatterSrc},
    {"aten.scatter.value", ScatterValue},
    {"aten.scatter.reduce", ScatterSrcReduce},
    {"aten.scatter.value_reduce", ScatterValueReduce},
    {"aten.scatter_add.default", ScatterAdd},
    {"aten.scatter_reduce.two", ScatterReduceTwo},
    {"aten.index_select.default", IndexSelect},
    {"aten.index_add.default", IndexAdd},
    {"aten.index_copy.default", IndexCopy},
    {"aten.index_reduce.default", IndexReduce},
    {"aten.index_fill.int_Scalar", IndexFill},
    {"aten.index_fill.int_Tensor", IndexFill},
};

}  // namespace

std::span<const KernelEntry> IndexingDimKernels() { return kEntries; }

}  // namespace tenon
