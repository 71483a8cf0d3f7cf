// Tensors with their channels last, beside those in PyTorch's order.
#include <utility>

#include "backends/cpu/channels_last.h"
#include "backends/cpu/plan_builder.h"

namespace tenon::cpu {

void PlanBuilder::ForgetTwins(uint32_t written) {
  twins_.erase(written);
  if (buffers_[written].kind != BufferKind::kInput) return;
  // Inputs may alias each other, so a write to one may be a write to any.
  std::erase_if(twins_, [&](const auto& entry) {
    return buffers_[entry.first].kind == BufferKind::kInput;
  });
}

Tensor PlanBuilder::FindChannelsLast(const Tensor& tensor) const {
  if (HasChannelsLast(tensor)) return tensor;
  const auto buffer = buffer_of_storage_.find(tensor.storage().get());
  if (buffer == buffer_of_storage_.end()) return Tensor();
  const auto at = twins_.find(buffer->second);
  if (at == twins_.end()) return Tensor();
  const Tensor& known = at->second.tensor;
  const bool is_same =
      known.dtype() == tensor.dtype() && known.sizes() == tensor.sizes() &&
      known.strides() == tensor.strides() && known.offset() == tensor.offset();
  return is_same ? at->second.last : Tensor();
}

Tensor PlanBuilder::ViewOfTwin(const Tensor& view) const {
  const auto buffer = buffer_of_storage_.find(view.storage().get());
  if (buffer == buffer_of_storage_.end()) return Tensor();
  const auto at = twins_.find(buffer->second);
  if (at == twins_.end() || view.numel() == 0) return Tensor();
  const Tensor& known = at->second.tensor;
  if (!known.is_contiguous() || known.dtype() != view.dtype() ||
      view.offset() < known.offset()) {
    return Tensor();
  }
  // An element lies in the tensor at (n * channels + c) * plane + i, in the
  // twin at (n * plane + i) * channels + c. A step of the view goes along one
  // of n, c and i, as long as it never carries into the next.
  const int64_t channels = known.size(1);
  const int64_t image = known.numel() / known.size(0);
  const int64_t plane = image / channels;
  const int64_t start = view.offset() - known.offset();
  int64_t last_channel = start % image / plane, last_pixel = start % plane;
  const int64_t offset = start / image * image + last_pixel * channels +
                         last_channel + at->second.last.offset();
  Sizes strides;
  for (int64_t d = 0; d < view.dim(); ++d) {
    const int64_t step = view.stride(d), reach = step * (view.size(d) - 1);
    if (step % image == 0) {
      strides.push_back(step);
    } else if (step % plane == 0) {
      strides.push_back(step / plane);
      last_channel += reach / plane;
    } else {
      strides.push_back(step * channels);
      last_pixel += reach;
    }
  }
  if (last_channel >= channels || last_pixel >= plane) return Tensor();
  return at->second.last.View(view.sizes(), strides, offset);
}

Tensor PlanBuilder::InChannelsLast(const Tensor& tensor) {
  Tensor last = FindChannelsLast(tensor);
  if (last.defined()) return last;
  last = NewTensor(tensor.dtype(), tensor.sizes(),
                   StridesWithChannelsLast(tensor.sizes()));
  if (!last.defined() || !EmitCopy(tensor, last)) return Tensor();
  twins_[BufferOf(tensor)] = {tensor, last};
  return last;
}

Tensor PlanBuilder::NewChannelsLast(const Tensor& result) {
  if (HasChannelsLast(result)) return result;
  return NewTensor(result.dtype(), result.sizes(),
                   StridesWithChannelsLast(result.sizes()));
}

void PlanBuilder::SetChannelsLast(const Tensor& result, const Tensor& last) {
  if (result.SharesStorage(last)) return;
  EmitCopy(last, result);
  twins_[BufferOf(result)] = {result, last};
}

}  // namespace tenon::cpu
