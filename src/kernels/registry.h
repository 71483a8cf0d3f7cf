// The kernel families. Each file of this folder defines one and lists it here;
// the registry joins them, so no kernel registers itself at start-up.
#pragma once

#include <span>
#include <vector>

#include "kernels/kernel.h"

namespace tenon {

// Elementwise arithmetic, comparison, logic, unary functions, where, casts.
std::span<const KernelEntry> PointwiseKernels();
// sum, mean, var, any, all, max, min, cumsum, sort, topk, ...
std::span<const KernelEntry> ReductionKernels();
// view, reshape, flatten, expand, as_strided, ...
std::span<const KernelEntry> ShapeViewKernels();
// permute, transpose, unsqueeze, squeeze, diagonal, unfold, ...
std::span<const KernelEntry> ShapeDimsKernels();
// slice, select, narrow, split, chunk, unbind, ...
std::span<const KernelEntry> ShapeSliceKernels();
// clone, contiguous, copy_, slice_scatter, ...
std::span<const KernelEntry> ShapeCopyKernels();
// cat, stack, repeat, tile, repeat_interleave, ...
std::span<const KernelEntry> ShapeJoinKernels();
// flip, roll, tril, pixel_shuffle, diag, ...
std::span<const KernelEntry> ShapeRearrangeKernels();
// constant_pad_nd, pad, reflection_pad, replication_pad.
std::span<const KernelEntry> ShapePadKernels();
// full, zeros, arange, scalar_tensor, empty, rand, ...
std::span<const KernelEntry> FactoryKernels();
// index, index_put, take, put.
std::span<const KernelEntry> IndexingKernels();
// gather, scatter, index_select, index_add, ...: an index along one dimension.
std::span<const KernelEntry> IndexingDimKernels();
// masked_fill, masked_scatter, masked_select, nonzero.
std::span<const KernelEntry> IndexingMaskKernels();
// embedding, embedding_bag.
std::span<const KernelEntry> IndexingEmbeddingKernels();
// bucketize, searchsorted.
std::span<const KernelEntry> IndexingSearchKernels();
// mm, bmm, addmm, linear, matmul, ...
std::span<const KernelEntry> MatmulKernels();
// scaled_dot_product_attention and its kernels.
std::span<const KernelEntry> AttentionKernels();
// einsum, tensordot, outer, inner, kron, bilinear, addr.
std::span<const KernelEntry> EinsumKernels();
// softmax, log_softmax and their gradients.
std::span<const KernelEntry> SoftmaxKernels();
// batch_norm in its many spellings, instance_norm.
std::span<const KernelEntry> BatchNormKernels();
// layer_norm, group_norm, rms_norm.
std::span<const KernelEntry> LayerNormKernels();
// dropout, alpha_dropout, native_dropout.
std::span<const KernelEntry> DropoutKernels();
// convolution, conv1d to conv3d, transposed ones.
std::span<const KernelEntry> ConvolutionKernels();
// max_pool, avg_pool, max_unpool and gradients.
std::span<const KernelEntry> PoolingKernels();
// adaptive_avg_pool, adaptive_max_pool.
std::span<const KernelEntry> AdaptivePoolingKernels();
// lstm, gru, rnn, _weight_norm.
std::span<const KernelEntry> RecurrentKernels();
// grid_sampler.
std::span<const KernelEntry> GridSamplerKernels();
// im2col, col2im.
std::span<const KernelEntry> UnfoldKernels();
// mse_loss, nll_loss, cross_entropy_loss and other losses.
std::span<const KernelEntry> LossKernels();
// triplet_margin_loss, cosine_embedding_loss, ..., and gradients of losses.
std::span<const KernelEntry> MarginLossKernels();
// _fft_c2c and its kin, torch.fft.
std::span<const KernelEntry> FourierKernels();
// Determinants, inverses, systems of equations, LU factors.
std::span<const KernelEntry> LinalgSolveKernels();
// Triangular systems, Cholesky factors, matrix_exp.
std::span<const KernelEntry> LinalgTriangularKernels();
// torch.gradient.
std::span<const KernelEntry> GradientKernels();
// cdist, pdist, pairwise_distance, cosine_similarity.
std::span<const KernelEntry> DistanceKernels();
// upsample_nearest, _linear, _bicubic and their antialiased kin.
std::span<const KernelEntry> UpsampleKernels();
// quantized_decomposed: scales per tensor, channel, token, group.
std::span<const KernelEntry> QuantizedDecomposedKernels();
// quantized_decomposed.embedding_byte and its packed kin.
std::span<const KernelEntry> QuantizedEmbeddingKernels();
// torchao: scales per block.
std::span<const KernelEntry> QuantizedAffineKernels();
// _int_mm, _weight_int8pack_mm, _weight_int4pack_mm_for_cpu, ...
std::span<const KernelEntry> QuantizedMatmulKernels();
// zero_, resize_: in-place operators that no functional one makes.
std::span<const KernelEntry> InplaceKernels();
// sym_size, item, asserts, and the Python functions on scalars.
std::span<const KernelEntry> ScalarKernels();

// Kernels of operators that write an argument and whose functional form is in
// `table` (sorted by name): in-place and out= forms.
std::vector<KernelEntry> DerivedKernels(std::span<const KernelEntry> table);

}  // namespace tenon
