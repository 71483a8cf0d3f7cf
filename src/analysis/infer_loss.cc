// Losses: one per element or sample, or their mean or sum.
#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

// What an unreduced loss is like.
enum Shape : uint32_t {
  kElements,     // the operands, broadcast
  kLikeSelf,     // self
  kLikeTarget,   // argument 1
  kSamples,      // argument 0 without its classes
  kWithoutLast,  // argument 0 without the last dimension
  kPairs,        // the operands, broadcast, without the last dimension
};

// A row's parameter: the position of the reduction, the shape, and a bit for
// each operand; their dtypes are promoted.
constexpr uint32_t P(uint32_t reduction, Shape shape, uint32_t operands) {
  return reduction | static_cast<uint32_t>(shape) << 4 | operands << 8;
}

constexpr int64_t kNoReduction = 0, kMean = 1, kSum = 2;
// Added to a parameter: a floating number takes part.
constexpr uint32_t kWithNumber = 1u << 20;
// And: operands of several dtypes aren't promoted.
constexpr uint32_t kOneDtype = 1u << 21;

// The promoted dtype; unknown for integers, whose sum has another dtype than
// they and whose mean has none, unless a floating number takes part as well.
void SetDtype(const InferCall& call, uint32_t parameter, InferredType* out) {
  Promotion promotion;
  out->dtype = DType::kUnknown;
  DType first = DType::kUnknown;
  for (size_t i = 0; i < 8; ++i) {
    if ((parameter >> (8 + i) & 1) == 0 || !call.Has(i)) continue;
    const Type* t = call.Tensor(i);
    if (t == nullptr) return;
    if (first == DType::kUnknown) first = t->dtype;
    if (parameter & kOneDtype && t->dtype != first) return;
    promotion.AddTensor(t->dtype, t->rank() > 0);
  }
  const DType dtype = promotion.Result();
  if (IsFloating(dtype)) out->dtype = dtype;
  if ((parameter & kWithNumber) == 0 || dtype == DType::kUnknown) return;
  // A distance of complex vectors is real.
  if (IsComplex(dtype) && (parameter >> 4 & 15) != kPairs) return;
  out->dtype = ToReal(ToFloating(dtype));
  out->is_default_dtype = ToFloating(dtype) != dtype;
}

// Without dimension `dim`.
void Drop(InferredType* t, int dim) {
  if (t->rank < 0) return;
  for (int d = dim; d + 1 < t->rank; ++d) t->sizes[d] = t->sizes[d + 1];
  if (dim < t->rank) --t->rank;
}

// Sizes of the unreduced loss; nullopt when an operand isn't a tensor.
std::optional<InferredType> Unreduced(const InferCall& call,
                                      uint32_t parameter) {
  const auto shape = static_cast<Shape>(parameter >> 4 & 15);
  const Type* like = call.Tensor(shape == kLikeTarget ? 1 : 0);
  if (like == nullptr) return std::nullopt;
  InferredType out = KnownType(*like);
  if (shape == kElements || shape == kPairs) {
    for (size_t i = 1; i < 8; ++i) {
      const bool is_operand = parameter >> (8 + i) & 1;
      if (!is_operand || !call.Has(i)) continue;
      const Type* t = call.Tensor(i);
      if (t == nullptr) return std::nullopt;
      BroadcastInto(*t, &out);
    }
  }
  if (shape == kPairs || shape == kWithoutLast) Drop(&out, out.rank - 1);
  if (shape == kSamples) Drop(&out, out.rank == 1 ? 0 : 1);
  return out;
}

void Loss(InferCall& call, uint32_t parameter) {
  const auto reduction = call.Int(parameter & 15);
  auto out = Unreduced(call, parameter);
  if (!out) return;
  SetDtype(call, parameter, &*out);
  // Without a dimension of samples kernels give a number, meta functions a
  // vector.
  const auto shape = static_cast<Shape>(parameter >> 4 & 15);
  const Type* self = call.Tensor(0);
  const int64_t least = shape == kWithoutLast  ? 2
                        : shape == kLikeTarget ? 1
                                               : 0;
  const bool is_number = self != nullptr && self->rank() < least;
  if (reduction == kMean || reduction == kSum) {
    out->rank = 0;
  } else if (reduction != kNoReduction || is_number) {
    out->rank = -1;
  }
  call.Add(*out);
}

