// Convolution as a matrix product: the input's windows are laid out as the
// columns of a matrix (im2col), which the weight multiplies. The transposed
// convolution is the same read backwards: the product's columns are added
// back onto the windows.
//
// Fewer than three spatial dimensions are padded with leading ones, so that a
// single set of loops serves all.
#include "kernels/convolution.h"

#include <algorithm>

#include "kernels/gemm.h"
#include "kernels/views.h"
#include "support/checked.h"

namespace tenon {
namespace {

// The geometry between an image and its windows. In a transposed convolution
// the image is the output, and there is a window per input position.
struct Windows {
  int64_t image[3] = {1, 1, 1};
  int64_t kernel[3] = {1, 1, 1};
  int64_t count[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1};
  int64_t padding[3] = {0, 0, 0};
  int64_t dilation[3] = {1, 1, 1};

  int64_t image_numel() const { return image[0] * image[1] * image[2]; }
  int64_t kernel_numel() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t num_windows() const { return count[0] * count[1] * count[2]; }
};

// Calls f(row of the column matrix, window - first, offset in the image) for
// every tap of the windows [first, last) that lies inside the image.
template <typename F>
void ForEachTap(const Windows& w, int64_t channels, int64_t first, int64_t last,
                F f) {
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t plane = c * w.image_numel();
    for (int64_t tap = 0; tap < w.kernel_numel(); ++tap) {
      const int64_t kx = tap % w.kernel[2];
      const int64_t ky = tap / w.kernel[2] % w.kernel[1];
      const int64_t kz = tap / (w.kernel[2] * w.kernel[1]);
      const int64_t row = c * w.kernel_numel() + tap;
      int64_t x = first % w.count[2];
      int64_t y = first / w.count[2] % w.count[1];
      int64_t z = first / (w.count[2] * w.count[1]);
      for (int64_t at = first; at < last; ++at) {
        const int64_t iz = z * w.stride[0] - w.padding[0] + kz * w.dilation[0];
        const int64_t iy = y * w.stride[1] - w.padding[1] + ky * w.dilation[1];
        const int64_t ix = x * w.stride[2] - w.padding[2] + kx * w.dilation[2];
        if (iz >= 0 && iz < w.image[0] && iy >= 0 && iy < w.image[1] &&
            ix >= 0 && ix < w.image[2]) {
          f(row, at - first, plane + (iz * w.image[1] + iy) * w.image[2] + ix);
        }
        if (++x == w.count[2]) {
          x = 0;
          if (++y == w.count[1]) {
            y = 0;
            ++z;
          }
        }
      }
    }
  }
}

// Windows are taken in portions whose column matrix stays near this size.
constexpr int64_t kColumnElements = int64_t{1} << 20;

int64_t PortionOf(const Windows& w, int64_t rows) {
  return std::clamp<int64_t>(kColumnElements / std::max<int64_t>(rows, 1), 1,
                             std::max<int64_t>(w.num_windows(), 1));
}

// out[O, windows] += weight[O, C * kernel] * columns, for one sample and group.
template <typename C>
void ConvolveGroup(const Windows& w, const C* image, const C* weight,
                   int64_t in_channels, int64_t out_channels, C* out) {
  const int64_t rows = in_channels * w.kernel_numel();
  const int64_t portion = PortionOf(w, rows);
  std::vector<C> columns, product;
  for (int64_t first = 0; first < w.num_windows(); first += portion) {
    const int64_t last = std::min(first + portion, w.num_windows());
    const int64_t width = last - first;
    columns.assign(static_cast<size_t>(rows * width), C(0));
    ForEachTap(w, in_channels, first, last,
               [&](int64_t row, int64_t column, int64_t offset) {
                 columns[static_cast<size_t>(row * width + column)] =
                     image[offset];
               });
    product.assign(static_cast<size_t>(out_channels * width), C(0));
    MultiplyAdd(weight, columns.data(), product.data(), out_channels, width,
                rows);
    for (int64_t o = 0; o < out_channels; ++o) {
      std::copy_n(product.data() + o * width, width,
                  out + o * w.num_windows() + first);
    }
  }
}

// image[C, ...] += windows of weight[O, C * kernel] transposed * in[O,
// windows].
template <typename C>
void ConvolveGroupTransposed(const Windows& w, const C* in, const C* weight,
                             int64_t in_channels, int64_t out_channels,
                             C* image) {
  const int64_t rows = out_channels * w.kernel_numel();
  std::vector<C> transposed(static_cast<size_t>(rows * in_channels));
  for (int64_t i = 0; i < in_channels; ++i) {
    for (int64_t r = 0; r < rows; ++r) {
      transposed[static_cast<size_t>(r * in_channels + i)] =
          weight[i * rows + r];
    }
  }
  const int64_t portion = PortionOf(w, rows + in_channels);
  std::vector<C> columns, part;
  for (int64_t first = 0; first < w.num_windows(); first += portion) {
    const int64_t last = std::min(first + portion, w.num_windows());
    const int64_t width = last - first;
    part.resize(static_cast<size_t>(in_channels * width));
    for (int64_t i = 0; i < in_channels; ++i) {
      std::copy_n(in + i * w.num_windows() + first, width,
                  part.data() + i * width);
    }
    columns.assign(static_cast<size_t>(rows * width), C(0));
    MultiplyAdd(transposed.data(), part.data(), columns.data(), rows, width,
                in_channels);
    ForEachTap(w, out_channels, first, last,
               [&](int64_t row, int64_t column, int64_t offset) {
                 image[offset] = WrapAdd(
                     image[offset],
                     columns[static_cast<size_t>(row * width + column)]);
               });
  }
}

// Single entries stand for all spatial dimensions.
bool Spread(KernelCall& call, const char* what, size_t spatial, Sizes* list) {
  if (list->size() == 1) list->resize(spatial, (*list)[0]);
  if (list->size() == spatial) return true;
  return call.Fail(std::string("convolution: expected ") +
                   std::to_string(spatial) + " entries in " + what +
                   ", found " + std::to_string(list->size()));
}

bool CheckOptions(KernelCall& call, size_t spatial, ConvolutionOptions* o) {
  if (o->output_padding.empty()) o->output_padding = {0};
  if (!Spread(call, "stride", spatial, &o->stride) ||
      !Spread(call, "padding", spatial, &o->padding) ||
      !Spread(call, "dilation", spatial, &o->dilation) ||
      !Spread(call, "output_padding", spatial, &o->output_padding)) {
    return false;
  }
  constexpr int64_t kLimit = int64_t{1} << 31;
  for (size_t i = 0; i < spatial; ++i) {
    if (o->stride[i] <= 0 || o->stride[i] >= kLimit) {
      return call.Fail("convolution: stride must be positive");
    }
    if (o->dilation[i] <= 0 || o->dilation[i] >= kLimit) {
      return call.Fail("convolution: dilation must be positive");
    }
    if (o->padding[i] < 0 || o->padding[i] >= kLimit) {
      return call.Fail("convolution: negative padding is not supported");
    }
    if (o->output_padding[i] < 0 || o->output_padding[i] >= kLimit) {
      return call.Fail("convolution: negative output_padding");
    }
    if (o->transposed &&
        o->output_padding[i] >= std::max(o->stride[i], o->dilation[i])) {
      return call.Fail(
          "convolution: output_padding must be smaller than stride or "
          "dilation");
    }
  }
  if (o->groups <= 0) return call.Fail("convolution: groups must be positive");
  return true;
}

bool CheckOperands(KernelCall& call, const Tensor& input, const Tensor& weight,
                   const Tensor& bias, const ConvolutionOptions& o) {
  if (input.dtype() != weight.dtype() ||
      (bias.defined() && bias.dtype() != input.dtype())) {
    return call.Fail("convolution: input, weight and bias differ in dtype");
  }
  if (input.dtype() == DType::kBool) {
    return call.Fail("convolution of bool tensors");
  }
  if (input.dim() != weight.dim() || input.dim() < 3 || input.dim() > 5) {
    return call.Fail("convolution: input " + input.ToString() + " for weight " +
                     weight.ToString());
  }
  const int64_t channels = input.size(1);
  const int64_t expected =
      o.transposed ? weight.size(0) : weight.size(1) * o.groups;
  if (channels != expected || weight.size(0) < o.groups ||
      weight.size(0) % o.groups != 0) {
    return call.Fail("convolution: weight " + weight.ToString() + " with " +
                     std::to_string(o.groups) + " groups doesn't fit input " +
                     input.ToString());
  }
  const int64_t outputs =
      o.transposed ? weight.size(1) * o.groups : weight.size(0);
  if (bias.defined() && (bias.dim() != 1 || bias.numel() != outputs)) {
    return call.Fail("convolution: expected a bias of " +
                     std::to_string(outputs) + " elements, found " +
                     bias.ToString());
  }
  return true;
}

// Sets the geometry and the sizes of the result.
bool Measure(KernelCall& call, const Tensor& input, const Tensor& weight,
             const ConvolutionOptions& o, Windows* w, Sizes* sizes) {
  const int64_t spatial = input.dim() - 2;
  for (int64_t i = 0; i < spatial; ++i) {
    const int64_t at = 3 - spatial + i;
    const int64_t in = input.size(2 + i), kernel = weight.size(2 + i);
    w->kernel[at] = kernel;
    w->stride[at] = o.stride[i];
    w->padding[at] = o.padding[i];
    w->dilation[at] = o.dilation[i];
    const auto extent = CheckedMul(o.dilation[i], kernel - 1);
    if (!extent || *extent > (int64_t{1} << 40) || kernel == 0) {
      return call.Fail("convolution: bad kernel of sizes " +
                       ToText(weight.sizes()));
    }
    int64_t out;
    if (o.transposed) {
      out = (in - 1) * o.stride[i] - 2 * o.padding[i] + *extent +
            o.output_padding[i] + 1;
      w->image[at] = out;
      w->count[at] = in;
    } else {
      const int64_t room = in + 2 * o.padding[i] - *extent - 1;
      if (room < 0) {
        return call.Fail(
            "convolution: the kernel is larger than the padded "
            "input " +
            ToText(input.sizes()));
      }
      out = room / o.stride[i] + 1;
      w->image[at] = in;
      w->count[at] = out;
    }
    if (out <= 0) {
      return call.Fail("convolution: the output would have no elements");
    }
    sizes->push_back(out);
  }
  return CheckSizes(call, *sizes);
}

template <typename C>
void ConvolveAll(const Windows& w, const Tensor& input, const Tensor& weight,
                 const Tensor& bias, const ConvolutionOptions& o, Tensor* out) {
  const int64_t outputs = out->size(1);
  const int64_t in_channels = input.size(1) / o.groups;
  const int64_t out_channels = outputs / o.groups;
  const int64_t in_plane = o.transposed ? w.num_windows() : w.image_numel();
  const int64_t out_plane = o.transposed ? w.image_numel() : w.num_windows();
  const Values<C> image(input), kernel(weight);
  const int64_t per_group = weight.numel() / o.groups;
  std::vector<C> result(static_cast<size_t>(out->numel()), C(0));
  for (int64_t n = 0; n < input.size(0); ++n) {
    for (int64_t g = 0; g < o.groups; ++g) {
      const C* from =
          image.data() + (n * o.groups + g) * in_channels * in_plane;
      const C* factors = kernel.data() + g * per_group;
      C* to = result.data() + (n * o.groups + g) * out_channels * out_plane;
      if (o.transposed) {
        ConvolveGroupTransposed(w, from, factors, in_channels, out_channels,
                                to);
      } else {
        ConvolveGroup(w, from, factors, in_channels, out_channels, to);
      }
    }
  }
  if (bias.defined()) {
    const std::vector<C> shift = ReadAll<C>(bias);
    for (size_t i = 0; i < result.size(); ++i) {
      const size_t channel =
          i / static_cast<size_t>(out_plane) % static_cast<size_t>(outputs);
      result[i] = WrapAdd(result[i], shift[channel]);
    }
  }
  WriteAll(out, result);
}

MemoryFormat ResultFormat(const Tensor& input, const Tensor& weight) {
  const MemoryFormat format = SuggestedFormat(input);
  return format == MemoryFormat::kContiguous ? SuggestedFormat(weight) : format;
}

}  // namespace

