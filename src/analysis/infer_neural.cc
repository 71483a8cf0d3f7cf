// Convolutions and pools, and what else stands between layers.
#include <algorithm>

#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"
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
    const WindowShape window{weight->sizes[d].value, *stride, *padding,
                             *dilation, false};
    if (!*transposed) {
      out.sizes[d - offset] = NumWindows(size, window);
    } else {
      out.sizes[d - offset] = Spread(size, window, *extra);
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
      size =
          NumWindows(size, {*kernel, *stride, *padding, *dilation, *ceil_mode});
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

void Dropout(InferCall& call, uint32_t) {
  const Type* input = call.Tensor(0);
  if (input == nullptr) return;
  call.AddLike(*input);
  // Of an input without elements the kernel gives an empty tensor like itself
  // as the mask, its meta function bools.
  const bool is_empty = std::any_of(
      input->sizes.begin(), input->sizes.end(),
      [](const SymInt& s) { return s.is_literal() && s.value == 0; });
  call.AddLike(*input, is_empty ? DType::kUnknown : DType::kBool);
}

// The buffer has elements on the CPU only.
void LogSigmoid(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  if (self == nullptr) return;
  call.AddLike(*self);
  if (call.IsOnCpu(*self)) {
    call.AddLike(*self);
  } else {
    call.AddTensor(self->dtype, -1);
  }
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

// Padding by a word: none, or as much as keeps the sizes.
void PaddedConvolution(InferCall& call, uint32_t) {
  const auto padding = call.Text(4);
  if (padding == "valid") {
    Convolution(call, P(3, 14, 5));
  } else if (const Type* input = call.Tensor(0); padding == "same") {
    Convolution(call, P(3, 14, 5));
    if (input == nullptr || call.num_added() == 0) return;
    const Type& weight = *call.Tensor(1);
    for (int64_t d = 2 - weight.rank(); d < 0; ++d) {
      call.last().sizes[call.last().rank + d] = SizeAt(*input, d);
    }
  }
}

void Segments(InferCall& call, uint32_t) {
  constexpr size_t kLengths = 2, kOffsets = 4, kAxis = 5;
  const Type* data = call.Self();
  const Type *lengths = call.Tensor(kLengths), *offsets = call.Tensor(kOffsets);
  const auto axis = call.Int(kAxis);
  if (data == nullptr || !axis) return;
  InferredType& out = call.AddLike(*data);
  const auto d = WrapDim(*axis, out.rank);
  const Type* by = lengths != nullptr ? lengths : offsets;
  if (!d || by == nullptr || by->rank() <= *d) {
    out.rank = -1;
    return;
  }
  out.sizes[*d] = SizeAt(*by, *d);
  if (lengths == nullptr) {
    out.sizes[*d] = Minus(out.sizes[*d], InferredSize::Literal(1));
  }
}

// The input's sizes but the last two or three, which the grid has.
void GridSampler(InferCall& call, uint32_t) {
  const Type *input = call.Tensor(0), *grid = call.Tensor(1);
  if (input == nullptr || grid == nullptr || input->rank() < 4 ||
      input->rank() > InferredType::kMaxRank || grid->rank() != input->rank()) {
    return;
  }
  InferredType& out = call.AddLike(
      *input, input->dtype == grid->dtype ? input->dtype : DType::kUnknown);
  for (int d = 2; d < out.rank; ++d) out.sizes[d] = SizeAt(*grid, d - 1);
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
    {"aten.native_dropout.default", Dropout},
    {"aten.glu.default", Glu},
    {"aten.conv1d.padding", PaddedConvolution},
    {"aten.conv2d.padding", PaddedConvolution},
    {"aten.conv3d.padding", PaddedConvolution},
    {"aten.max_pool1d_with_indices.default", Pool,
     1 | kHasDilation | kHasIndices},
    {"aten.grid_sampler.default", GridSampler},
    {"aten.grid_sampler_2d.default", GridSampler},
    {"aten.grid_sampler_3d.default", GridSampler},
    {"aten.segment_reduce.default", Segments},
    {"aten.rrelu_with_noise.default", LikeArguments, LikeArg(0)},
    {"aten.rrelu_with_noise_functional.default", LikeArguments,
     LikeArgs(kOpen, 0, 1)},
    {"aten.log_sigmoid_forward.default", LogSigmoid},
};

}  // namespace

std::span<const InferRow> NeuralRows() { return kRows; }

}  // namespace tenon
