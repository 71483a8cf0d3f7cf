// Convolutions, pools, normalisations, resampling.
#include <algorithm>

#include "analysis/infer_call.h"
#include "support/checked.h"

namespace tenon {
namespace {

// Item d of an int[n] argument: one item, or a bare int, stands for all;
// absent: `otherwise`.
std::optional<int64_t> PerDim(const InferCall& call, size_t i, size_t d,
                              int64_t otherwise) {
  const Arg* a = call.Get(i);
  if (a == nullptr) return otherwise;
  if (a->kind == ArgKind::kInt) return a->i;
  if (a->kind != ArgKind::kList) return std::nullopt;
  const auto items = call.Items(i);
  if (items.empty()) return otherwise;
  const Arg& item = items.size() == 1 ? items[0] : items[d % items.size()];
  if (item.kind != ArgKind::kInt) return std::nullopt;
  return item.i;
}

// Large enough for any tensor; keeps the arithmetic below from overflowing.
bool IsModest(int64_t v) { return v >= 0 && v < (int64_t{1} << 31); }

// Windows that fit: floor((size + 2 pad - dilation (kernel - 1) - 1) / stride)
// + 1; rounded up, the last must start inside the input or its left padding.
InferredSize Windows(const InferredSize& size, int64_t kernel, int64_t stride,
                     int64_t padding, int64_t dilation, bool round_up) {
  if (!size.is_literal() || !IsModest(size.value) || !IsModest(kernel) ||
      !IsModest(padding) || !IsModest(stride) || stride == 0 || kernel == 0 ||
      dilation < 1 || dilation > 1 << 20) {
    return InferredSize::Unknown();
  }
  const int64_t room = size.value + 2 * padding - dilation * (kernel - 1) - 1;
  if (room < 0) return InferredSize::Unknown();
  int64_t count = (room + (round_up ? stride - 1 : 0)) / stride + 1;
  if (round_up && (count - 1) * stride >= size.value + padding) --count;
  return InferredSize::Literal(count);
}

// A row's parameter: positions of stride, padding, dilation, transposed,
// output padding (15 = the operator has none).
constexpr uint32_t P(uint32_t stride, uint32_t padding, uint32_t dilation,
                     uint32_t transposed = 15, uint32_t output_padding = 15,
                     uint32_t groups = 15) {
  return stride | padding << 4 | dilation << 8 | transposed << 12 |
         output_padding << 16 | groups << 20;
}
constexpr uint32_t kAlwaysTransposed = 14;

void Convolution(InferCall& call, uint32_t parameter) {
  const Type* input = call.Tensor(0);
  const Type* weight = call.Tensor(1);
  if (input == nullptr || weight == nullptr || input->dtype != weight->dtype) {
    return;
  }
  const int rank = static_cast<int>(weight->rank());
  if (rank < 3 || rank > InferredType::kMaxRank) return;
  // Without a batch dimension the rank is one less.
  const int offset = rank - static_cast<int>(input->rank());
  if (offset != 0 && offset != 1) return;
  const auto at = [parameter](int i) { return parameter >> 4 * i & 15; };
  std::optional<bool> transposed = at(3) == kAlwaysTransposed;
  if (at(3) < kAlwaysTransposed) transposed = call.Bool(at(3));
  InferredType& out =
      call.AddTensor(input->dtype, static_cast<int>(input->rank()));
  if (!transposed) return;
  if (offset == 0) out.sizes[0] = InferredSize::Of(input->sizes[0]);
  InferredSize& channels = out.sizes[1 - offset];
  if (!*transposed) {
    channels = InferredSize::Of(weight->sizes[0]);
  } else if (const auto groups = call.Int(at(5));
             groups && weight->sizes[1].is_literal()) {
    const auto product = CheckedMul(*groups, weight->sizes[1].value);
    if (product) channels = InferredSize::Literal(*product);
  }
  for (int d = 2; d < rank; ++d) {
    const size_t i = static_cast<size_t>(d) - 2;
    const InferredSize size = InferredSize::Of(input->sizes[d - offset]);
    const auto stride = PerDim(call, at(0), i, 1);
    const auto padding = PerDim(call, at(1), i, 0);
    const auto dilation = PerDim(call, at(2), i, 1);
    const auto extra = PerDim(call, at(4), i, 0);
    if (!stride || !padding || !dilation || !extra ||
        !weight->sizes[d].is_literal()) {
      continue;
    }
    const int64_t kernel = weight->sizes[d].value;
    if (!*transposed) {
      out.sizes[d - offset] =
          Windows(size, kernel, *stride, *padding, *dilation, false);
    } else if (size.is_literal() && IsModest(size.value) && IsModest(*stride) &&
               IsModest(*padding) && IsModest(kernel) && IsModest(*extra) &&
               IsModest(*dilation) && *dilation < 1 << 20 &&
               *stride < 1 << 20) {
      out.sizes[d - offset] =
          InferredSize::Literal((size.value - 1) * *stride - 2 * *padding +
                                *dilation * (kernel - 1) + *extra + 1);
    }
  }
}

// Pools over the last `parameter & 15` dimensions: kernel, stride, padding at
// 1, 2, 3, then dilation and ceil_mode, or ceil_mode alone; a second result of
// indices.
constexpr uint32_t kHasDilation = 16, kHasIndices = 32;

void Pool(InferCall& call, uint32_t parameter) {
  const Type* self = call.Tensor(0);
  const int dims = static_cast<int>(parameter & 15);
  if (self == nullptr || self->rank() < dims ||
      self->rank() > InferredType::kMaxRank) {
    return;
  }
  const bool has_dilation = parameter & kHasDilation;
  const auto ceil_mode = call.Bool(has_dilation ? 5 : 4);
  InferredType& out = call.AddLike(*self);
  for (int d = 0; d < dims; ++d) {
    InferredSize& size = out.sizes[out.rank - dims + d];
    const size_t i = static_cast<size_t>(d);
    const auto kernel = PerDim(call, 1, i, 0);
    const auto stride = kernel ? PerDim(call, 2, i, *kernel) : std::nullopt;
    const auto padding = PerDim(call, 3, i, 0);
    const auto dilation =
        has_dilation ? PerDim(call, 4, i, 1) : std::optional<int64_t>(1);
    if (kernel && stride && padding && dilation && ceil_mode) {
      size = Windows(size, *kernel, *stride, *padding, *dilation, *ceil_mode);
    } else {
      size = InferredSize::Unknown();
    }
  }
  if (parameter & kHasIndices) {
    const InferredType first = out;
    InferredType& indices = call.AddUnknown();
    indices = first;
    indices.dtype = DType::kInt64;
  }
}

// The last `parameter` sizes come from argument 1. Where that is None, they
// come from scale factors, and are left open.
void Resize(InferCall& call, uint32_t parameter) {
  const Type* self = call.Tensor(0);
  const int dims = static_cast<int>(parameter);
  if (self == nullptr || self->rank() < dims ||
      self->rank() > InferredType::kMaxRank) {
    return;
  }
  InferredType& out = call.AddLike(*self);
  const auto items = call.Items(1);
  const Arg* bare = call.Get(1);
  for (int d = 0; d < dims; ++d) {
    InferredSize& size = out.sizes[out.rank - dims + d];
    size = InferredSize::Unknown();
    if (items.size() == static_cast<size_t>(dims)) {
      size = call.Size(items[d]);
    } else if (items.size() == 1) {
      size = call.Size(items[0]);
    } else if (bare != nullptr && bare->kind == ArgKind::kInt) {
      size = call.Size(*bare);
    }
  }
}

// The first result is like the input, the others are left open.
void Normalise(InferCall& call, uint32_t) {
  const Type* input = call.Tensor(0);
  if (input != nullptr) call.AddLike(*input);
}

// Running statistics come back as results 3 and 4; for inputs of lower
// precision in another dtype than they came.
void BatchNormFunctional(InferCall& call, uint32_t) {
  const Type* input = call.Tensor(0);
  const Type* mean = call.Tensor(3);
  const Type* variance = call.Tensor(4);
  if (input == nullptr) return;
  call.AddLike(*input);
  call.AddUnknown();
  call.AddUnknown();
  if (mean != nullptr && variance != nullptr) {
    const bool is_same = mean->dtype == input->dtype &&
                         IsFloating(mean->dtype) && SizeBytes(mean->dtype) >= 4;
    call.AddLike(*mean, is_same ? mean->dtype : DType::kUnknown);
    call.AddLike(*variance, is_same ? variance->dtype : DType::kUnknown);
  }
}

// Mean and rstd keep the leading sizes; normalised ones become 1. Their dtype
// depends on the weight's.
void LayerNorm(InferCall& call, uint32_t) {
  const Type* input = call.Tensor(0);
  const auto shape = call.Items(1);
  if (input == nullptr || shape.size() > input->sizes.size()) return;
  if (input->rank() > InferredType::kMaxRank) return;
  call.AddLike(*input);
  for (int i = 0; i < 2; ++i) {
    const bool is_f32 = input->dtype == DType::kFloat32;
    InferredType& out =
        call.AddLike(*input, is_f32 ? DType::kFloat32 : DType::kUnknown);
    for (size_t d = input->sizes.size() - shape.size(); d < input->sizes.size();
         ++d) {
      out.sizes[d] = InferredSize::Literal(1);
    }
  }
}

void Dropout(InferCall& call, uint32_t) {
  const Type* input = call.Tensor(0);
  if (input == nullptr) return;
  call.AddLike(*input);
  // An input without elements gives an empty tensor like itself as the mask.
  const bool is_empty = std::any_of(
      input->sizes.begin(), input->sizes.end(),
      [](const SymInt& s) { return s.is_literal() && s.value == 0; });
  call.AddLike(*input, is_empty ? input->dtype : DType::kBool);
}

void Glu(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  const auto dim = call.Int(1);
  if (self == nullptr || !dim) return;
  InferredType& out = call.AddLike(*self);
  const auto d = WrapDim(*dim, out.rank);
  if (!d) {
    out.rank = -1;
  } else if (out.sizes[*d].is_literal()) {
    out.sizes[*d].value /= 2;
  } else {
    out.sizes[*d] = InferredSize::Unknown();
  }
}

constexpr InferRow kRows[] = {
    {"aten.conv1d.default", Convolution, P(3, 4, 5)},
    {"aten.conv2d.default", Convolution, P(3, 4, 5)},
    {"aten.conv3d.default", Convolution, P(3, 4, 5)},
    {"aten.convolution.default", Convolution, P(3, 4, 5, 6, 7, 8)},
    {"aten.conv_transpose1d.default", Convolution,
     P(3, 4, 7, kAlwaysTransposed, 5, 6)},
    {"aten.conv_transpose2d.input", Convolution,
     P(3, 4, 7, kAlwaysTransposed, 5, 6)},
    {"aten.conv_transpose3d.input", Convolution,
     P(3, 4, 7, kAlwaysTransposed, 5, 6)},
    {"aten.max_pool1d.default", Pool, 1 | kHasDilation},
    {"aten.max_pool2d.default", Pool, 2 | kHasDilation},
    {"aten.max_pool3d.default", Pool, 3 | kHasDilation},
    {"aten.max_pool2d_with_indices.default", Pool,
     2 | kHasDilation | kHasIndices},
    {"aten.max_pool3d_with_indices.default", Pool,
     3 | kHasDilation | kHasIndices},
    {"aten.avg_pool1d.default", Pool, 1},
    {"aten.avg_pool2d.default", Pool, 2},
    {"aten.avg_pool3d.default", Pool, 3},
    {"aten.adaptive_avg_pool1d.default", Resize, 1},
    {"aten.adaptive_avg_pool2d.default", Resize, 2},
    {"aten._adaptive_avg_pool2d.default", Resize, 2},
    {"aten.adaptive_avg_pool3d.default", Resize, 3},
    {"aten._adaptive_avg_pool3d.default", Resize, 3},
    {"aten.upsample_nearest2d.default", Resize, 2},
    {"aten.upsample_bilinear2d.default", Resize, 2},
    {"aten.upsample_nearest2d.vec", Resize, 2},
    {"aten.upsample_bilinear2d.vec", Resize, 2},
    {"aten.layer_norm.default", Normalise},
    {"aten.rms_norm.default", Normalise},
    {"aten.batch_norm.default", Normalise},
    {"aten.group_norm.default", Normalise},
    {"aten.instance_norm.default", Normalise},
    {"aten.native_group_norm.default", Normalise},
    {"aten._native_batch_norm_legit.default", Normalise},
    {"aten._native_batch_norm_legit_no_training.default", Normalise},
    {"aten._native_batch_norm_legit_functional.default", BatchNormFunctional},
    {"aten.native_layer_norm.default", LayerNorm},
    {"aten.native_dropout.default", Dropout},
    {"aten.glu.default", Glu},
};

}  // namespace

std::span<const InferRow> NeuralRows() { return kRows; }

}  // namespace tenon
