// Normalisation within a sample: layer_norm, group_norm, rms_norm.
#include <cmath>
#include <limits>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

// Mean and 1/sqrt(variance + eps) of `count` values.
struct Statistics {
  double mean = 0, rstd = 0;
};

// The sums are rounded to `stat_dtype` where PyTorch keeps them so, as they may
// overflow there. Its running mean is nan once it has passed an infinity.
Statistics Measure(const double* values, int64_t count, double eps,
                   DType stat_dtype) {
  const auto round = [&](double value) {
    return stat_dtype == DType::kFloat64
               ? value
               : static_cast<double>(static_cast<float>(value));
  };
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < count; ++i) sum += values[i];
  double mean = round(sum / static_cast<double>(count));
  if (std::isinf(mean) && count > 1) mean = std::nan("");
  for (int64_t i = 0; i < count; ++i) {
    squares += (values[i] - mean) * (values[i] - mean);
  }
  const double variance = round(squares) / static_cast<double>(count);
  return {mean, 1.0 / std::sqrt(variance + eps)};
}

// Half inputs with float parameters have float statistics.
DType StatisticDType(const Tensor& input, const Tensor& weight,
                     const Tensor& bias) {
  if (weight.defined()) return weight.dtype();
  return bias.defined() ? bias.dtype() : input.dtype();
}

bool CheckNormalizedShape(KernelCall& call, const Tensor& input,
                          const Sizes& shape, const Tensor& weight,
                          const Tensor& bias) {
  if (shape.empty()) return call.Fail("normalized_shape must not be empty");
  const size_t rank = input.sizes().size();
  if (rank < shape.size() ||
      !std::equal(shape.begin(), shape.end(),
                  input.sizes().end() - static_cast<int64_t>(shape.size()))) {
    return call.Fail("normalized_shape " + ToText(shape) +
                     " is not the end of the input's sizes " +
                     ToText(input.sizes()));
  }
  for (const Tensor& tensor : {weight, bias}) {
    if (tensor.defined() && tensor.sizes() != shape) {
      return call.Fail("expected weight and bias of sizes " + ToText(shape) +
                       ", found " + ToText(tensor.sizes()));
    }
  }
  return true;
}

bool LayerNormAll(KernelCall& call, double eps) {
  const Tensor& input = call.tensor(0);
  const Sizes shape = call.Ints(1);
  const Tensor weight = call.OptionalTensor(2), bias = call.OptionalTensor(3);
  if (!IsFloating(input.dtype())) {
    return call.Fail("layer_norm: expected a floating input, found " +
                     input.ToString());
  }
  if (!CheckNormalizedShape(call, input, shape, weight, bias)) return false;
  const int64_t width = NumElements(shape);
  Sizes stat_sizes = input.sizes();
  for (size_t i = 0; i < shape.size(); ++i) {
    stat_sizes[stat_sizes.size() - 1 - i] = 1;
  }
  const DType stat_dtype = StatisticDType(input, weight, bias);
  Tensor out, mean, rstd;
  if (!Allocate(call, input.dtype(), input.sizes(), &out) ||
      !Allocate(call, stat_dtype, stat_sizes, &mean) ||
      !Allocate(call, stat_dtype, stat_sizes, &rstd)) {
    return false;
  }
  std::vector<double> values = ReadAll<double>(input);
  std::vector<double> scale(static_cast<size_t>(width), 1.0);
  std::vector<double> shift(static_cast<size_t>(width), 0.0);
  if (weight.defined()) scale = ReadAll<double>(weight);
  if (bias.defined()) shift = ReadAll<double>(bias);
  std::vector<double> means, rstds;
  for (int64_t row = 0; row < mean.numel(); ++row) {
    double* line = values.data() + row * width;
    const Statistics s = Measure(line, width, eps, input.dtype());
    for (int64_t i = 0; i < width; ++i) {
      const size_t at = static_cast<size_t>(i);
      line[i] = (line[i] * s.rstd - s.mean * s.rstd) * scale[at] + shift[at];
    }
    means.push_back(s.mean);
    rstds.push_back(s.rstd);
  }
  WriteAll(&out, values);
  WriteAll(&mean, means);
  WriteAll(&rstd, rstds);
  call.Return(out);
  call.Return(mean);
  call.Return(rstd);
  return true;
}

bool NativeLayerNorm(KernelCall& call) {
  return LayerNormAll(call, call.Float(4));
}

