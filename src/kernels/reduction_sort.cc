// sort, argsort, topk, searchsorted, isin.
#include <algorithm>
#include <numeric>

#include "kernels/arithmetic.h"
#include "kernels/ordering.h"
#include "kernels/promotion.h"
#include "kernels/reduction.h"
#include "kernels/views.h"

namespace tenon {
namespace {

// The stable order of a line; nan is largest either way.
template <typename C>
std::vector<int64_t> SortedOrder(std::span<const C> line, bool descending) {
  std::vector<int64_t> order(line.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const C x = line[static_cast<size_t>(a)], y = line[static_cast<size_t>(b)];
    return descending ? SortsBefore(y, x) : SortsBefore(x, y);
  });
  return order;
}

struct SortRequest {
  int64_t dim = -1;
  bool descending = false;
  int64_t keep = -1;  // how many of each line; -1 = all
};

// Values and indices of the sorted lines; strides as given for the sizes.
bool SortLines(KernelCall& call, const SortRequest& request, Tensor* values,
               Tensor* indices) {
  const Tensor& self = call.tensor(0);
  std::vector<bool> sorted;
  if (!ReadDims(call, self, request.dim, false, &sorted)) return false;
  return DispatchCompute(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    if constexpr (kIsComplex<C>) {
      return call.Fail("complex numbers have no order");
    } else {
      const Lines<C> lines = ReadLines<C>(self, sorted);
      const int64_t keep = request.keep < 0 ? lines.length : request.keep;
      std::vector<C> found;
      std::vector<int64_t> places;
      for (int64_t i = 0; i < lines.count; ++i) {
        const auto line = lines.line(i);
        const auto order = SortedOrder(line, request.descending);
        for (int64_t k = 0; k < keep; ++k) {
          const int64_t place = order[static_cast<size_t>(k)];
          found.push_back(line[static_cast<size_t>(place)]);
          places.push_back(place);
        }
      }
      Tensor value_view = ReducedLast(*values, sorted);
      Tensor index_view = ReducedLast(*indices, sorted);
      WriteAll(&value_view, found);
      WriteAll(&index_view, places);
      return true;
    }
  });
}

bool SortAll(KernelCall& call, const SortRequest& request, bool want_values) {
  const Tensor& self = call.tensor(0);
  const Sizes strides = LikeStrides(self);
  Tensor values, indices;
  if (!Allocate(call, self.dtype(), self.sizes(), strides, &values) ||
      !Allocate(call, DType::kInt64, self.sizes(), strides, &indices) ||
      !SortLines(call, request, &values, &indices)) {
    return false;
  }
  if (want_values) call.Return(values);
  call.Return(indices);
  return true;
}

// sort(self, dim, descending)
bool Sort(KernelCall& call) {
  return SortAll(call, {call.Int(1), call.Bool(2)}, true);
}
// sort.stable(self, *, stable, dim, descending)
bool SortStable(KernelCall& call) {
  return SortAll(call, {call.Int(2), call.Bool(3)}, true);
}
bool Argsort(KernelCall& call) {
  return SortAll(call, {call.Int(1), call.Bool(2)}, false);
}
bool ArgsortStable(KernelCall& call) {
  return SortAll(call, {call.Int(2), call.Bool(3)}, false);
}

// topk(self, k, dim, largest, sorted): always sorted here.
bool Topk(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const int64_t k = call.Int(1);
  int64_t dim = call.Int(2);
  if (!WrapDim(call, self.dim(), &dim)) return false;
  const int64_t length = self.dim() == 0 ? 1 : self.size(dim);
  if (k < 0 || k > length) {
    return call.Fail("k is " + std::to_string(k) + ", but the dimension has " +
                     std::to_string(length) + " elements");
  }
  if (self.dtype() == DType::kBool) return call.Fail("topk of bool");
  Sizes sizes = self.sizes();
  if (!sizes.empty()) sizes[static_cast<size_t>(dim)] = k;
  Tensor values, indices;
  if (!Allocate(call, self.dtype(), sizes, &values) ||
      !Allocate(call, DType::kInt64, sizes, &indices) ||
      !SortLines(call, {dim, call.Bool(3), self.dim() == 0 ? 1 : k}, &values,
                 &indices)) {
    return false;
  }
  call.Return(values);
  call.Return(indices);
  return true;
}

// --- searchsorted, bucketize ---

