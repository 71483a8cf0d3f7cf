#include "backends/cpu/lowering_stretches.h"

#include <utility>

#include "kernels/views.h"

namespace tenon::cpu {
Tensor StretchOf(const Tensor& t, int64_t dim, int64_t start, int64_t length,
                 int64_t step) {
  Sizes sizes = t.sizes(), strides = t.strides();
  const int64_t offset = t.offset() + start * strides[dim];
  sizes[dim] = length;
  strides[dim] *= step;
  return t.View(std::move(sizes), std::move(strides), offset);
}

namespace {

bool CopyStretches(PlanBuilder& b, const Stretches& stretches, size_t dim,
                   const Tensor& from, const Tensor& to) {
  if (dim == stretches.size()) return b.EmitCopy(from, to);
  const auto d = static_cast<int64_t>(dim);
  for (const Stretch& s : stretches[dim]) {
    if (s.length == 0) continue;
    if (!CopyStretches(b, stretches, dim + 1,
                       StretchOf(from, d, s.from, s.length, s.step),
                       Narrowed(to, d, s.to, s.length))) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool ReturnMoved(PlanBuilder& b, KernelCall& call, const Tensor& self,
                 const Stretches& stretches, Sizes sizes, Sizes strides) {
  if (!CheckSizes(call, sizes)) return false;
  const Tensor out =
      b.NewTensor(self.dtype(), std::move(sizes), std::move(strides));
  if (!out.defined()) return call.Fail("the result is too large");
  if (out.numel() > 0 && !CopyStretches(b, stretches, 0, self, out)) {
    return call.Fail("cannot copy " + self.ToString());
  }
  call.Return(out);
  return true;
}

}  // namespace tenon::cpu
