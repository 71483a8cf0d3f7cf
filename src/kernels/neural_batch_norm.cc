// Batch normalisation: over all dimensions but the channels (dimension 1).
//
// In training, the batch's own mean and biased variance normalise, and the
// running statistics move towards the mean and the *unbiased* variance by
// `momentum`. In evaluation the running statistics normalise.
#include <cmath>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

struct BatchNorm {
  Tensor input, weight, bias;        // weight and bias may be undefined
  Tensor running_mean, running_var;  // likewise; updated in training
  bool training = false;
  double momentum = 0.1;
  double eps = 1e-5;
};

struct BatchNormResult {
  Tensor output;
  Tensor mean, invstd;  // of the batch; [0] in evaluation
};

bool CheckChannels(KernelCall& call, const Tensor& tensor, int64_t channels,
                   const char* what) {
  if (!tensor.defined() || (tensor.dim() == 1 && tensor.numel() == channels)) {
    return true;
  }
  return call.Fail(std::string("batch_norm: ") + what + " should contain " +
                   std::to_string(channels) + " elements, found " +
                   tensor.ToString());
}

bool CheckBatchNorm(KernelCall& call, const BatchNorm& bn) {
  if (!IsFloating(bn.input.dtype())) {
    return call.Fail("batch_norm: expected a floating input, found " +
                     bn.input.ToString());
  }
  const int64_t channels = bn.input.dim() > 1    ? bn.input.size(1)
                           : bn.input.dim() == 1 ? bn.input.size(0)
                                                 : 0;
  if (bn.input.dim() < 2 && bn.input.numel() != 0) {
    return call.Fail("batch_norm: expected at least 2 dimensions");
  }
  if (!bn.training &&
      !(bn.running_mean.defined() && bn.running_var.defined())) {
    return call.Fail(
        "batch_norm: running statistics must be given in evaluation");
  }
  return CheckChannels(call, bn.weight, channels, "weight") &&
         CheckChannels(call, bn.bias, channels, "bias") &&
         CheckChannels(call, bn.running_mean, channels, "running_mean") &&
         CheckChannels(call, bn.running_var, channels, "running_var");
}

// Values of a per-channel tensor; `fallback` where it isn't given.
std::vector<double> PerChannel(const Tensor& tensor, int64_t channels,
                               double fallback) {
  if (tensor.defined()) return ReadAll<double>(tensor);
  return std::vector<double>(static_cast<size_t>(channels), fallback);
}

bool MoveStatistic(KernelCall& call, Tensor running, double momentum,
                   const std::vector<double>& target) {
  if (!running.defined()) return true;
  if (!running.storage()->MakeWritable()) {
    return call.Fail("batch_norm: out of memory");
  }
  std::vector<double> values = ReadAll<double>(running);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = momentum * target[i] + (1 - momentum) * values[i];
  }
  WriteAll(&running, values);
  return true;
}