bool LayerNorm(KernelCall& call) {
  if (!LayerNormAll(call, call.Float(4))) return false;
  call.results().resize(1);
  return true;
}

// The gradients that output_mask asks for; None for the others. With
// x̂ = (x − mean)·rstd and h = grad·weight:
//   input:  rstd·(h − mean(h) − x̂·mean(h·x̂)) per row
//   weight: Σ grad·x̂, bias: Σ grad, over the rows
bool NativeLayerNormBackward(KernelCall& call) {
  const Tensor &grad = call.tensor(0), &input = call.tensor(1);
  const Sizes shape = call.Ints(2);
  const Tensor weight = call.OptionalTensor(5), bias = call.OptionalTensor(6);
  const std::vector<int64_t> mask = call.Ints(7);
  if (!CheckNormalizedShape(call, input, shape, weight, bias)) return false;
  const int64_t width = NumElements(shape);
  const int64_t rows = width == 0 ? 0 : input.numel() / width;
  if (grad.sizes() != input.sizes() || call.tensor(3).numel() != rows ||
      call.tensor(4).numel() != rows || mask.size() != 3) {
    return call.Fail("layer_norm backward: arguments don't fit together");
  }
  const std::vector<double> g = ReadAll<double>(grad);
  const std::vector<double> x = ReadAll<double>(input);
  const std::vector<double> mean = ReadAll<double>(call.tensor(3));
  const std::vector<double> rstd = ReadAll<double>(call.tensor(4));
  std::vector<double> scale(static_cast<size_t>(width), 1.0);
  if (weight.defined()) scale = ReadAll<double>(weight);
  std::vector<double> to_input(x.size());
  std::vector<double> to_weight(scale.size()), to_bias(scale.size());
  for (size_t row = 0; row < mean.size(); ++row) {
    const size_t start = row * scale.size();
    double sum = 0, product = 0;
    for (size_t i = 0; i < scale.size(); ++i) {
      const double h = g[start + i] * scale[i];
      const double centred = (x[start + i] - mean[row]) * rstd[row];
      sum += h;
      product += h * centred;
      to_weight[i] += g[start + i] * centred;
      to_bias[i] += g[start + i];
    }
    const double count = static_cast<double>(width);
    for (size_t i = 0; i < scale.size(); ++i) {
      const double centred = (x[start + i] - mean[row]) * rstd[row];
      to_input[start + i] = rstd[row] * (g[start + i] * scale[i] - sum / count -
                                         centred * product / count);
    }
  }
  const auto give = [&](bool wanted, DType dtype, const Sizes& sizes,
                        const std::vector<double>& values) {
    Tensor out;
    if (wanted) {
      if (!Allocate(call, dtype, sizes, &out)) return false;
      WriteAll(&out, values);
      call.Return(out);
    } else {
      call.Return(RuntimeValue());
    }
    return true;
  };
  return give(mask[0] != 0, input.dtype(), input.sizes(), to_input) &&
         give(mask[1] != 0 && weight.defined(),
              weight.defined() ? weight.dtype() : input.dtype(), shape,
              to_weight) &&
         give(mask[2] != 0 && bias.defined(),
              bias.defined() ? bias.dtype() : input.dtype(), shape, to_bias);
}

