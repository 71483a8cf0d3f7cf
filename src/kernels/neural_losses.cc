// Losses: a value per element or sample, then none, mean or sum of them.
// Computed in double, rounded once.
#include <algorithm>
#include <cmath>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/promotion.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

bool CheckReduction(KernelCall& call, int64_t reduction) {
  if (reduction >= kNone && reduction <= kSum) return true;
  return call.Fail("unknown loss reduction " + std::to_string(reduction));
}

// Returns the values as a tensor of `sizes`, or their mean or sum.
bool ReturnReduced(KernelCall& call, DType dtype, const Sizes& sizes,
                   const Sizes& strides, const std::vector<double>& values,
                   int64_t reduction, double divisor) {
  Tensor out;
  if (reduction == kNone) {
    if (!Allocate(call, dtype, sizes, strides, &out)) return false;
    WriteAll(&out, values);
  } else {
    if (!Allocate(call, dtype, {}, &out)) return false;
    double sum = 0;
    for (double v : values) sum += v;
    Fill<double>(&out, reduction == kMean ? sum / divisor : sum);
  }
  call.Return(out);
  return true;
}

// A loss of f(self, target), elementwise.
template <typename F>
bool PairLoss(KernelCall& call, int64_t reduction, F f) {
  const Tensor &self = call.tensor(0), &target = call.tensor(1);
  const Operand operands[] = {{self, false}, {target, false}};
  const DType dtype = ResultType(operands);
  Sizes sizes;
  if (!CheckReduction(call, reduction)) return false;
  if (!IsFloating(dtype)) {
    return call.Fail("loss of " + self.ToString() + " and " +
                     target.ToString());
  }
  if (!BroadcastSizes(self.sizes(), target.sizes(), &sizes) ||
      !CheckSizes(call, sizes)) {
    return call.Fail("loss: sizes do not broadcast: " + self.ToString() +
                     " and " + target.ToString());
  }
  std::vector<double> values = ReadAll<double>(ExpandTo(self, sizes));
  const std::vector<double> targets = ReadAll<double>(ExpandTo(target, sizes));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = f(values[i], targets[i]);
  }
  const Tensor both[] = {self, target};
  return ReturnReduced(call, dtype, sizes, ResultStrides(sizes, both), values,
                       reduction, static_cast<double>(values.size()));
}

bool MseLoss(KernelCall& call) {
  return PairLoss(call, call.Int(2),
                  [](double x, double t) { return (x - t) * (x - t); });
}

bool L1Loss(KernelCall& call) {
  if (IsComplex(call.tensor(0).dtype()) || IsComplex(call.tensor(1).dtype())) {
    const int64_t reduction = call.Int(2);
    Tensor difference, distance;
    if (!CheckReduction(call, reduction) ||
        !CallKernel(call, "aten.sub.Tensor", {call.tensor(0), call.tensor(1)},
                    &difference) ||
        !CallKernel(call, "aten.abs.default", {difference}, &distance)) {
      return false;
    }
    if (reduction == kNone) {
      call.Return(distance);
      return true;
    }
    return ForwardTo(
        call, reduction == kMean ? "aten.mean.default" : "aten.sum.default",
        {distance});
  }
  return PairLoss(call, call.Int(2),
                  [](double x, double t) { return std::abs(x - t); });
}

bool SmoothL1Loss(KernelCall& call) {
  const double beta = call.Float(3);
  if (!(beta >= 0)) return call.Fail("smooth_l1_loss: negative beta");
  return PairLoss(call, call.Int(2), [beta](double x, double t) {
    const double d = std::abs(x - t);
    return d < beta ? 0.5 * d * d / beta : d - 0.5 * beta;
  });
}

bool HuberLoss(KernelCall& call) {
  const double delta = call.Float(3);
  if (!(delta > 0)) return call.Fail("huber_loss: delta must be positive");
  return PairLoss(call, call.Int(2), [delta](double x, double t) {
    const double d = std::abs(x - t);
    return d <= delta ? 0.5 * d * d : delta * (d - 0.5 * delta);
  });
}

