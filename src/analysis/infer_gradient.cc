// Gradients: each has the sizes of what it is the gradient of.
#include "analysis/infer_pointwise.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

using namespace pointwise;

// Sizes by argument `parameter`, dtype of the gradient that came in.
void WithSizes(InferCall& call, uint32_t parameter) {
  const Type* gradient = call.Tensor(0);
  const auto sizes = call.Sizes(parameter);
  if (gradient == nullptr || !sizes) return;
  InferredType& out =
      call.AddTensor(gradient->dtype, static_cast<int>(sizes->size()));
  for (int d = 0; d < out.rank; ++d) out.sizes[d] = (*sizes)[d];
}

// Gradients of input, weight and bias; `output_mask` says which are wanted.
void ConvolutionBackward(InferCall& call, uint32_t) {
  constexpr uint32_t kBiasSizes = 3, kMask = 10;
  const Type* gradient = call.Tensor(0);
  const Type* of[] = {call.Tensor(1), call.Tensor(2)};
  if (gradient == nullptr || of[0] == nullptr || of[1] == nullptr) return;
  for (uint32_t i = 0; i < 3; ++i) {
    const auto is_there = HasResult(call, kMask, i);
    if (is_there == false) {
      call.AddKind(TypeKind::kNone);
    } else if (!is_there) {
      call.AddUnknown();
    } else if (i < 2) {
      call.AddLike(*of[i], gradient->dtype);
    } else if (call.Has(kBiasSizes)) {
      WithSizes(call, kBiasSizes);
    } else if (gradient->rank() == of[1]->rank()) {
      call.AddTensor(gradient->dtype, 1).sizes[0] = SizeAt(*gradient, 1);
    } else {
      call.AddTensor(gradient->dtype, 1);
    }
  }
}

// The input, and one number per channel for weight and bias. The parameter is
// where the weight stands.
constexpr uint32_t kOfBatchNorm = 2, kOfGroupNorm = 4;

void NormBackward(InferCall& call, uint32_t weight_at) {
  constexpr uint32_t kMask = 9;
  const Type *input = call.Tensor(1), *weight = call.Tensor(weight_at);
  if (input == nullptr || input->rank() < 2) return;
  for (uint32_t i = 0; i < 3; ++i) {
    const auto is_there = HasResult(call, kMask, i);
    if (is_there == false && (i > 0 || weight_at != kOfBatchNorm)) {
      call.AddKind(TypeKind::kNone);
    } else if (is_there != true) {
      // Batch norm's meta function gives the input's, asked or unasked.
      call.AddUnknown();
    } else if (i == 0) {
      call.AddLike(*input);
    } else {
      // Without a weight only where one dtype is in use.
      const bool is_wide = SizeBytes(input->dtype) >= 4;
      call.AddTensor(weight != nullptr ? weight->dtype
                     : is_wide         ? input->dtype
                                       : DType::kUnknown,
                     1)
          .sizes[0] = SizeAt(*input, 1);
    }
  }
}

// Both are broadcast over input, weight and gradient; meta functions leave the
// weight out of the second.
void PreluBackward(InferCall& call, uint32_t) {
  const Type *self = call.Tensor(1), *weight = call.Tensor(2);
  if (self == nullptr || weight == nullptr) return;
  Pointwise(call, P(kAgreed, 0b111));
  InferredType& second = call.Add(call.last());
  if (weight->rank() > self->rank()) second.rank = -1;
}

// The grid's gradient is computed whether it is asked for or not.
void GridSamplerBackward(InferCall& call, uint32_t) {
  LikeArguments(call, LikeArgs(6, 1, 2));
  if (call.last().kind == TypeKind::kNone) call.last().has_kind = false;
}

// The table that was looked up: `rows` by argument, as wide as the gradient.
void LookedUp(InferCall& call, uint32_t rows) {
  const Type* gradient = call.Tensor(0);
  if (gradient == nullptr || gradient->rank() < 1 ||
      call.Get(rows) == nullptr) {
    return;
  }
  InferredType& out = call.AddTensor(gradient->dtype, 2);
  out.sizes[0] = call.Size(*call.Get(rows));
  out.sizes[1] = SizeAt(*gradient, -1);
}

