// gather: an index per element of the result.
#include <cstring>
#include <string>
#include <vector>

#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_operands.h"
#include "backends/cpu/pointwise_step.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

// out[i][j][k] = self[index[i][j][k]][j][k], for dim 0.
class GatherStep : public Step {
 public:
  struct Shape {
    int64_t size = 0;  // of self along the dimension
    int64_t stride_bytes = 0;
    size_t item_bytes = 4;
    std::vector<StridedDim> dims;  // of the index, outermost first
    int64_t count = 0;
    size_t along = 0;  // which of `dims` is gathered
    Ref self, index, out;
  };
  explicit GatherStep(Shape shape) : s_(std::move(shape)) {}

  bool Run(Frame& frame) override {
    const std::byte* self = frame.at<std::byte>(s_.self);
    const int64_t* index = frame.at<int64_t>(s_.index);
    std::byte* out = frame.at<std::byte>(s_.out);
    for (int64_t i = 0; i < s_.count; ++i) {
      if (index[i] < 0 || index[i] >= s_.size) {
        return frame.Fail("index " + std::to_string(index[i]) +
                          " is out of bounds for a dimension of size " +
                          std::to_string(s_.size));
      }
      int64_t rest = i, offset = index[i] * s_.stride_bytes;
      for (size_t d = s_.dims.size(); d-- > 0;) {
        const int64_t at = rest % s_.dims[d].size;
        rest /= s_.dims[d].size;
        if (d != s_.along) offset += at * s_.dims[d].stride_bytes;
      }
      std::memcpy(out + static_cast<size_t>(i) * s_.item_bytes, self + offset,
                  s_.item_bytes);
    }
    return true;
  }
  std::string_view name() const override { return "gather"; }

 private:
  const Shape s_;
};

bool Gather(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Tensor self = call.tensor(0), index = call.tensor(2);
  int64_t dim = call.Int(1);
  if (!WrapDim(call, self.dim(), &dim)) return false;
  if (self.dim() == 0) self = Unsqueezed(self, 0);
  const Sizes out_sizes = index.sizes();
  // PyTorch doesn't look at an empty one.
  if (index.numel() == 0) {
    call.Return(b.NewTensor(self.dtype(), out_sizes));
    return true;
  }
  if (!IsIndex(index)) return call.Fail("an index of another dtype");
  if (index.dim() == 0) index = Unsqueezed(index, 0);
  if (index.dim() != self.dim()) return call.Fail("ranks differ");
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d != dim && index.size(d) > self.size(d)) {
      return call.Fail("index " + index.ToString() + " is larger than " +
                       self.ToString());
    }
  }
  const Tensor out = b.NewTensor(self.dtype(), out_sizes);
  if (!out.defined()) return call.Fail("the result is too large");
  call.Return(out);
  if (out.numel() == 0) return true;
  Tensor flat = index;
  if (index.dtype() != DType::kInt64 || !index.is_contiguous()) {
    flat = b.NewTensor(DType::kInt64, index.sizes());
    if (!b.EmitCopy(index, flat)) return call.Fail("cannot copy the index");
  }
  GatherStep::Shape s;
  s.item_bytes = SizeBytes(self.dtype());
  const auto item = static_cast<int64_t>(s.item_bytes);
  s.size = self.size(dim);
  s.stride_bytes = self.stride(dim) * item;
  s.count = out.numel();
  s.along = static_cast<size_t>(dim);
  for (int64_t d = 0; d < self.dim(); ++d) {
    s.dims.push_back({index.size(d), self.stride(d) * item});
  }
  s.self = b.RefOf(self);
  s.index = b.RefOf(flat);
  s.out = b.RefOf(out);
  const Tensor reads[] = {self, flat};
  const Tensor writes[] = {out};
  b.Emit(std::make_unique<GatherStep>(std::move(s)), reads, writes);
  return true;
}

constexpr Lowering kLowerings[] = {
    {"aten.gather.default", LoweringKind::kPure, Gather},
};

}  // namespace

std::span<const Lowering> GatherLowerings() { return kLowerings; }

}  // namespace tenon::cpu