bool SoftMarginLoss(KernelCall& call) {
  return PairLoss(call, call.Int(2), [](double x, double t) {
    return std::log1p(std::exp(-x * t));
  });
}

bool KlDiv(KernelCall& call) {
  const bool log_target = call.Bool(3);
  return PairLoss(call, call.Int(2), [log_target](double x, double t) {
    if (log_target) return std::exp(t) * (t - x);
    return (t == 0 ? 0.0 : t * std::log(t)) - t * x;
  });
}

// Multiplies by a weight that broadcasts, before reducing.
template <typename F>
bool WeightedPairLoss(KernelCall& call, const Tensor& weight, int64_t reduction,
                      F f) {
  const Tensor &self = call.tensor(0), &target = call.tensor(1);
  if (!CheckReduction(call, reduction)) return false;
  if (!IsFloating(self.dtype()) || target.sizes() != self.sizes()) {
    return call.Fail("loss: expected floating operands of equal sizes");
  }
  std::vector<double> values = ReadAll<double>(self);
  const std::vector<double> targets = ReadAll<double>(target);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = f(i, values[i], targets[i]);
  }
  if (weight.defined()) {
    if (!BroadcastsTo(weight.sizes(), self.sizes())) {
      return call.Fail("loss: the weight does not broadcast");
    }
    const std::vector<double> factors =
        ReadAll<double>(ExpandTo(weight, self.sizes()));
    for (size_t i = 0; i < values.size(); ++i) values[i] *= factors[i];
  }
  const Tensor both[] = {self, target};
  return ReturnReduced(call, self.dtype(), self.sizes(),
                       ResultStrides(self.sizes(), both), values, reduction,
                       static_cast<double>(values.size()));
}

bool BinaryCrossEntropy(KernelCall& call) {
  bool in_range = true;
  const auto loss = [&](size_t, double x, double t) {
    in_range = in_range && x >= 0 && x <= 1;
    return (t - 1) * std::max(std::log1p(-x), -100.0) -
           t * std::max(std::log(x), -100.0);
  };
  if (!WeightedPairLoss(call, call.OptionalTensor(2), call.Int(3), loss)) {
    return false;
  }
  return in_range || call.Fail(
                         "binary_cross_entropy: all elements of the "
                         "input should be between 0 and 1");
}

bool BinaryCrossEntropyWithLogits(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const Tensor pos_weight = call.OptionalTensor(3);
  std::vector<double> positive;
  if (pos_weight.defined()) {
    if (!BroadcastsTo(pos_weight.sizes(), self.sizes())) {
      return call.Fail("loss: pos_weight does not broadcast");
    }
    positive = ReadAll<double>(ExpandTo(pos_weight, self.sizes()));
  }
  return WeightedPairLoss(
      call, call.OptionalTensor(2), call.Int(4),
      [&](size_t i, double x, double t) {
        const double factor =
            positive.empty() ? 1.0 : (positive[i] - 1) * t + 1;
        return (1 - t) * x + factor * (std::log1p(std::exp(-std::abs(x))) +
                                       std::max(-x, 0.0));
      });
}

// --- class targets ---

// Log-probabilities [outer, classes, inner] and a class for each of the
// outer * inner samples.
struct ClassTargets {
  int64_t outer = 1, classes = 1, inner = 1;
  std::vector<double> log_probs;
  std::vector<int64_t> targets;
  std::vector<double> weight;  // per class; ones when none was given

  double At(size_t sample, int64_t c) const {
    const int64_t s = static_cast<int64_t>(sample);
    return log_probs[static_cast<size_t>((s / inner * classes + c) * inner +
                                         s % inner)];
  }
};

