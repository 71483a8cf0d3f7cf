// Losses of margins and embeddings, and gradients of losses: each is the chain
// of plain operators that PyTorch makes it of.
#include <string>
#include <vector>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/registry.h"

namespace tenon {
namespace {

// ATen's Reduction enum.
constexpr int64_t kNone = 0, kMean = 1, kSum = 2;

Tensor Reduced(KernelChain& chain, const Tensor& loss, int64_t reduction) {
  if (reduction == kMean) return chain("aten.mean.default", {loss});
  if (reduction == kSum) return chain("aten.sum.default", {loss});
  return loss;
}

bool CheckReduction(KernelCall& call, int64_t reduction) {
  return (reduction >= kNone && reduction <= kSum) ||
         call.Fail("unknown reduction " + std::to_string(reduction));
}

Tensor AtLeastZero(KernelChain& chain, const Tensor& x) {
  return chain("aten.clamp_min.default", {x, int64_t{0}});
}

// max(0, -target * (a - b) + margin)
bool MarginRankingLoss(KernelCall& call) {
  const int64_t reduction = call.Int(4);
  const Tensor &a = call.tensor(0), &b = call.tensor(1), &y = call.tensor(2);
  if (!CheckReduction(call, reduction)) return false;
  if (a.dim() != b.dim() || a.dim() != y.dim()) {
    return call.Fail("inputs and target need the same number of dimensions");
  }
  KernelChain chain(call);
  Tensor loss = chain("aten.sub.Tensor", {a, b});
  loss = chain("aten.mul.Tensor", {chain("aten.neg.default", {y}), loss});
  loss = AtLeastZero(chain, chain("aten.add.Tensor", {loss, call.Float(3)}));
  return chain.Return({Reduced(chain, loss, reduction)});
}

// x where target is 1, max(0, margin - x) where it is -1.
bool HingeEmbeddingLoss(KernelCall& call) {
  const int64_t reduction = call.Int(3);
  if (!CheckReduction(call, reduction)) return false;
  const Tensor &x = call.tensor(0), &y = call.tensor(1);
  KernelChain chain(call);
  const Tensor zeros = chain("aten.zeros_like.default", {x});
  const Tensor margin =
      AtLeastZero(chain, chain("aten.rsub.Scalar", {x, call.Float(2)}));
  const auto unless = [&](int64_t target, const Tensor& value) {
    return chain("aten.where.self",
                 {chain("aten.ne.Scalar", {y, target}), value, zeros});
  };
  const Tensor loss =
      chain("aten.add.Tensor", {unless(1, margin), unless(-1, x)});
  return chain.Return({Reduced(chain, loss, reduction)});
}

// 1 - cos where target is 1, max(0, cos - margin) where it is -1.
bool CosineEmbeddingLoss(KernelCall& call) {
  const int64_t reduction = call.Int(4);
  const Tensor &a = call.tensor(0), &b = call.tensor(1), &y = call.tensor(2);
  if (!CheckReduction(call, reduction)) return false;
  if (!((y.dim() == 0 && a.dim() == 1 && b.dim() == 1) ||
        (y.dim() == 1 && a.dim() == 2 && b.dim() == 2))) {
    return call.Fail("0D target needs 1D inputs, 1D target 2D inputs");
  }
  constexpr double kEps = 1e-12;
  KernelChain chain(call);
  const RuntimeValue dim = IntList({y.dim()});
  const auto squared = [&](const Tensor& x) {
    const Tensor sum =
        chain("aten.sum.dim_IntList", {chain("aten.mul.Tensor", {x, x}), dim});
    return chain("aten.add.Tensor", {sum, kEps});
  };
  const Tensor product =
      chain("aten.sum.dim_IntList", {chain("aten.mul.Tensor", {a, b}), dim});
  const Tensor norms =
      chain("aten.sqrt.default",
            {chain("aten.mul.Tensor", {squared(a), squared(b)})});
  const Tensor cosine = chain("aten.div.Tensor", {product, norms});
  const Tensor zeros = chain("aten.zeros_like.default", {cosine});
  const Tensor apart =
      AtLeastZero(chain, chain("aten.sub.Tensor", {cosine, call.Float(3)}));
  const Tensor alike = chain("aten.rsub.Scalar", {cosine, int64_t{1}});
  const auto where = [&](int64_t target, const Tensor& value) {
    return chain("aten.where.self",
                 {chain("aten.eq.Scalar", {y, target}), value, zeros});
  };
  const Tensor loss =
      chain("aten.add.Tensor", {where(1, alike), where(-1, apart)});
  return chain.Return({Reduced(chain, loss, reduction)});
}

// max(0, margin + |anchor - positive| - |anchor - negative|); with `swap` the
// negative's distance is the smaller one to anchor and positive.
bool TripletMarginLoss(KernelCall& call) {
  const int64_t reduction = call.Int(7);
  const Tensor &anchor = call.tensor(0), &positive = call.tensor(1),
               &negative = call.tensor(2);
  if (!CheckReduction(call, reduction)) return false;
  if (anchor.dim() != positive.dim() || anchor.dim() != negative.dim()) {
    return call.Fail("the three need the same number of dimensions");
  }
  KernelChain chain(call);
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return chain("aten.pairwise_distance.default",
                 {a, b, call.Float(4), call.Float(5)});
  };
  const Tensor near = distance(anchor, positive);
  Tensor far = distance(anchor, negative);
  if (call.Bool(6)) {
    far = chain("aten.minimum.default", {far, distance(positive, negative)});
  }
  Tensor loss = chain("aten.sub.Tensor", {near, far});
  loss = AtLeastZero(chain, chain("aten.add.Tensor", {loss, call.Float(3)}));
  return chain.Return({Reduced(chain, loss, reduction)});
}

// exp(x) - target * x, or x - target * log(x + eps); with `full` Stirling's
// term where the target is above 1.
bool PoissonNllLoss(KernelCall& call) {
  const int64_t reduction = call.Int(5);
  const Tensor &x = call.tensor(0), &y = call.tensor(1);
  if (!CheckReduction(call, reduction)) return false;
  KernelChain chain(call);
  Tensor loss;
  if (call.Bool(2)) {
    loss = chain("aten.sub.Tensor", {chain("aten.exp.default", {x}),
                                     chain("aten.mul.Tensor", {y, x})});
  } else {
    const Tensor log = chain("aten.log.default",
                             {chain("aten.add.Tensor", {x, call.Float(4)})});
    loss = chain("aten.sub.Tensor", {x, chain("aten.mul.Tensor", {y, log})});
  }
  if (call.Bool(3)) {
    const Tensor log = chain("aten.log.default", {y});
    Tensor stirling =
        chain("aten.sub.Tensor", {chain("aten.mul.Tensor", {y, log}), y});
    const Tensor circle =
        chain("aten.mul.Tensor", {y, 2 * 3.14159265358979323846});
    const Tensor rest =
        chain("aten.mul.Tensor", {chain("aten.log.default", {circle}), 0.5});
    stirling = chain("aten.add.Tensor", {stirling, rest});
    const Tensor zeros = chain("aten.zeros_like.default", {stirling});
    const Tensor is_small = chain("aten.le.Scalar", {y, int64_t{1}});
    stirling = chain("aten.where.self", {is_small, zeros, stirling});
    loss = chain("aten.add.Tensor", {loss, stirling});
  }
  return chain.Return({Reduced(chain, loss, reduction)});
}

// --- gradients: `slope` times the incoming gradient, over n when averaged ---

Tensor Weighted(KernelChain& chain, const Tensor& slope, const Tensor& gradient,
                int64_t reduction) {
  const Tensor out = chain("aten.mul.Tensor", {slope, gradient});
  if (reduction != kMean || !chain.ok()) return out;
  return chain("aten.div.Scalar", {out, static_cast<double>(slope.numel())});
}

bool MseLossBackward(KernelCall& call) {
  const int64_t reduction = call.Int(3);
  if (!CheckReduction(call, reduction)) return false;
  KernelChain chain(call);
  Tensor slope = chain("aten.sub.Tensor", {call.tensor(1), call.tensor(2)});
  slope = chain("aten.mul.Tensor", {slope, int64_t{2}});
  return chain.Return({Weighted(chain, slope, call.tensor(0), reduction)});
}

// The difference, clamped to what the loss's linear part has as slope.
bool ClampedSlope(KernelCall& call, double at, double divisor) {
  const int64_t reduction = call.Int(3);
  if (!CheckReduction(call, reduction)) return false;
  KernelChain chain(call);
  Tensor slope = chain("aten.sub.Tensor", {call.tensor(1), call.tensor(2)});
  if (at > 0) {
    slope = chain("aten.clamp.default", {slope, -at, at});
    slope = chain("aten.div.Scalar", {slope, divisor});
  } else {
    slope = chain("aten.sign.default", {slope});
  }
  return chain.Return({Weighted(chain, slope, call.tensor(0), reduction)});
}
bool SmoothL1LossBackward(KernelCall& call) {
  return ClampedSlope(call, call.Float(4), call.Float(4));
}
bool HuberLossBackward(KernelCall& call) {
  return ClampedSlope(call, call.Float(4), 1);
}

// -target * z / (1 + z) with z = exp(-target * x)
bool SoftMarginLossBackward(KernelCall& call) {
  const int64_t reduction = call.Int(3);
  if (!CheckReduction(call, reduction)) return false;
  KernelChain chain(call);
  const Tensor minus = chain("aten.neg.default", {call.tensor(2)});
  const Tensor z = chain("aten.exp.default",
                         {chain("aten.mul.Tensor", {minus, call.tensor(1)})});
  Tensor slope = chain("aten.mul.Tensor", {minus, z});
  slope = chain("aten.div.Tensor",
                {slope, chain("aten.add.Scalar", {z, int64_t{1}})});
  return chain.Return({Weighted(chain, slope, call.tensor(0), reduction)});
}

// (x - target) / max((1 - x) * x, eps), weighted.
bool BinaryCrossEntropyBackward(KernelCall& call) {
  const int64_t reduction = call.Int(4);
  if (!CheckReduction(call, reduction)) return false;
  const Tensor& x = call.tensor(1);
  constexpr double kEps = 1e-12;
  KernelChain chain(call);
  Tensor below =
      chain("aten.mul.Tensor", {chain("aten.rsub.Scalar", {x, int64_t{1}}), x});
  below = chain("aten.clamp_min.default", {below, kEps});
  Tensor slope = chain("aten.sub.Tensor", {x, call.tensor(2)});
  slope = chain("aten.div.Tensor", {slope, below});
  if (!call.is_none(3)) {
    slope = chain("aten.mul.Tensor", {slope, call.tensor(3)});
  }
  return chain.Return({Weighted(chain, slope, call.tensor(0), reduction)});
}

constexpr KernelEntry kEntries[] = {
    {"aten.binary_cross_entropy_backward.default", &BinaryCrossEntropyBackward},
    {"aten.cosine_embedding_loss.default", &CosineEmbeddingLoss},
    {"aten.hinge_embedding_loss.default", &HingeEmbeddingLoss},
    {"aten.huber_loss_backward.default", &HuberLossBackward},
    {"aten.margin_ranking_loss.default", &MarginRankingLoss},
    {"aten.mse_loss_backward.default", &MseLossBackward},
    {"aten.poisson_nll_loss.default", &PoissonNllLoss},
    {"aten.smooth_l1_loss_backward.default", &SmoothL1LossBackward},
    {"aten.soft_margin_loss_backward.default", &SoftMarginLossBackward},
    {"aten.triplet_margin_loss.default", &TripletMarginLoss},
};

}  // namespace

std::span<const KernelEntry> MarginLossKernels() { return kEntries; }

}  // namespace tenon
