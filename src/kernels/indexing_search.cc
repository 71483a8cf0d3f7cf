// Binary search in sorted boundaries: bucketize, searchsorted.
#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

// The first of `count` ascending boundaries that isn't below (`right`: that is
// above) the value. Comparisons with nan are false, which puts it at the end.
template <typename C>
int64_t Search(const C* boundaries, const int64_t* order, int64_t count,
               C value, bool right) {
  int64_t start = 0, end = count;
  while (start < end) {
    const int64_t middle = start + (end - start) / 2;
    const C at = boundaries[order != nullptr ? order[middle] : middle];
    const bool stays = right ? at > value : at >= value;
    if (stays) {
      end = middle;
    } else {
      start = middle + 1;
    }
  }
  return start;
}

// `sequence` is 1-d, or has the leading sizes of `values`.
bool SearchAll(KernelCall& call, const Tensor& sequence, const Tensor& values,
               const Tensor& sorter, bool int32, bool right) {
  if (sequence.dim() == 0) {
    return call.Fail("searchsorted: the boundaries have no dimension");
  }
  if (IsComplex(sequence.dtype()) || IsComplex(values.dtype())) {
    return call.Fail("searchsorted: complex numbers have no order");
  }
  if (sequence.dtype() != values.dtype()) {
    return call.Fail("searchsorted: boundaries and values differ in dtype");
  }
  const int64_t count = sequence.size(sequence.dim() - 1);
  if (sequence.dim() > 1) {
    Sizes expected = sequence.sizes();
    if (values.dim() == sequence.dim()) {
      expected.back() = values.sizes().back();
    }
    if (values.sizes() != expected || values.dim() != sequence.dim()) {
      return call.Fail("searchsorted: values of sizes " +
                       ToText(values.sizes()) + " for boundaries of sizes " +
                       ToText(sequence.sizes()));
    }
  }
  std::vector<int64_t> order;
  if (sorter.defined()) {
    if (sorter.dtype() != DType::kInt64 || sorter.sizes() != sequence.sizes()) {
      return call.Fail(
          "searchsorted: the sorter must be int64 and have the "
          "boundaries' sizes");
    }
    order = ReadAll<int64_t>(sorter);
    for (int64_t at : order) {
      if (at < 0 || at >= count) {
        return call.Fail("searchsorted: sorter index out of range");
      }
    }
  }
  Tensor out;
  if (!Allocate(call, int32 ? DType::kInt32 : DType::kInt64, values.sizes(),
                &out)) {
    return false;
  }
  DispatchCompute(values.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    if constexpr (!kIsComplex<C>) {
      const std::vector<C> boundaries = ReadAll<C>(sequence);
      const std::vector<C> all = ReadAll<C>(values);
      const int64_t per_row =
          sequence.dim() > 1 ? values.sizes().back() : values.numel();
      std::vector<int64_t> found;
      for (size_t i = 0; i < all.size(); ++i) {
        const int64_t row = static_cast<int64_t>(i) / per_row;
        found.push_back(
            Search(boundaries.data() + row * count,
                   order.empty() ? nullptr : order.data() + row * count, count,
                   all[i], right));
      }
      WriteAll(&out, found);
    }
  });
  call.Return(out);
  return true;
}

bool Bucketize(KernelCall& call) {
  const Tensor& boundaries = call.tensor(1);
  if (boundaries.dim() != 1) {
    return call.Fail("bucketize: expected 1-d boundaries, found rank " +
                     std::to_string(boundaries.dim()));
  }
  return SearchAll(call, boundaries, call.tensor(0), Tensor(), call.Bool(2),
                   call.Bool(3));
}

bool BucketizeScalar(KernelCall& call) {
  const Tensor& boundaries = call.tensor(1);
  if (boundaries.dim() != 1) {
    return call.Fail("bucketize: expected 1-d boundaries");
  }
  return SearchAll(call, boundaries,
                   ScalarTensor(call.Scalar(0), boundaries.dtype()), Tensor(),
                   call.Bool(2), call.Bool(3));
}

// `side` overrides `right`, and may not contradict it.
bool SearchSide(KernelCall& call, bool* right) {
  *right = call.Bool(3);
  if (call.is_none(4)) return true;
  const std::string& side = call.arg(4).string();
  if (side != "left" && side != "right") {
    return call.Fail("searchsorted: side must be 'left' or 'right'");
  }
  if (side == "left" && *right) {
    return call.Fail("searchsorted: side and right contradict each other");
  }
  *right = side == "right";
  return true;
}

bool SearchSorted(KernelCall& call) {
  bool right;
  return SearchSide(call, &right) &&
         SearchAll(call, call.tensor(0), call.tensor(1), call.OptionalTensor(5),
                   call.Bool(2), right);
}

bool SearchSortedScalar(KernelCall& call) {
  bool right;
  const Tensor& sequence = call.tensor(0);
  if (sequence.dim() != 1) {
    return call.Fail("searchsorted: a number needs 1-d boundaries");
  }
  return SearchSide(call, &right) &&
         SearchAll(call, sequence,
                   ScalarTensor(call.Scalar(1), sequence.dtype()),
                   call.OptionalTensor(5), call.Bool(2), right);
}

constexpr KernelEntry kEntries[] = {
    {"aten.bucketize.Tensor", Bucketize},
    {"aten.bucketize.Scalar", BucketizeScalar},
    {"aten.searchsorted.Tensor", SearchSorted},
    {"aten.searchsorted.Scalar", SearchSortedScalar},
};

}  // namespace

std::span<const KernelEntry> IndexingSearchKernels() { return kEntries; }

}  // namespace tenon