// weight and bias are per channel; mean and rstd per sample and group.
bool GroupNormAll(KernelCall& call, const Tensor& input, const Tensor& weight,
                  const Tensor& bias, int64_t batch, int64_t channels,
                  int64_t inner, int64_t groups, double eps) {
  if (!IsFloating(input.dtype())) {
    return call.Fail("group_norm: expected a floating input, found " +
                     input.ToString());
  }
  if (groups <= 0 || channels < 0 || channels % groups != 0) {
    return call.Fail("group_norm: " + std::to_string(channels) +
                     " channels are not divisible by " +
                     std::to_string(groups) + " groups");
  }
  if (!CheckSizes(call, {batch, channels, inner})) return false;
  if (channels == 0 || inner == 0) {
    return call.Fail("group_norm: no channels or no elements per channel");
  }
  if (batch * channels * inner != input.numel()) {
    return call.Fail("group_norm: the input doesn't have N * C * HxW elements");
  }
  for (const Tensor& tensor : {weight, bias}) {
    if (tensor.defined() && (tensor.dim() != 1 || tensor.numel() != channels)) {
      return call.Fail("group_norm: expected weight and bias of " +
                       std::to_string(channels) + " elements, found " +
                       tensor.ToString());
    }
  }
  const DType stat_dtype = StatisticDType(input, weight, bias);
  Tensor out, mean, rstd;
  if (!Allocate(call, input.dtype(), input.sizes(),
                StridesFor(input.sizes(), SuggestedFormat(input)), &out) ||
      !Allocate(call, stat_dtype, {batch, groups}, &mean) ||
      !Allocate(call, stat_dtype, {batch, groups}, &rstd)) {
    return false;
  }
  std::vector<double> values = ReadAll<double>(input);
  const std::vector<double> scale =
      weight.defined() ? ReadAll<double>(weight) : std::vector<double>();
  const std::vector<double> shift =
      bias.defined() ? ReadAll<double>(bias) : std::vector<double>();
  const int64_t per_group = channels / groups;
  std::vector<double> means, rstds;
  for (int64_t line = 0; line < batch * groups; ++line) {
    double* start = values.data() + line * per_group * inner;
    const Statistics s = Measure(start, per_group * inner, eps, input.dtype());
    for (int64_t i = 0; i < per_group * inner; ++i) {
      const size_t channel =
          static_cast<size_t>(line % groups * per_group + i / inner);
      const double factor = s.rstd * (scale.empty() ? 1.0 : scale[channel]);
      start[i] = start[i] * factor - s.mean * factor +
                 (shift.empty() ? 0.0 : shift[channel]);
    }
    means.push_back(s.mean);
    rstds.push_back(s.rstd);
  }
  WriteAll(&out, values);
  WriteAll(&mean, means);
  WriteAll(&rstd, rstds);
  call.Return(out);
  call.Return(mean);
  call.Return(rstd);
  return true;
}

// Likewise, over the groups of channels.
bool NativeGroupNormBackward(KernelCall& call) {
  const Tensor &grad = call.tensor(0), &input = call.tensor(1);
  const Tensor weight = call.OptionalTensor(4);
  const int64_t batch = call.Int(5), channels = call.Int(6);
  const int64_t inner = call.Int(7), groups = call.Int(8);
  const std::vector<int64_t> mask = call.Ints(9);
  if (!CheckSizes(call, {batch, channels, inner})) return false;
  if (groups <= 0 || channels % groups != 0 || mask.size() != 3 ||
      grad.sizes() != input.sizes() ||
      input.numel() != batch * channels * inner ||
      call.tensor(2).numel() != batch * groups ||
      call.tensor(3).numel() != batch * groups ||
      (weight.defined() && weight.numel() != channels)) {
    return call.Fail("group_norm backward: arguments don't fit together");
  }
  const std::vector<double> g = ReadAll<double>(grad);
  const std::vector<double> x = ReadAll<double>(input);
  const std::vector<double> mean = ReadAll<double>(call.tensor(2));
  const std::vector<double> rstd = ReadAll<double>(call.tensor(3));
  std::vector<double> scale(static_cast<size_t>(channels), 1.0);
  if (weight.defined()) scale = ReadAll<double>(weight);
  std::vector<double> to_input(x.size());
  std::vector<double> to_weight(scale.size()), to_bias(scale.size());
  const int64_t width = channels / groups * inner;
  for (size_t line = 0; line < mean.size() && width > 0; ++line) {
    const size_t start = line * static_cast<size_t>(width);
    const auto channel = [&](int64_t i) {
      return static_cast<size_t>(static_cast<int64_t>(line) % groups *
                                     (channels / groups) +
                                 i / inner);
    };
    double sum = 0, product = 0;
    for (int64_t i = 0; i < width; ++i) {
      const size_t at = start + static_cast<size_t>(i);
      const double centred = (x[at] - mean[line]) * rstd[line];
      sum += g[at] * scale[channel(i)];
      product += g[at] * scale[channel(i)] * centred;
      to_weight[channel(i)] += g[at] * centred;
      to_bias[channel(i)] += g[at];
    }
    for (int64_t i = 0; i < width; ++i) {
      const size_t at = start + static_cast<size_t>(i);
      const double centred = (x[at] - mean[line]) * rstd[line];
      to_input[at] =
          rstd[line] * (g[at] * scale[channel(i)] -
                        (sum + centred * product) / static_cast<double>(width));
    }
  }
  const auto give = [&](bool wanted, DType dtype, const Sizes& sizes,
                        const std::vector<double>& values) {
    Tensor out;
    if (!wanted) {
      call.Return(RuntimeValue());
      return true;
    }
    if (!Allocate(call, dtype, sizes, &out)) return false;
    WriteAll(&out, values);
    call.Return(out);
    return true;
  };
  const DType dtype = weight.defined() ? weight.dtype() : input.dtype();
  return give(mask[0] != 0, input.dtype(), input.sizes(), to_input) &&
         give(mask[1] != 0, dtype, {channels}, to_weight) &&
         give(mask[2] != 0, dtype, {channels}, to_bias);
}

