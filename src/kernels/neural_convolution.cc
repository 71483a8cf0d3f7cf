// The convolution operators.
#include "kernels/compose.h"
#include "kernels/convolution.h"
#include "kernels/elements.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

bool Convolution(KernelCall& call) {
  Tensor out;
  if (!Convolve(call, call.tensor(0), call.tensor(1), call.OptionalTensor(2),
                {.stride = call.Ints(3),
                 .padding = call.Ints(4),
                 .dilation = call.Ints(5),
                 .output_padding = call.Ints(7),
                 .transposed = call.Bool(6),
                 .groups = call.Int(8)},
                &out)) {
    return false;
  }
  call.Return(out);
  return true;
}

// An input without batch dimension is a batch of one.
bool ConvolveBatched(KernelCall& call, int64_t spatial,
                     ConvolutionOptions options) {
  const Tensor &input = call.tensor(0), &weight = call.tensor(1);
  if (weight.dim() != spatial + 2 ||
      (input.dim() != spatial + 1 && input.dim() != spatial + 2)) {
    return call.Fail("convolution: expected a weight of rank " +
                     std::to_string(spatial + 2) + " and an input of rank " +
                     std::to_string(spatial + 1) + " or one more, found " +
                     weight.ToString() + " and " + input.ToString());
  }
  const bool batched = input.dim() == spatial + 2;
  Tensor out;
  if (!Convolve(call, batched ? input : Unsqueezed(input, 0), weight,
                call.OptionalTensor(2), std::move(options), &out)) {
    return false;
  }
  call.Return(batched ? out : Squeezed(out, 0));
  return true;
}

template <int kSpatial>
bool ConvNd(KernelCall& call) {
  return ConvolveBatched(call, kSpatial,
                         {.stride = call.Ints(3),
                          .padding = call.Ints(4),
                          .dilation = call.Ints(5),
                          .groups = call.Int(6)});
}

template <int kSpatial>
bool ConvTransposeNd(KernelCall& call) {
  return ConvolveBatched(call, kSpatial,
                         {.stride = call.Ints(3),
                          .padding = call.Ints(4),
                          .dilation = call.Ints(7),
                          .output_padding = call.Ints(5),
                          .transposed = true,
                          .groups = call.Int(6)});
}

// padding="same" keeps the sizes: dilation * (kernel - 1) zeros in all, the
// odd one on the right, where the input itself is padded.
bool PadSame(KernelCall& call, int64_t spatial, const Sizes& dilation,
             Sizes* padding) {
  const Tensor& weight = call.tensor(1);
  Sizes right(static_cast<size_t>(2 * spatial), 0);
  bool uneven = false;
  for (int64_t i = 0; i < spatial; ++i) {
    const int64_t d = dilation.size() == 1 ? dilation[0] : dilation[i];
    if (d <= 0 || d > (1 << 20)) {
      return call.Fail("convolution: dilation must be positive");
    }
    const int64_t total = d * (weight.size(2 + i) - 1);
    padding->push_back(total / 2);
    right[static_cast<size_t>(2 * (spatial - 1 - i) + 1)] = total % 2;
    uneven = uneven || total % 2 != 0;
  }
  if (!uneven) return true;
  Tensor padded;
  if (!CallKernel(call, "aten.constant_pad_nd.default",
                  {call.tensor(0), IntList(right), int64_t{0}}, &padded)) {
    return false;
  }
  call.arg(0) = padded;
  return true;
}

template <int kSpatial>
bool ConvNdPadding(KernelCall& call) {
  const Sizes stride = call.Ints(3), dilation = call.Ints(5);
  const std::string& mode = call.arg(4).string();
  Sizes padding;
  if (mode == "same") {
    for (int64_t s : stride) {
      if (s != 1) {
        return call.Fail(
            "padding='same' is not supported for strided "
            "convolutions");
      }
    }
    const Tensor &input = call.tensor(0), &weight = call.tensor(1);
    if (weight.dim() != kSpatial + 2 || input.dim() < kSpatial + 1 ||
        (dilation.size() != 1 && dilation.size() != kSpatial)) {
      return call.Fail(
          "convolution: weight, input or dilation of the wrong "
          "rank");
    }
    if (!PadSame(call, kSpatial, dilation, &padding)) return false;
  } else if (mode == "valid") {
    padding = {0};
  } else {
    return call.Fail("convolution: unknown padding '" + mode + "'");
  }
  return ConvolveBatched(call, kSpatial,
                         {.stride = stride,
                          .padding = padding,
                          .dilation = dilation,
                          .groups = call.Int(6)});
}

constexpr KernelEntry kEntries[] = {
    {"aten.convolution.default", Convolution},
    {"aten.convolution_overrideable.default", Convolution},
    {"aten._convolution.default", Convolution},
    {"aten.conv1d.default", ConvNd<1>},
    {"aten.conv2d.default", ConvNd<2>},
    {"aten.conv3d.default", ConvNd<3>},
    {"aten.conv1d.padding", ConvNdPadding<1>},
    {"aten.conv2d.padding", ConvNdPadding<2>},
    {"aten.conv3d.padding", ConvNdPadding<3>},
    {"aten.conv_transpose1d.default", ConvTransposeNd<1>},
    {"aten.conv_transpose2d.input", ConvTransposeNd<2>},
    {"aten.conv_transpose3d.input", ConvTransposeNd<3>},
};

}  // namespace

std::span<const KernelEntry> ConvolutionKernels() { return kEntries; }

}  // namespace tenon