bool Convolve(KernelCall& call, const Tensor& input, const Tensor& weight,
              const Tensor& bias, ConvolutionOptions options, Tensor* out) {
  if (input.dim() == 3 && weight.dim() == 3) {
    // As a 2-d convolution of height 1, whose memory format decides.
    if (!CheckOptions(call, 1, &options)) return false;
    options.stride.insert(options.stride.begin(), 1);
    options.padding.insert(options.padding.begin(), 0);
    options.dilation.insert(options.dilation.begin(), 1);
    options.output_padding.insert(options.output_padding.begin(), 0);
    Tensor flat;
    if (!Convolve(call, Unsqueezed(input, 2), Unsqueezed(weight, 2), bias,
                  options, &flat)) {
      return false;
    }
    *out = Squeezed(flat, 2);
    return true;
  }
  if (!CheckOperands(call, input, weight, bias, options) ||
      !CheckOptions(call, static_cast<size_t>(input.dim() - 2), &options)) {
    return false;
  }
  const int64_t outputs =
      options.transposed ? weight.size(1) * options.groups : weight.size(0);
  Windows windows;
  Sizes sizes = {input.size(0), outputs};
  if (!Measure(call, input, weight, options, &windows, &sizes) ||
      !Allocate(call, input.dtype(), sizes,
                StridesFor(sizes, ResultFormat(input, weight)), out)) {
    return false;
  }
  if (out->numel() == 0) return true;
  DispatchCompute(input.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    ConvolveAll<C>(windows, input, weight, bias, options, out);
  });
  return true;
}

}  // namespace tenon
