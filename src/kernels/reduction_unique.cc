// unique in its forms, and one_hot, which asks for the largest of all.
//
// What is compared are slices of one dimension, or single elements of the
// flattened tensor. nan differs from itself, so that each nan stays.
#include <algorithm>
#include <numeric>

#include "kernels/ordering.h"
#include "kernels/reduction.h"
#include "kernels/views.h"

namespace tenon {
namespace {

// Equal slices, found in order.
struct Groups {
  std::vector<int64_t> first;    // a slice of each group
  std::vector<int64_t> inverse;  // slice -> group
  std::vector<int64_t> counts;
};

template <typename C>
class Slices {
 public:
  Slices(const Tensor& rows, int64_t count)
      : values_(ReadAll<C>(rows)),
        width_(count > 0 ? rows.numel() / count : 0) {}

  std::span<const C> at(int64_t i) const {
    return {values_.data() + i * width_, static_cast<size_t>(width_)};
  }
  bool Equal(int64_t a, int64_t b) const {
    return std::equal(at(a).begin(), at(a).end(), at(b).begin());
  }
  bool Less(int64_t a, int64_t b) const {
    return std::lexicographical_compare(
        at(a).begin(), at(a).end(), at(b).begin(), at(b).end(), SortsBefore<C>);
  }

 private:
  std::vector<C> values_;
  int64_t width_;
};

template <typename C>
Groups FindGroups(const Slices<C>& slices, int64_t count, bool sorted) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  if (sorted) {
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return slices.Less(a, b); });
  }
  Groups groups;
  groups.inverse.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !slices.Equal(order[i - 1], order[i])) {
      groups.first.push_back(order[i]);
      groups.counts.push_back(0);
    }
    groups.inverse[static_cast<size_t>(order[i])] =
        static_cast<int64_t>(groups.first.size()) - 1;
    ++groups.counts.back();
  }
  return groups;
}

bool ReturnInts(KernelCall& call, bool wanted, const Sizes& sizes,
                const std::vector<int64_t>& values) {
  Tensor out;
  if (!Allocate(call, DType::kInt64, wanted ? sizes : Sizes{0}, &out)) {
    return false;
  }
  if (wanted) WriteAll(&out, values);
  call.Return(out);
  return true;
}

struct UniqueRequest {
  bool sorted = true;
  bool inverse = false;
  bool counts = false;
};

// Values, inverse and counts over slices of the first dimension of `rows`;
// the value tensor keeps that dimension first.
bool UniqueRows(KernelCall& call, const Tensor& rows,
                const UniqueRequest& request, Tensor* values, Groups* groups) {
  const int64_t count = rows.size(0);
  const bool ok = DispatchCompute(rows.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    if constexpr (kIsComplex<C>) {
      return call.Fail("unique of complex numbers isn't supported");
    } else {
      *groups = FindGroups(Slices<C>(rows, count), count, request.sorted);
      return true;
    }
  });
  if (!ok) return false;
  Sizes sizes = rows.sizes();
  sizes[0] = static_cast<int64_t>(groups->first.size());
  if (!Allocate(call, rows.dtype(), sizes, values)) return false;
  for (size_t i = 0; i < groups->first.size(); ++i) {
    Tensor to = Selected(*values, 0, static_cast<int64_t>(i));
    to.CopyFrom(Selected(rows, 0, groups->first[i]));
  }
  return true;
}

bool UniqueFlat(KernelCall& call, const UniqueRequest& request,
                bool want_counts) {
  const Tensor& self = call.tensor(0);
  const Tensor flat = Reshaped(self, {self.numel()});
  Tensor values;
  Groups groups;
  if (!flat.defined()) return call.Fail("no memory");
  if (!UniqueRows(call, flat, request, &values, &groups)) return false;
  call.Return(values);
  const auto found = static_cast<int64_t>(groups.counts.size());
  return ReturnInts(call, request.inverse, self.sizes(), groups.inverse) &&
         (!want_counts ||
          ReturnInts(call, request.counts, {found}, groups.counts));
}

