// What the plan builder knows of tensors that are stored narrower than they are
// computed.
#include <utility>

#include "backends/cpu/constants.h"
#include "backends/cpu/narrow_types.h"
#include "backends/cpu/plan_builder.h"
#include "backends/cpu/pointwise_builder.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

bool IsSameView(const Tensor& a, const Tensor& b) {
  return a.SharesStorage(b) && a.dtype() == b.dtype() &&
         a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.offset() == b.offset();
}

// The dimension of `view`, a view of `wide`, that is all of the dimension
// `axis`; -1 if none is.
int64_t FindAxis(const Tensor& view, const Tensor& wide, int64_t axis) {
  if (view.offset() != wide.offset() || view.numel() != wide.numel()) return -1;
  for (int64_t d = 0; d < view.dim(); ++d) {
    if (view.stride(d) == wide.stride(axis) &&
        view.size(d) == wide.size(axis)) {
      return d;
    }
  }
  return -1;
}

}  // namespace

Tensor PlanBuilder::Converted(const Tensor& tensor, DType dtype) {
  if (is_constant(tensor)) return CastConstant(tensor, dtype);
  const Tensor out = NewTensor(dtype, tensor.sizes(), LikeStrides(tensor));
  if (!out.defined()) return out;
  const Tensor operands[] = {tensor};
  PointwiseBuilder e(this, out, operands);
  return e.Emit(e.LoadAs(tensor, dtype)) ? out : Tensor();
}

Tensor PlanBuilder::Widened(const Tensor& tensor) {
  for (const auto& [buffer, origin] : origins_) {
    if (!origin.from.scale.defined() && !origin.from.zero.defined() &&
        IsSameView(origin.from.stored, tensor)) {
      return origin.wide;
    }
  }
  const Tensor wide = Converted(tensor, DType::kFloat32);
  if (wide.defined() && !is_constant(wide)) SetStored(wide, {tensor, {}, {}});
  return wide;
}

void PlanBuilder::SetStored(const Tensor& wide, StoredTensor from) {
  if (wide.strides() != from.stored.strides() || wide.numel() == 0 ||
      wide.dtype() != DType::kFloat32 || !IsNarrow(from.stored.dtype()) ||
      is_constant(wide)) {
    return;
  }
  origins_[BufferOf(wide)] = {wide, std::move(from)};
}

std::optional<StoredTensor> PlanBuilder::FindStored(const Tensor& view) const {
  const auto buffer = buffer_of_storage_.find(view.storage().get());
  if (buffer == buffer_of_storage_.end()) return std::nullopt;
  const auto at = origins_.find(buffer->second);
  if (at == origins_.end() || view.dtype() != DType::kFloat32) {
    return std::nullopt;
  }
  const Origin& origin = at->second;
  StoredTensor found = origin.from;
  found.stored = found.stored.View(
      view.sizes(), view.strides(),
      view.offset() - origin.wide.offset() + found.stored.offset());
  for (const Tensor* t : {&found.scale, &found.zero}) {
    if (!t->defined() || t->numel() == 1) continue;
    found.axis = FindAxis(view, origin.wide, origin.from.axis);
    if (found.axis < 0) return std::nullopt;
  }
  return found;
}

void PlanBuilder::ForgetOrigins(uint32_t written) {
  origins_.erase(written);
  const bool is_input = buffers_[written].kind == BufferKind::kInput;
  std::erase_if(origins_, [&](const auto& entry) {
    const StoredTensor& from = entry.second.from;
    for (const Tensor* t : {&from.stored, &from.scale, &from.zero}) {
      if (!t->defined()) continue;
      const auto at = buffer_of_storage_.find(t->storage().get());
      if (at == buffer_of_storage_.end()) continue;
      // Inputs may alias each other, so a write to one may be a write to any.
      if (at->second == written ||
          (is_input && buffers_[at->second].kind == BufferKind::kInput)) {
        return true;
      }
    }
    return false;
  });
}

}  // namespace tenon::cpu