bool ReadClassTargets(KernelCall& call, const Tensor& self,
                      const Tensor& target, const Tensor& weight,
                      int64_t ignore_index, ClassTargets* out) {
  if (self.dim() < 1 || !IsFloating(self.dtype()) ||
      (target.dtype() != DType::kInt64 && target.dtype() != DType::kUInt8)) {
    return call.Fail("nll_loss: bad input " + self.ToString() + " or target " +
                     target.ToString());
  }
  const int64_t class_dim = self.dim() == 1 ? 0 : 1;
  Sizes expected = self.sizes();
  expected.erase(expected.begin() + class_dim);
  const bool scalar_fits = self.dim() == 1 && target.numel() == 1;
  if (target.sizes() != expected && !scalar_fits) {
    return call.Fail("nll_loss: input " + self.ToString() +
                     " doesn't fit target " + target.ToString());
  }
  out->outer = self.dim() == 1 ? 1 : self.size(0);
  out->classes = self.size(class_dim);
  for (int64_t d = 2; d < self.dim(); ++d) out->inner *= self.size(d);
  out->log_probs = ReadAll<double>(self);
  out->targets = ReadAll<int64_t>(target);
  out->weight.assign(static_cast<size_t>(out->classes), 1.0);
  if (weight.defined()) {
    if (weight.dim() != 1 || weight.numel() != out->classes) {
      return call.Fail("nll_loss: expected a weight of " +
                       std::to_string(out->classes) + " elements");
    }
    out->weight = ReadAll<double>(weight);
  }
  for (int64_t t : out->targets) {
    if (t != ignore_index && (t < 0 || t >= out->classes)) {
      return call.Fail("nll_loss: target " + std::to_string(t) +
                       " is out of bounds");
    }
  }
  return true;
}

bool NllLoss(KernelCall& call, const Tensor& self, const Tensor& target,
             const Tensor& weight, int64_t reduction, int64_t ignore_index,
             bool return_weight) {
  ClassTargets classes;
  if (!CheckReduction(call, reduction) ||
      !ReadClassTargets(call, self, target, weight, ignore_index, &classes)) {
    return false;
  }
  std::vector<double> values;
  double total = 0;
  for (size_t i = 0; i < classes.targets.size(); ++i) {
    const int64_t t = classes.targets[i];
    const double w =
        t == ignore_index ? 0 : classes.weight[static_cast<size_t>(t)];
    values.push_back(t == ignore_index ? 0 : -w * classes.At(i, t));
    total += w;
  }
  if (!ReturnReduced(call, self.dtype(), target.sizes(),
                     ContiguousStrides(target.sizes()), values, reduction,
                     total)) {
    return false;
  }
  if (!return_weight) return true;
  Tensor sum;
  if (!Allocate(call, self.dtype(), {}, &sum)) return false;
  Fill<double>(&sum, reduction == kNone ? 0 : total);
  call.Return(sum);
  return true;
}

template <bool kReturnWeight>
bool NllLossForward(KernelCall& call) {
  return NllLoss(call, call.tensor(0), call.tensor(1), call.OptionalTensor(2),
                 call.Int(3), call.Int(4), kReturnWeight);
}

// Targets that are probabilities themselves.
bool SoftCrossEntropy(KernelCall& call, const Tensor& log_probs,
                      const Tensor& target, const Tensor& weight,
                      int64_t reduction, double smoothing) {
  const int64_t class_dim = log_probs.dim() == 1 ? 0 : 1;
  const int64_t classes = log_probs.size(class_dim);
  if (!IsFloating(target.dtype()) ||
      (weight.defined() && weight.sizes() != Sizes{classes})) {
    return call.Fail("cross_entropy: bad target or weight");
  }
  const std::vector<double> logs = ReadAll<double>(log_probs);
  const std::vector<double> targets = ReadAll<double>(target);
  std::vector<double> factors(static_cast<size_t>(classes), 1.0);
  if (weight.defined()) factors = ReadAll<double>(weight);
  Sizes sizes = log_probs.sizes();
  sizes.erase(sizes.begin() + class_dim);
  int64_t inner = 1;
  for (int64_t d = class_dim + 1; d < log_probs.dim(); ++d) {
    inner *= log_probs.size(d);
  }
  std::vector<double> values(static_cast<size_t>(NumElements(sizes)));
  for (size_t i = 0; i < logs.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i);
    const int64_t c = at / inner % classes;
    const int64_t sample = at / (inner * classes) * inner + at % inner;
    const double t =
        targets[i] * (1 - smoothing) + smoothing / static_cast<double>(classes);
    values[static_cast<size_t>(sample)] -=
        logs[i] * t * factors[static_cast<size_t>(c)];
  }
  return ReturnReduced(call, log_probs.dtype(), sizes, ContiguousStrides(sizes),
                       values, reduction, static_cast<double>(values.size()));
}

