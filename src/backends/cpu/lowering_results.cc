#include "backends/cpu/lowering_results.h"

#include <string>
#include <utility>

#include "backends/cpu/constants.h"
#include "backends/cpu/narrow_types.h"
#include "backends/cpu/pointwise_builder.h"
#include "kernels/views.h"

namespace tenon::cpu {

bool ReturnCopy(PlanBuilder& b, KernelCall& call, const Tensor& from,
                DType dtype, Sizes strides) {
  const Tensor out = b.NewTensor(dtype, from.sizes(), std::move(strides));
  if (!out.defined() || !b.EmitCopy(from, out)) {
    return call.Fail("cannot copy " + from.ToString());
  }
  if (IsNarrow(from.dtype())) b.SetStored(out, {from, {}, {}});
  call.Return(out);
  return true;
}

MemoryFormat FormatOf(const RuntimeValue& format) {
  return format.is_memory_format() ? format.memory_format()
                                   : MemoryFormat::kPreserve;
}

bool FormatFits(KernelCall& call, const Tensor& self, MemoryFormat format) {
  if ((format == MemoryFormat::kChannelsLast && self.dim() != 4) ||
      (format == MemoryFormat::kChannelsLast3d && self.dim() != 5)) {
    return call.Fail(std::string(Name(format)) + " doesn't fit " +
                     self.ToString());
  }
  return true;
}

DType DTypeOr(const RuntimeValue& dtype, DType otherwise) {
  return dtype.is_dtype() ? dtype.dtype() : otherwise;
}

namespace {

// Merges into whoever reads it.
bool EmitFill(PlanBuilder& b, const Tensor& out, const RuntimeValue& scalar) {
  PointwiseBuilder e(&b, out);
  return e.Emit(
      e.Apply(TileOp::kCopy, {e.Load(ConstantOf(scalar, out.dtype()))}));
}

}  // namespace

bool ReturnFilled(PlanBuilder& b, KernelCall& call, DType dtype,
                  const Sizes& sizes, Sizes strides,
                  const RuntimeValue& scalar) {
  if (!CheckSizes(call, sizes)) return false;
  const Tensor out = b.NewTensor(dtype, sizes, std::move(strides));
  if (!out.defined() || !EmitFill(b, out, scalar)) {
    return call.Fail("cannot fill the result");
  }
  call.Return(out);
  return true;
}

bool HasOverlap(const Tensor& t) {
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.stride(d) == 0 && t.size(d) > 1) return true;
  }
  return false;
}

}  // namespace tenon::cpu