bool Normalize(KernelCall& call, const BatchNorm& bn, BatchNormResult* out) {
  if (!CheckBatchNorm(call, bn)) return false;
  const Tensor& input = bn.input;
  if (!Allocate(call, input.dtype(), input.sizes(),
                StridesFor(input.sizes(), SuggestedFormat(input)),
                &out->output)) {
    return false;
  }
  // Statistics have the parameters' dtype, wider than that of a half input.
  const DType stat_dtype = bn.weight.defined()         ? bn.weight.dtype()
                           : bn.running_mean.defined() ? bn.running_mean.dtype()
                                                       : input.dtype();
  const int64_t channels = input.dim() > 1 ? input.size(1) : 0;
  const Sizes stat_sizes = {bn.training ? channels : 0};
  if (!Allocate(call, stat_dtype, stat_sizes, &out->mean) ||
      !Allocate(call, stat_dtype, stat_sizes, &out->invstd)) {
    return false;
  }
  if (channels == 0) return true;
  const int64_t batch = input.size(0);
  const int64_t inner =
      NumElements({input.sizes().begin() + 2, input.sizes().end()});
  const int64_t count = batch * inner;
  std::vector<double> values = ReadAll<double>(input);
  const auto for_channel = [&](int64_t c, auto f) {
    for (int64_t n = 0; n < batch; ++n) {
      double* run = values.data() + (n * channels + c) * inner;
      for (int64_t i = 0; i < inner; ++i) f(run[i]);
    }
  };
  std::vector<double> mean, variance;
  if (!bn.training) {
    mean = ReadAll<double>(bn.running_mean);
    variance = ReadAll<double>(bn.running_var);
  } else {
    // PyTorch keeps these sums in float, where they may overflow.
    const auto round = [&](double value) {
      return input.dtype() == DType::kFloat64
                 ? value
                 : static_cast<double>(static_cast<float>(value));
    };
    std::vector<double> unbiased;
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0, squares = 0;
      for_channel(c, [&](double x) { sum += x; });
      const double m = round(sum / static_cast<double>(count));
      for_channel(c, [&](double x) { squares += (x - m) * (x - m); });
      squares = round(squares);
      mean.push_back(m);
      variance.push_back(squares / static_cast<double>(count));
      unbiased.push_back(squares / static_cast<double>(count - 1));
    }
    if (!MoveStatistic(call, bn.running_mean, bn.momentum, mean) ||
        !MoveStatistic(call, bn.running_var, bn.momentum, unbiased)) {
      return false;
    }
  }
  std::vector<double> invstd;
  for (double v : variance) invstd.push_back(1.0 / std::sqrt(v + bn.eps));
  const std::vector<double> weight = PerChannel(bn.weight, channels, 1.0);
  const std::vector<double> bias = PerChannel(bn.bias, channels, 0.0);
  for (int64_t c = 0; c < channels; ++c) {
    const size_t at = static_cast<size_t>(c);
    // In this form an infinite scale gives nan, as in PyTorch.
    const double scale = invstd[at] * weight[at];
    const double shift = bias[at] - mean[at] * scale;
    for_channel(c, [&](double& x) { x = x * scale + shift; });
  }
  WriteAll(&out->output, values);
  if (bn.training) {
    WriteAll(&out->mean, mean);
    WriteAll(&out->invstd, invstd);
  }
  return true;
}

// Arguments 0 to 4 and training at 5, momentum, eps.
BatchNorm ReadArguments(KernelCall& call) {
  return {call.tensor(0),         call.OptionalTensor(1),
          call.OptionalTensor(2), call.OptionalTensor(3),
          call.OptionalTensor(4), call.Bool(5),
          call.Float(6),          call.Float(7)};
}

bool ReturnThree(KernelCall& call, const BatchNorm& bn) {
  BatchNormResult result;
  if (!Normalize(call, bn, &result)) return false;
  call.Return(result.output);
  call.Return(result.mean);
  call.Return(result.invstd);
  return true;
}

bool BatchNormOnly(KernelCall& call) {
  BatchNormResult result;
  if (!Normalize(call, ReadArguments(call), &result)) return false;
  call.Return(result.output);
  return true;
}

bool NativeBatchNorm(KernelCall& call) {
  return ReturnThree(call, ReadArguments(call));
}

// _native_batch_norm_legit.no_stats(input, weight, bias, training, ...)
bool BatchNormNoStats(KernelCall& call) {
  BatchNorm bn{call.tensor(0),
               call.OptionalTensor(1),
               call.OptionalTensor(2),
               Tensor(),
               Tensor(),
               call.Bool(3),
               call.Float(4),
               call.Float(5)};
  return ReturnThree(call, bn);
}

// _native_batch_norm_legit_no_training(input, w, b, mean, var, momentum, eps)
bool BatchNormNoTraining(KernelCall& call) {
  BatchNorm bn{call.tensor(0),         call.OptionalTensor(1),
               call.OptionalTensor(2), call.OptionalTensor(3),
               call.OptionalTensor(4), false,
               call.Float(5),          call.Float(6)};
  return ReturnThree(call, bn);
}

