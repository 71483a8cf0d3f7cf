#include "kernels/reduction.h"

#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {

bool ReadDims(KernelCall& call, const Tensor& self, const RuntimeValue& dims,
              bool empty_is_all, std::vector<bool>* reduced) {
  reduced->assign(self.sizes().size(), false);
  const auto number = [](const RuntimeValue& dim) {
    return dim.is_tensor() ? ReadOne<int64_t>(dim.tensor())
                           : ScalarAs<int64_t>(dim);
  };
  Sizes list;
  if (dims.is_list()) {
    for (const RuntimeValue& item : dims.list()) list.push_back(number(item));
  } else if (!dims.is_none()) {
    list.push_back(number(dims));
  }
  if (dims.is_none() || (list.empty() && empty_is_all)) {
    reduced->assign(self.sizes().size(), true);
    return true;
  }
  if (!WrapDims(call, self.dim(), &list)) return false;
  for (const int64_t dim : list) {
    if (self.dim() > 0) (*reduced)[static_cast<size_t>(dim)] = true;
  }
  return true;
}

Sizes ReducedSizes(const Tensor& self, const std::vector<bool>& reduced,
                   bool keepdim) {
  Sizes sizes;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) {
      sizes.push_back(self.sizes()[d]);
    } else if (keepdim) {
      sizes.push_back(1);
    }
  }
  return sizes;
}

Tensor ReducedLast(const Tensor& self, const std::vector<bool>& reduced) {
  Sizes order;
  for (const bool last : {false, true}) {
    for (size_t d = 0; d < reduced.size(); ++d) {
      if (reduced[d] == last) order.push_back(static_cast<int64_t>(d));
    }
  }
  return Permuted(self, order);
}

int64_t LineLength(const Tensor& self, const std::vector<bool>& reduced) {
  int64_t length = 1;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (reduced[d]) length *= self.sizes()[d];
  }
  return length;
}

DType SumDType(DType dtype) {
  return IsFloating(dtype) || IsComplex(dtype) ? dtype : DType::kInt64;
}

bool CastTo(KernelCall& call, size_t arg, DType otherwise, Tensor* self) {
  const DType dtype = call.is_none(arg) ? otherwise : call.arg(arg).dtype();
  *self = Cast(*self, dtype);
  return self->defined() || call.Fail("no memory for a cast");
}

std::span<const KernelEntry> ReductionKernels() {
  static const auto* all = [] {
    auto* entries = new std::vector<KernelEntry>();
    for (const auto part :
         {SumKernels(), VarianceKernels(), ExtremaKernels(), ScanKernels(),
          SortKernels(), UniqueKernels(), StatisticsKernels()}) {
      entries->insert(entries->end(), part.begin(), part.end());
    }
    return entries;
  }();
  return *all;
}

}  // namespace tenon