// One number for each index.
void SampleWeights(InferCall& call, uint32_t) {
  const Type *gradient = call.Tensor(0), *indices = call.Tensor(2);
  if (gradient == nullptr || indices == nullptr) return;
  call.AddTensor(gradient->dtype, 1).sizes[0] = NumElements(*indices).AsSize();
}

// The gradient came in another dtype than it goes out.
void SoftmaxBackward(InferCall& call, uint32_t) {
  const Type* gradient = call.Tensor(0);
  const auto dtype = call.Dtype(3);
  if (gradient != nullptr && dtype) call.AddLike(*gradient, *dtype);
}

constexpr InferRow kRows[] = {
    {"aten.elu_backward.default", Pointwise, P(kAgreed, 0b100001)},
    {"aten.native_dropout_backward.default", Pointwise, P(kFloat, kSelf)},
    {"aten.glu_backward.default", LikeArguments, LikeArg(1)},
    {"aten.max_pool2d_with_indices_backward.default", LikeArguments,
     LikeArg(1)},
    {"aten.max_pool3d_with_indices_backward.default", LikeArguments,
     LikeArg(1)},
    {"aten.avg_pool2d_backward.default", LikeArguments, LikeArg(1)},
    {"aten.avg_pool3d_backward.default", LikeArguments, LikeArg(1)},
    {"aten._adaptive_avg_pool2d_backward.default", LikeArguments, LikeArg(1)},
    {"aten._adaptive_avg_pool3d_backward.default", LikeArguments, LikeArg(1)},
    {"aten.adaptive_max_pool2d_backward.default", LikeArguments, LikeArg(1)},
    {"aten.adaptive_max_pool3d_backward.default", LikeArguments, LikeArg(1)},
    {"aten.fractional_max_pool2d_backward.default", LikeArguments, LikeArg(1)},
    {"aten.fractional_max_pool3d_backward.default", LikeArguments, LikeArg(1)},
    {"aten.reflection_pad1d_backward.default", LikeArguments, LikeArg(1)},
    {"aten.reflection_pad2d_backward.default", LikeArguments, LikeArg(1)},
    {"aten.reflection_pad3d_backward.default", LikeArguments, LikeArg(1)},
    {"aten.replication_pad1d_backward.default", LikeArguments, LikeArg(1)},
    {"aten.replication_pad2d_backward.default", LikeArguments, LikeArg(1)},
    {"aten.replication_pad3d_backward.default", LikeArguments, LikeArg(1)},
    {"aten.log_sigmoid_backward.default", LikeArguments, LikeArg(1)},
    {"aten.rrelu_with_noise_backward.default", LikeArguments, LikeArg(1)},
    {"aten.nll_loss_backward.default", LikeArguments, LikeArg(1)},
    {"aten.nll_loss2d_backward.default", LikeArguments, LikeArg(1)},
    {"aten.multi_margin_loss_backward.default", LikeArguments, LikeArg(1)},
    {"aten.multilabel_margin_loss_backward.default", LikeArguments, LikeArg(1)},
    {"aten._pdist_backward.default", LikeArguments, LikeArg(1)},
    {"aten._segment_reduce_backward.default", LikeArguments, LikeArg(2)},
    {"aten.grid_sampler_2d_backward.default", GridSamplerBackward},
    {"aten.grid_sampler_3d_backward.default", GridSamplerBackward},
    {"aten.native_layer_norm_backward.default", LikeArguments,
     LikeArgs(7, 1, 5, 6)},
    {"aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
     LikeArguments, LikeArgs(kOpen, 1, 2, 3)},
    {"aten.threshold_backward.default", Pointwise, P(kAgreed, 0b11)},
    {"aten.hardtanh_backward.default", Pointwise, P(kAgreed, 0b11)},
    {"aten.hardshrink_backward.default", Pointwise, P(kAgreed, 0b11)},
    {"aten.softshrink_backward.default", Pointwise, P(kAgreed, 0b11)},
    {"aten.logit_backward.default", Pointwise, P(kAgreed, 0b11)},
    {"aten.tanh_backward.default", Pointwise, P(kAgreed, 0b11)},
    {"aten.softplus_backward.default", Pointwise, P(kAgreed, 0b11)},
    {"aten.silu_backward.default", Pointwise, P(kAgreed, 0b11)},
    {"aten.sigmoid_backward.default", Pointwise, P(kAgreed, 0b11)},
    {"aten.mish_backward.default", Pointwise, P(kAgreed, 0b11)},
    {"aten.hardsigmoid_backward.default", Pointwise, P(kAgreed, 0b11)},
    {"aten.gelu_backward.default", Pointwise, P(kAgreed, 0b11)},
    {"aten.leaky_relu_backward.default", Pointwise, P(kAgreed, 0b11)},
    {"aten.hardswish_backward.default", Pointwise, P(kAgreed, 0b11)},
    {"aten.huber_loss_backward.default", Pointwise, P(kAgreed, 0b110)},
    {"aten.smooth_l1_loss_backward.default", Pointwise, P(kAgreed, 0b110)},
    {"aten.mse_loss_backward.default", Pointwise, P(kAgreed, 0b110)},
    {"aten.soft_margin_loss_backward.default", Pointwise, P(kAgreed, 0b110)},
    {"aten.binary_cross_entropy_backward.default", Pointwise,
     P(kAgreed, 0b111)},
    {"aten.slice_backward.default", WithSizes, 1},
    {"aten.select_backward.default", WithSizes, 1},
    {"aten.diagonal_backward.default", WithSizes, 1},
    {"aten.unfold_backward.default", WithSizes, 1},
    {"aten.masked_scatter_backward.default", WithSizes, 2},
    {"aten.upsample_nearest1d_backward.default", WithSizes, 2},
    {"aten.upsample_nearest2d_backward.default", WithSizes, 2},
    {"aten.upsample_nearest3d_backward.default", WithSizes, 2},
    {"aten.upsample_linear1d_backward.default", WithSizes, 2},
    {"aten.upsample_bilinear2d_backward.default", WithSizes, 2},
    {"aten.upsample_bicubic2d_backward.default", WithSizes, 2},
    {"aten.upsample_trilinear3d_backward.default", WithSizes, 2},
    {"aten._upsample_nearest_exact1d_backward.default", WithSizes, 2},
    {"aten._upsample_nearest_exact2d_backward.default", WithSizes, 2},
    {"aten._upsample_nearest_exact3d_backward.default", WithSizes, 2},
    {"aten._upsample_bilinear2d_aa_backward.default", WithSizes, 2},
    {"aten._upsample_bicubic2d_aa_backward.default", WithSizes, 2},
    {"aten.convolution_backward.default", ConvolutionBackward},
    {"aten.native_batch_norm_backward.default", NormBackward, kOfBatchNorm},
    {"aten.batch_norm_backward.default", NormBackward, kOfBatchNorm},
    {"aten.native_group_norm_backward.default", NormBackward, kOfGroupNorm},
    {"aten._prelu_kernel_backward.default", PreluBackward},
    {"aten._cdist_backward.default", LikeArguments, LikeArg(1)},
    {"aten.embedding_dense_backward.default", LookedUp, 2},
    {"aten._embedding_bag_backward.default", LookedUp, 6},
    {"aten._embedding_bag_per_sample_weights_backward.default", SampleWeights},
    {"aten._softmax_backward_data.default", SoftmaxBackward},
    {"aten._log_softmax_backward_data.default", SoftmaxBackward},
};

}  // namespace

std::span<const InferRow> GradientRows() { return kRows; }

}  // namespace tenon