// The absolute difference of complex numbers is real.
void AbsoluteLoss(InferCall& call, uint32_t parameter) {
  const Type *self = call.Tensor(0), *target = call.Tensor(1);
  if (self == nullptr || target == nullptr) return;
  Loss(call, parameter);
  const DType dtype = PromoteDTypes(self->dtype, target->dtype);
  if (IsComplex(dtype)) call.last().dtype = ToReal(dtype);
}

// Besides the loss, what only a gradient needs: the weights' sum, or which
// classes are targets.
enum Extra : uint32_t { kTotalWeight = 0, kIsTarget = 1 };
constexpr uint32_t With(uint32_t parameter, Extra extra) {
  return parameter | extra << 16;
}

void LossAndMore(InferCall& call, uint32_t parameter) {
  const Type *self = call.Tensor(0), *target = call.Tensor(1);
  if (self == nullptr || target == nullptr) return;
  Loss(call, parameter);
  if (parameter >> 16 & 1) {
    call.AddLike(*target, self->dtype);
  } else {
    call.AddTensor(call.last().dtype, 0);
  }
}

// Targets may be probabilities, of a dtype that counts; so do weights'.
void CrossEntropy(InferCall& call, uint32_t parameter) {
  const Type *self = call.Tensor(0), *target = call.Tensor(1);
  const Type* weight = call.Tensor(2);
  if (self == nullptr || target == nullptr) return;
  Loss(call, parameter);
  if (call.num_added() == 0) return;
  const bool is_mixed =
      (IsFloating(target->dtype) && target->dtype != self->dtype) ||
      (weight != nullptr && weight->dtype != self->dtype);
  if (is_mixed) call.last().dtype = DType::kUnknown;
}

constexpr InferRow kRows[] = {
    {"aten.mse_loss.default", Loss, P(2, kElements, 0b11)},
    {"aten.l1_loss.default", AbsoluteLoss, P(2, kElements, 0b11)},
    {"aten.smooth_l1_loss.default", Loss, P(2, kElements, 0b11)},
    {"aten.huber_loss.default", Loss, P(2, kElements, 0b11)},
    {"aten.soft_margin_loss.default", Loss, P(2, kElements, 0b11)},
    {"aten.kl_div.default", Loss, P(2, kElements, 0b11)},
    {"aten.poisson_nll_loss.default", Loss,
     P(5, kElements, 0b11) | kWithNumber | kOneDtype},
    {"aten.binary_cross_entropy.default", Loss,
     P(3, kLikeSelf, 0b11) | kOneDtype},
    {"aten.binary_cross_entropy_with_logits.default", Loss,
     P(4, kElements, 0b1111) | kOneDtype},
    {"aten.margin_ranking_loss.default", Loss,
     P(4, kElements, 0b111) | kWithNumber | kOneDtype},
    {"aten.hinge_embedding_loss.default", Loss,
     P(3, kElements, 0b11) | kOneDtype},
    {"aten.cosine_embedding_loss.default", Loss,
     P(4, kPairs, 0b11) | kWithNumber | kOneDtype},
    {"aten.triplet_margin_loss.default", Loss,
     P(7, kPairs, 0b111) | kWithNumber | kOneDtype},
    {"aten.cross_entropy_loss.default", CrossEntropy, P(3, kSamples, 0b1)},
    {"aten.nll_loss.default", Loss, P(3, kLikeTarget, 0b101) | kOneDtype},
    {"aten.nll_loss2d.default", Loss, P(3, kLikeTarget, 0b101) | kOneDtype},
    {"aten.nll_loss_nd.default", Loss, P(3, kLikeTarget, 0b101) | kOneDtype},
    {"aten.nll_loss_forward.default", LossAndMore,
     With(P(3, kLikeTarget, 0b101) | kOneDtype, kTotalWeight)},
    {"aten.nll_loss2d_forward.default", LossAndMore,
     With(P(3, kLikeTarget, 0b101) | kOneDtype, kTotalWeight)},
    {"aten.multi_margin_loss.default", Loss, P(5, kLikeTarget, 0b1)},
    {"aten.multilabel_margin_loss.default", Loss, P(2, kWithoutLast, 0b1)},
    {"aten.multilabel_margin_loss_forward.default", LossAndMore,
     With(P(2, kWithoutLast, 0b1), kIsTarget)},
};

}  // namespace

std::span<const InferRow> LossRows() { return kRows; }

}  // namespace tenon