bool CrossEntropyLoss(KernelCall& call) {
  const Tensor &self = call.tensor(0), &target = call.tensor(1);
  const Tensor weight = call.OptionalTensor(2);
  const int64_t reduction = call.Int(3), ignore_index = call.Int(4);
  const double smoothing = call.Float(5);
  if (self.dim() < 1) return call.Fail("cross_entropy: 0-d input");
  if (!(smoothing >= 0 && smoothing <= 1)) {
    return call.Fail("cross_entropy: label_smoothing must be within 0 and 1");
  }
  Tensor log_probs;
  if (!CheckReduction(call, reduction) ||
      !CallKernel(call, "aten.log_softmax.int",
                  {self, int64_t{self.dim() == 1 ? 0 : 1}}, &log_probs)) {
    return false;
  }
  if (target.sizes() == self.sizes()) {
    return SoftCrossEntropy(call, log_probs, target, weight, reduction,
                            smoothing);
  }
  if (smoothing == 0) {
    return NllLoss(call, log_probs, target, weight, reduction, ignore_index,
                   false);
  }
  ClassTargets classes;
  if (!ReadClassTargets(call, log_probs, target, weight, ignore_index,
                        &classes)) {
    return false;
  }
  std::vector<double> values;
  double total = 0;
  for (size_t i = 0; i < classes.targets.size(); ++i) {
    const int64_t t = classes.targets[i];
    double smooth = 0;
    for (int64_t c = 0; c < classes.classes; ++c) {
      smooth -= classes.At(i, c) * classes.weight[static_cast<size_t>(c)];
    }
    if (t == ignore_index) {
      values.push_back(0);
      continue;
    }
    const double w = classes.weight[static_cast<size_t>(t)];
    total += w;
    values.push_back((1 - smoothing) * -w * classes.At(i, t) +
                     smoothing / static_cast<double>(classes.classes) * smooth);
  }
  return ReturnReduced(call, self.dtype(), target.sizes(),
                       ContiguousStrides(target.sizes()), values, reduction,
                       total);
}

constexpr KernelEntry kEntries[] = {
    {"aten.mse_loss.default", MseLoss},
    {"aten.l1_loss.default", L1Loss},
    {"aten.smooth_l1_loss.default", SmoothL1Loss},
    {"aten.huber_loss.default", HuberLoss},
    {"aten.soft_margin_loss.default", SoftMarginLoss},
    {"aten.kl_div.default", KlDiv},
    {"aten.binary_cross_entropy.default", BinaryCrossEntropy},
    {"aten.binary_cross_entropy_with_logits.default",
     BinaryCrossEntropyWithLogits},
    {"aten.nll_loss_forward.default", NllLossForward<true>},
    {"aten.nll_loss2d_forward.default", NllLossForward<true>},
    {"aten.nll_loss.default", NllLossForward<false>},
    {"aten.nll_loss2d.default", NllLossForward<false>},
    {"aten.nll_loss_nd.default", NllLossForward<false>},
    {"aten.cross_entropy_loss.default", CrossEntropyLoss},
};

}  // namespace

std::span<const KernelEntry> LossKernels() { return kEntries; }

}  // namespace tenon