bool UniqueAlong(KernelCall& call, int64_t dim, const UniqueRequest& request) {
  const Tensor& self = call.tensor(0);
  if (!WrapDim(call, self.dim(), &dim)) return false;
  if (self.dim() == 0) return UniqueFlat(call, request, true);
  Sizes order(self.sizes().size());
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + dim);
  order.insert(order.begin(), dim);
  const Tensor rows = Permuted(self, order);
  if (self.numel() == 0) {
    if (rows.size(0) > 0) return call.Fail("unique of empty slices");
    Tensor none;
    if (!Allocate(call, self.dtype(), self.sizes(), &none)) return false;
    call.Return(none);
    return ReturnInts(call, true, {0}, {}) && ReturnInts(call, true, {0}, {});
  }
  Tensor values;
  Groups groups;
  if (!UniqueRows(call, rows, request, &values, &groups)) return false;
  Sizes back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  call.Return(Permuted(values, back));
  const auto found = static_cast<int64_t>(groups.counts.size());
  // Along a dimension PyTorch gives both whether or not they are asked for.
  return ReturnInts(call, true, {rows.size(0)}, groups.inverse) &&
         ReturnInts(call, true, {found}, groups.counts);
}

// _unique2(self, sorted, return_inverse, return_counts): always sorted.
bool Unique2(KernelCall& call) {
  return UniqueFlat(call, {true, call.Bool(2), call.Bool(3)}, true);
}
bool Unique(KernelCall& call) {
  return UniqueFlat(call, {true, call.Bool(2), false}, false);
}
// unique_dim(self, dim, sorted, return_inverse, return_counts)
bool UniqueDim(KernelCall& call) {
  return UniqueAlong(call, call.Int(1), {true, call.Bool(3), call.Bool(4)});
}
// unique_dim_consecutive(self, dim, return_inverse, return_counts)
bool UniqueDimConsecutive(KernelCall& call) {
  return UniqueAlong(call, call.Int(1), {false, call.Bool(2), call.Bool(3)});
}
// unique_consecutive(self, return_inverse, return_counts, dim)
bool UniqueConsecutive(KernelCall& call) {
  const UniqueRequest request = {false, call.Bool(1), call.Bool(2)};
  if (call.is_none(3) || (call.Int(3) == 0 && call.tensor(0).dim() == 1)) {
    return UniqueFlat(call, request, true);
  }
  return UniqueAlong(call, call.Int(3), request);
}

// one_hot(self, num_classes); -1 = one more than the largest.
bool OneHot(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  int64_t classes = call.Int(1);
  if (self.dtype() != DType::kInt64) return call.Fail("one_hot needs int64");
  const std::vector<int64_t> values = ReadAll<int64_t>(self);
  if (values.empty() && classes <= 0) {
    return call.Fail("one_hot of no elements needs a number of classes");
  }
  int64_t largest = -1;
  for (const int64_t value : values) {
    if (value < 0) return call.Fail("one_hot of a negative class");
    largest = std::max(largest, value);
  }
  if (classes == -1) {
    if (largest == INT64_MAX) return call.Fail("too many classes");
    classes = largest + 1;
  }
  if (classes <= largest) return call.Fail("a class beyond num_classes");
  Sizes sizes = self.sizes();
  sizes.push_back(classes);
  Tensor out;
  if (!AllocateZeros(call, DType::kInt64, sizes, &out)) return false;
  int64_t* ones = out.mutable_data<int64_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    ones[static_cast<int64_t>(i) * classes + values[i]] = 1;
  }
  call.Return(out);
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten._unique2.default", Unique2},
    {"aten._unique.default", Unique},
    {"aten.unique_dim.default", UniqueDim},
    {"aten.unique_dim_consecutive.default", UniqueDimConsecutive},
    {"aten.unique_consecutive.default", UniqueConsecutive},
    {"aten.one_hot.default", OneHot},
};

}  // namespace

std::span<const KernelEntry> UniqueKernels() { return kEntries; }

}  // namespace tenon