// The number of elements before `value`; with `right`, those equal to it too.
template <typename C>
int64_t Position(std::span<const C> sorted, C value, bool right) {
  int64_t low = 0, high = static_cast<int64_t>(sorted.size());
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const C probe = sorted[static_cast<size_t>(middle)];
    // As PyTorch writes it, so that nan goes to the end.
    const bool go_right = right ? !(probe > value) : !(probe >= value);
    if (go_right) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

struct SearchRequest {
  Tensor boundaries, values, sorter;
  bool out_int32 = false;
  bool right = false;
};

bool CheckSearch(KernelCall& call, const SearchRequest& request) {
  const Tensor& b = request.boundaries;
  if (b.dim() == 0) return call.Fail("the sorted sequence has no dimension");
  if (b.dim() != 1) {
    const Sizes &x = b.sizes(), &y = request.values.sizes();
    if (x.size() != y.size() ||
        !std::equal(x.begin(), x.end() - 1, y.begin())) {
      return call.Fail("the sorted sequences and the values differ in sizes");
    }
  }
  if (request.sorter.defined() && (request.sorter.sizes() != b.sizes() ||
                                   request.sorter.dtype() != DType::kInt64)) {
    return call.Fail("the sorter is int64 of the sequence's sizes");
  }
  return true;
}

bool Search(KernelCall& call, const SearchRequest& request) {
  Tensor out;
  const DType result = request.out_int32 ? DType::kInt32 : DType::kInt64;
  if (!CheckSearch(call, request) ||
      !Allocate(call, result, request.values.sizes(), &out)) {
    return false;
  }
  if (IsComplex(request.boundaries.dtype()) ||
      IsComplex(request.values.dtype())) {
    return call.Fail("complex numbers have no order");
  }
  const Operand both[] = {{request.boundaries, false}, {request.values, false}};
  const DType common = ResultType(both);
  const Tensor boundaries = Cast(request.boundaries, common);
  const Tensor values = Cast(request.values, common);
  if (common == DType::kUnknown || !boundaries.defined() || !values.defined()) {
    return call.Fail("sequence and values don't promote to a common dtype");
  }
  return DispatchCompute(common, [&](auto tag) {
    using C = typename decltype(tag)::type;
    if constexpr (kIsComplex<C>) {
      return false;
    } else {
      std::vector<C> sorted = ReadAll<C>(boundaries);
      const auto length = static_cast<size_t>(boundaries.sizes().back());
      if (request.sorter.defined()) {
        const std::vector<C> given = sorted;
        const auto order = ReadAll<int64_t>(request.sorter);
        for (size_t i = 0; i < sorted.size(); ++i) {
          if (order[i] < 0 || order[i] >= static_cast<int64_t>(length)) {
            return call.Fail("the sorter names a place outside the sequence");
          }
          sorted[i] = given[i - i % length + static_cast<size_t>(order[i])];
        }
      }
      const std::vector<C> wanted = ReadAll<C>(values);
      const size_t per_row = boundaries.dim() == 1
                                 ? std::max<size_t>(wanted.size(), 1)
                                 : static_cast<size_t>(std::max<int64_t>(
                                       values.sizes().back(), 1));
      std::vector<int64_t> found(wanted.size());
      for (size_t i = 0; i < wanted.size(); ++i) {
        const std::span<const C> row(sorted.data() + i / per_row * length,
                                     length);
        found[i] = Position(row, wanted[i], request.right);
      }
      WriteAll(&out, found);
      call.Return(out);
      return true;
    }
  });
}

// searchsorted(sequence, values, *, out_int32, right, side, sorter)
bool Searchsorted(KernelCall& call) {
  SearchRequest request;
  request.boundaries = call.tensor(0);
  request.values =
      call.arg(1).is_tensor() ? call.tensor(1) : ScalarTensor(call.arg(1));
  if (!call.arg(1).is_tensor()) {
    request.values = Cast(request.values, request.boundaries.dtype());
  }
  request.out_int32 = call.Bool(2);
  request.right = call.Bool(3);
  if (!call.is_none(4)) {
    const std::string& side = call.arg(4).string();
    if (side != "left" && side != "right") {
      return call.Fail("no side '" + side + "'");
    }
    if (side == "left" && request.right) {
      return call.Fail("side and right contradict each other");
    }
    request.right = side == "right";
  }
  request.sorter = call.OptionalTensor(5);
  return Search(call, request);
}

// bucketize(values, boundaries, *, out_int32, right)
bool Bucketize(KernelCall& call) {
  SearchRequest request;
  request.values =
      call.arg(0).is_tensor() ? call.tensor(0) : ScalarTensor(call.arg(0));
  request.boundaries = call.tensor(1);
  if (request.boundaries.dim() != 1) {
    return call.Fail("the boundaries have one dimension");
  }
  request.out_int32 = call.Bool(2);
  request.right = call.Bool(3);
  return Search(call, request);
}

// isin(elements, test_elements, *, assume_unique, invert)
bool Isin(KernelCall& call) {
  const Operand elements = OperandOf(call, 0), tests = OperandOf(call, 1);
  const DType common = ResultType(std::vector<Operand>{elements, tests});
  const Tensor a = Cast(elements.tensor, common);
  const Tensor b = Cast(tests.tensor, common);
  Tensor out;
  if (IsComplex(common) || common == DType::kUnknown || !a.defined() ||
      !b.defined()) {
    return call.Fail("isin isn't defined for these dtypes");
  }
  if (!Allocate(call, DType::kBool, a.sizes(), &out)) return false;
  const bool invert = call.Bool(3);
  DispatchCompute(common, [&](auto tag) {
    using C = typename decltype(tag)::type;
    if constexpr (!kIsComplex<C>) {
      std::vector<C> sorted = ReadAll<C>(b);
      std::erase_if(sorted, [](C x) { return IsNan(x); });
      std::sort(sorted.begin(), sorted.end());
      std::vector<int64_t> found;
      for (const C value : ReadAll<C>(a)) {
        const bool in = !IsNan(value) &&
                        std::binary_search(sorted.begin(), sorted.end(), value);
        found.push_back(in != invert ? 1 : 0);
      }
      WriteAll(&out, found);
    }
  });
  call.Return(out);
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.sort.default", Sort},
    {"aten.sort.stable", SortStable},
    {"aten.argsort.default", Argsort},
    {"aten.argsort.stable", ArgsortStable},
    {"aten.topk.default", Topk},
    {"aten.searchsorted.Tensor", Searchsorted},
    {"aten.searchsorted.Scalar", Searchsorted},
    {"aten.bucketize.Tensor", Bucketize},
    {"aten.bucketize.Scalar", Bucketize},
    {"aten.isin.Tensor_Tensor", Isin},
    {"aten.isin.Tensor_Scalar", Isin},
    {"aten.isin.Scalar_Tensor", Isin},
};

}  // namespace

std::span<const KernelEntry> SortKernels() { return kEntries; }

}  // namespace tenon