bool NativeGroupNorm(KernelCall& call) {
  return GroupNormAll(call, call.tensor(0), call.OptionalTensor(1),
                      call.OptionalTensor(2), call.Int(3), call.Int(4),
                      call.Int(5), call.Int(6), call.Float(7));
}

bool GroupNorm(KernelCall& call) {
  const Tensor& input = call.tensor(0);
  if (input.dim() < 2) {
    return call.Fail("group_norm: expected at least 2 dimensions");
  }
  const int64_t inner =
      NumElements({input.sizes().begin() + 2, input.sizes().end()});
  if (!GroupNormAll(call, input, call.OptionalTensor(2), call.OptionalTensor(3),
                    input.size(0), input.size(1), inner, call.Int(1),
                    call.Float(4))) {
    return false;
  }
  call.results().resize(1);
  return true;
}

double MachineEpsilon(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 0x1p-10;
    case DType::kBFloat16:
      return 0x1p-7;
    case DType::kFloat64:
    case DType::kComplex128:
      return std::numeric_limits<double>::epsilon();
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

// x · rsqrt(mean(x²) + eps) · weight, in float for the half types. Composed of
// elementwise operators, so that complex inputs and strides follow from them.
bool RmsNorm(KernelCall& call) {
  const Tensor& input = call.tensor(0);
  const Sizes shape = call.Ints(1);
  Tensor weight = call.OptionalTensor(2);
  if (weight.defined()) weight = weight.Contiguous();
  if (!IsFloating(input.dtype()) && !IsComplex(input.dtype())) {
    return call.Fail("rms_norm: expected a floating input");
  }
  if (!CheckNormalizedShape(call, input, shape, weight, Tensor())) {
    return false;
  }
  const bool half =
      input.dtype() == DType::kFloat16 || input.dtype() == DType::kBFloat16;
  const Tensor dense = input.Contiguous();
  if (!dense.defined()) return call.Fail("rms_norm: out of memory");
  const Tensor x = half ? Cast(dense, DType::kFloat32) : dense;
  if (!x.defined()) return call.Fail("rms_norm: out of memory");
  const double eps =
      call.is_none(3) ? MachineEpsilon(x.dtype()) : call.Float(3);
  Sizes dims;
  for (size_t i = 0; i < shape.size(); ++i) {
    dims.push_back(input.dim() - 1 - static_cast<int64_t>(i));
  }
  Tensor square, mean, shifted, factor, out;
  if (!CallKernel(call, "aten.pow.Tensor_Scalar", {x, int64_t{2}}, &square) ||
      !CallKernel(call, "aten.mean.dim", {square, IntList(dims), true},
                  &mean) ||
      !CallKernel(call, "aten.add.Scalar", {mean, eps}, &shifted) ||
      !CallKernel(call, "aten.rsqrt.default", {shifted}, &factor) ||
      !CallKernel(call, "aten.mul.Tensor", {x, factor}, &out) ||
      (weight.defined() &&
       !CallKernel(call, "aten.mul.Tensor", {out, weight}, &out))) {
    return false;
  }
  out = Cast(out, input.dtype());
  if (!out.defined()) return call.Fail("rms_norm: out of memory");
  call.Return(out);
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.layer_norm.default", LayerNorm},
    {"aten.native_layer_norm.default", NativeLayerNorm},
    {"aten.native_layer_norm_backward.default", NativeLayerNormBackward},
    {"aten.group_norm.default", GroupNorm},
    {"aten.native_group_norm.default", NativeGroupNorm},
    {"aten.native_group_norm_backward.default", NativeGroupNormBackward},
    {"aten.rms_norm.default", RmsNorm},
};

}  // namespace

std::span<const KernelEntry> LayerNormKernels() { return kEntries; }

}  // namespace tenon