// The running statistics are updated in copies, which are returned too.
bool BatchNormFunctional(KernelCall& call) {
  BatchNorm bn = ReadArguments(call);
  for (Tensor* running : {&bn.running_mean, &bn.running_var}) {
    if (!running->defined()) {
      return call.Fail("batch_norm: expected running statistics");
    }
    *running = running->Clone();
    if (!running->defined()) return call.Fail("batch_norm: out of memory");
  }
  if (!ReturnThree(call, bn)) return false;
  call.Return(bn.running_mean);
  call.Return(bn.running_var);
  return true;
}

// (input, weight, bias, running_mean, running_var, momentum, eps), and a
// reserve buffer that CPUs leave empty.
template <bool kTraining>
bool BatchNormUpdate(KernelCall& call) {
  BatchNorm bn{call.tensor(0),         call.OptionalTensor(1),
               call.OptionalTensor(2), call.OptionalTensor(3),
               call.OptionalTensor(4), kTraining,
               call.Float(5),          call.Float(6)};
  Tensor reserve;
  if (!Allocate(call, DType::kUInt8, {0}, &reserve) || !ReturnThree(call, bn)) {
    return false;
  }
  call.Return(reserve);
  return true;
}

// The average over the batch of a statistic kept per (batch, channel).
bool AverageInto(KernelCall& call, const Tensor& per_instance, int64_t batch,
                 Tensor running) {
  if (!running.defined()) return true;
  if (!PrepareWrite(call, running)) return false;
  const std::vector<double> values = ReadAll<double>(per_instance);
  std::vector<double> means(static_cast<size_t>(running.numel()));
  for (size_t i = 0; i < values.size(); ++i) {
    means[i % means.size()] += values[i] / static_cast<double>(batch);
  }
  WriteAll(&running, means);
  return true;
}

// Batch normalisation of [1, batch · channels, ...].
bool InstanceNorm(KernelCall& call) {
  const Tensor& input = call.tensor(0);
  if (input.dim() < 2) {
    return call.Fail("instance_norm: expected at least 2 dimensions");
  }
  const int64_t batch = input.size(0), channels = input.size(1);
  BatchNorm bn = ReadArguments(call);
  if (!CheckChannels(call, bn.weight, channels, "weight") ||
      !CheckChannels(call, bn.bias, channels, "bias") ||
      !CheckChannels(call, bn.running_mean, channels, "running_mean") ||
      !CheckChannels(call, bn.running_var, channels, "running_var")) {
    return false;
  }
  const Tensor running_mean = bn.running_mean, running_var = bn.running_var;
  for (Tensor* tensor :
       {&bn.weight, &bn.bias, &bn.running_mean, &bn.running_var}) {
    if (tensor->defined() && !CallKernel(call, "aten.repeat.default",
                                         {*tensor, IntList({batch})}, tensor)) {
      return false;
    }
  }
  Sizes merged = input.sizes();
  merged[0] = 1;
  merged[1] = batch * channels;
  bn.input = Reshaped(input.Contiguous(), merged);
  BatchNormResult result;
  if (!Normalize(call, bn, &result)) return false;
  if (bn.training &&
      (!AverageInto(call, bn.running_mean, batch, running_mean) ||
       !AverageInto(call, bn.running_var, batch, running_var))) {
    return false;
  }
  call.Return(Reshaped(result.output.Contiguous(), input.sizes()));
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.batch_norm.default", BatchNormOnly},
    {"aten.native_batch_norm.default", NativeBatchNorm},
    {"aten._native_batch_norm_legit.default", NativeBatchNorm},
    {"aten._native_batch_norm_legit.no_stats", BatchNormNoStats},
    {"aten._native_batch_norm_legit_no_training.default", BatchNormNoTraining},
    {"aten._native_batch_norm_legit_functional.default", BatchNormFunctional},
    {"aten._batch_norm_with_update.default", BatchNormUpdate<true>},
    {"aten._batch_norm_no_update.default", BatchNormUpdate<false>},
    {"aten.instance_norm.default", InstanceNorm},
};

}  // namespace

std::span<const KernelEntry> BatchNormKernels() { return kEntries; }

}  // namespace tenon
