#include "kernels/pooling.h"

#include "kernels/views.h"
#include "support/checked.h"

namespace tenon {
namespace {

bool SpreadTo(KernelCall& call, size_t spatial, const char* what, Sizes* list) {
  if (list->size() == 1) list->resize(spatial, (*list)[0]);
  if (list->size() == spatial) return true;
  return call.Fail(std::string("pooling: expected 1 or ") +
                   std::to_string(spatial) + " entries in " + what);
}

// PyTorch's pooling_output_shape: in ceil mode the last window must start
// inside the input or the left padding.
bool OutputSize(KernelCall& call, bool ceil_mode, PoolAxis* axis) {
  const PoolAxis& a = *axis;
  if (a.stride == 0) return call.Fail("pooling: stride should not be zero");
  if (a.stride < 0 || a.kernel <= 0 || a.dilation <= 0) {
    return call.Fail(
        "pooling: kernel size, stride and dilation must be positive");
  }
  if (a.padding < 0) return call.Fail("pooling: padding must be non-negative");
  const auto extent = CheckedMul(a.dilation, a.kernel - 1);
  constexpr int64_t kLimit = int64_t{1} << 40;
  if (!extent || *extent > kLimit || a.stride > kLimit) {
    return call.Fail("pooling: the window is too large");
  }
  if (a.padding > (*extent + 1) / 2) {
    return call.Fail(
        "pooling: padding should be at most half of the effective "
        "kernel size, found padding " +
        std::to_string(a.padding) + " and kernel " + std::to_string(a.kernel));
  }
  const int64_t room =
      a.size + 2 * a.padding - *extent - 1 + (ceil_mode ? a.stride - 1 : 0);
  // Rounds down, also below zero.
  axis->out = room / a.stride - (room % a.stride < 0 ? 1 : 0) + 1;
  if (ceil_mode && (axis->out - 1) * a.stride >= a.size + a.padding) {
    --axis->out;
  }
  if (axis->out < 1) return call.Fail("pooling: the output size is too small");
  return true;
}

}  // namespace

bool CheckPoolInput(KernelCall& call, const Tensor& input, int64_t spatial) {
  const int64_t rank = input.dim();
  bool good = rank == spatial + 1 || rank == spatial + 2;
  for (int64_t d = rank == spatial + 2 ? 1 : 0; good && d < rank; ++d) {
    good = input.size(d) != 0;
  }
  return good || call.Fail("pooling: expected a tensor of rank " +
                           std::to_string(spatial + 1) + " or " +
                           std::to_string(spatial + 2) +
                           " whose batch alone may be empty, found " +
                           input.ToString());
}

bool MakePoolGeometry(KernelCall& call, const Tensor& input, int64_t spatial,
                      const Sizes& kernel, const Sizes& stride,
                      const Sizes& padding, const Sizes& dilation,
                      bool ceil_mode, PoolGeometry* out) {
  Sizes kernels = kernel, strides = stride.empty() ? kernel : stride;
  Sizes paddings = padding, dilations = dilation;
  const size_t count = static_cast<size_t>(spatial);
  if (!CheckPoolInput(call, input, spatial) ||
      !SpreadTo(call, count, "kernel_size", &kernels) ||
      !SpreadTo(call, count, "stride", &strides) ||
      !SpreadTo(call, count, "padding", &paddings) ||
      !SpreadTo(call, count, "dilation", &dilations)) {
    return false;
  }
  out->spatial = spatial;
  out->out_sizes.assign(input.sizes().begin(), input.sizes().end() - spatial);
  out->planes = NumElements(out->out_sizes);
  for (int64_t i = 0; i < spatial; ++i) {
    const size_t at = static_cast<size_t>(i);
    PoolAxis& axis = out->axes[3 - spatial + i];
    axis = {input.size(input.dim() - spatial + i),
            0,
            kernels[at],
            strides[at],
            paddings[at],
            dilations[at]};
    if (!OutputSize(call, ceil_mode, &axis)) return false;
    out->out_sizes.push_back(axis.out);
  }
  return CheckSizes(call, out->out_sizes);
}

}  // namespace tenon
