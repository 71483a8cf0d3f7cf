// Bags of looked-up rows, each reduced to one.
#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

constexpr int64_t kSum = 0, kMax = 2;  // the mode

// How many bags: offsets, one less where the last is the end.
InferredSize NumBags(const InferCall& call) {
  const Type* offsets = call.Tensor(2);
  const auto include_last = call.Bool(7);
  if (offsets == nullptr || offsets->rank() != 1 || !include_last) {
    return InferredSize::Unknown();
  }
  const InferredSize count = SizeAt(*offsets, 0);
  return *include_last ? Minus(count, InferredSize::Literal(1)) : count;
}

// Whether PyTorch's CPU kernel sums rows in one go: then it keeps no list of
// which bag an index is in. nullopt: kernels and meta functions differ.
std::optional<bool> SumsFast(const InferCall& call, const Type& weight,
                             std::optional<int64_t> mode) {
  constexpr size_t kScale = 6, kPadding = 8;
  if (!mode) return std::nullopt;
  if (*mode != kSum) return false;
  const Type* scale = call.Tensor(kScale);
  const auto is_one = [](const SymInt& s) {
    return s.is_literal() ? std::optional<bool>(s.value == 1) : std::nullopt;
  };
  if (weight.strides.size() != 2 ||
      (scale != nullptr && scale->strides.size() != 1)) {
    return std::nullopt;
  }
  const auto is_dense = is_one(weight.strides[1]);
  const auto is_scale_dense =
      scale == nullptr ? std::optional<bool>(true) : is_one(scale->strides[0]);
  const auto padding = call.Has(kPadding) || call.Get(kPadding) == nullptr
                           ? call.Int(kPadding)
                           : std::optional<int64_t>(-1);
  const bool is_optional = call.num_parameters() > kPadding &&
                           call.schema().args[kPadding].is_optional;
  const bool has_padding =
      is_optional ? call.Has(kPadding) : padding.value_or(-1) >= 0;
  const bool is_narrow =
      weight.dtype == DType::kFloat32 || weight.dtype == DType::kFloat16;
  if (has_padding || is_dense == false || is_scale_dense == false) return false;
  if (weight.dtype == DType::kFloat64) return false;
  if (!is_narrow || !is_dense || !is_scale_dense) return std::nullopt;
  return true;
}

// A row's parameter: whether the call has no gradient in mind. Then the last
// two results count offsets or bags, which differ where the last offset is an
// end.
enum Form : uint32_t { kForGradient, kForwardOnly };

// What a gradient needs besides stands in three more results; on other devices
// their sizes are others.
void EmbeddingBag(InferCall& call, uint32_t form) {
  const Type *weight = call.Tensor(0), *indices = call.Tensor(1);
  const Type* offsets = call.Tensor(2);
  const auto mode = call.Int(4);
  if (weight == nullptr || weight->rank() != 2 || indices == nullptr ||
      indices->rank() != 1 || offsets == nullptr || offsets->rank() != 1) {
    return;
  }
  const InferredSize bags = NumBags(call);
  InferredType& out = call.AddTensor(weight->dtype, 2);
  out.sizes[0] = bags;
  out.sizes[1] = SizeAt(*weight, 1);
  const bool is_one_dtype = offsets->dtype == indices->dtype;
  const DType dtype = is_one_dtype ? indices->dtype : DType::kUnknown;
  const bool is_on_cpu = call.IsOnCpu(*weight);
  const InferredSize unknown = InferredSize::Unknown();
  const bool is_counted =
      is_on_cpu && (form == kForGradient || call.Bool(7) == false);
  const auto is_fast = SumsFast(call, *weight, mode);
  call.AddTensor(dtype, 1).sizes[0] = !is_on_cpu || !is_fast ? unknown
                                      : *is_fast
                                          ? InferredSize::Literal(0)
                                          : NumElements(*indices).AsSize();
  call.AddTensor(dtype, 1).sizes[0] = is_counted ? bags : unknown;
  // One index per element of the result where that is a maximum.
  if (mode == kMax) {
    InferredType& indices_of_max = call.AddTensor(dtype, 2);
    indices_of_max.sizes[0] = bags;
    indices_of_max.sizes[1] = SizeAt(*weight, 1);
  } else if (mode) {
    call.AddTensor(dtype, 1).sizes[0] = is_counted ? bags : unknown;
  } else {
    call.AddTensor(dtype, -1);
  }
}

constexpr InferRow kRows[] = {
    {"aten.embedding_bag.default", EmbeddingBag, kForwardOnly},
    {"aten.embedding_bag.padding_idx", EmbeddingBag, kForwardOnly},
    {"aten._embedding_bag.default", EmbeddingBag, kForGradient},
    {"aten._embedding_bag_forward_only.default", EmbeddingBag, kForwardOnly},
};

}  // namespace

std::span<const InferRow> EmbeddingBagRows() { return kRows; }

}  // namespace tenon
