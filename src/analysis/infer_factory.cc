// Tensors out of nothing, or after another's pattern.
#include <cmath>

#include "analysis/infer_call.h"

namespace tenon {
namespace {

// What the dtype is when none is given.
enum Default : uint32_t {
  kFloat32,
  kInt64,
  kOfValue,  // of the fill value; its position is in the row
  kOfSelf,
};

// A row's parameter: positions of sizes, dtype and fill value, and the default.
constexpr uint32_t P(uint32_t sizes, uint32_t dtype, Default otherwise,
                     uint32_t value = 0) {
  return sizes | dtype << 4 | value << 8 | otherwise << 12;
}

struct Element {
  DType dtype = DType::kUnknown;
  bool is_default = false;
};

Element Of(const Promotion& promotion) {
  return {promotion.Result(), promotion.is_default_dtype()};
}

Element ElementOf(const InferCall& call, uint32_t parameter) {
  if (const auto dtype = call.Dtype(parameter >> 4 & 15)) return {*dtype};
  if (call.Has(parameter >> 4 & 15)) return {};
  switch (parameter >> 12) {
    case kFloat32:
      return {DType::kFloat32, true};
    case kInt64:
      return {DType::kInt64};
    case kOfSelf: {
      const Type* self = call.Tensor(0);
      return {self == nullptr ? DType::kUnknown : self->dtype};
    }
    default: {
      const Arg* value = call.Get(parameter >> 8 & 15);
      Promotion promotion;
      if (value == nullptr || !call.AddTo(&promotion, value)) return {};
      return Of(promotion);
    }
  }
}

InferredType& Add(InferCall& call, const Element& element, int rank) {
  InferredType& out = call.AddTensor(element.dtype, rank);
  out.is_default_dtype = element.is_default;
  return out;
}

void Sized(InferCall& call, uint32_t parameter) {
  const Arg* list = call.Get(parameter & 15);
  if (list == nullptr || list->kind != ArgKind::kList) return;
  const auto items = call.Items(parameter & 15);
  InferredType& out =
      Add(call, ElementOf(call, parameter), static_cast<int>(items.size()));
  for (int d = 0; d < out.rank; ++d) out.sizes[d] = call.Size(items[d]);
}

void Like(InferCall& call, uint32_t parameter) {
  if (const Type* self = call.Tensor(0)) {
    call.AddLike(*self, ElementOf(call, parameter).dtype);
  }
}

void ScalarTensor(InferCall& call, uint32_t) {
  Add(call, ElementOf(call, P(0, 1, kFloat32)), 0);
}

void Square(InferCall& call, uint32_t parameter) {
  if (call.Get(0) == nullptr) return;
  InferredType& out = Add(call, ElementOf(call, parameter), 2);
  out.sizes[0] = out.sizes[1] = call.Size(*call.Get(0));
}

std::optional<double> Number(const Arg* a) {
  if (a == nullptr) return std::nullopt;
  if (a->kind == ArgKind::kInt) return static_cast<double>(a->i);
  if (a->kind == ArgKind::kFloat) return a->f;
  return std::nullopt;
}

// Counts ceil((end - start) / step). `parameter`: how many bounds are given.
void Arange(InferCall& call, uint32_t parameter) {
  const size_t dtype_at = parameter;
  const Arg* start = parameter > 1 ? call.Get(0) : nullptr;
  const Arg* end = call.Get(parameter > 1 ? 1 : 0);
  const Arg* step = parameter > 2 ? call.Get(2) : nullptr;
  if (end == nullptr) return;
  Element element;
  if (const auto given = call.Dtype(dtype_at)) {
    element.dtype = *given;
  } else if (!call.Has(dtype_at)) {
    Promotion promotion;
    if (call.AddTo(&promotion, start) && call.AddTo(&promotion, end) &&
        call.AddTo(&promotion, step)) {
      element = Of(promotion);
    }
  }
  InferredType& out = Add(call, element, 1);
  const auto from = parameter > 1 ? Number(start) : 0.0;
  const auto to = Number(end);
  const auto by = step == nullptr ? 1.0 : Number(step);
  if (from && to && by && *by != 0) {
    const double count = std::ceil((*to - *from) / *by);
    if (count >= 0 && count < 1e15) {
      out.sizes[0] = InferredSize::Literal(static_cast<int64_t>(count));
    }
    return;
  }
  // arange(n), arange(0, n) and arange(0, n, 1) have n items.
  const bool is_plain = from && *from == 0 && by && *by == 1;
  if (is_plain) out.sizes[0] = call.Size(*end);
}

constexpr InferRow kRows[] = {
    {"aten.full.default", Sized, P(0, 2, kOfValue, 1)},
    {"aten.zeros.default", Sized, P(0, 1, kFloat32)},
    {"aten.ones.default", Sized, P(0, 1, kFloat32)},
    {"aten.empty.memory_format", Sized, P(0, 1, kFloat32)},
    {"aten.empty_strided.default", Sized, P(0, 2, kFloat32)},
    {"aten.rand.default", Sized, P(0, 1, kFloat32)},
    {"aten.randn.default", Sized, P(0, 1, kFloat32)},
    {"aten.new_zeros.default", Sized, P(1, 2, kOfSelf)},
    {"aten.new_ones.default", Sized, P(1, 2, kOfSelf)},
    {"aten.new_empty.default", Sized, P(1, 2, kOfSelf)},
    {"aten.new_full.default", Sized, P(1, 3, kOfSelf)},
    {"aten.randint.default", Sized, P(1, 2, kInt64)},
    {"aten.randint.low", Sized, P(2, 3, kInt64)},
    {"aten.full_like.default", Like, P(0, 2, kOfSelf)},
    {"aten.zeros_like.default", Like, P(0, 1, kOfSelf)},
    {"aten.ones_like.default", Like, P(0, 1, kOfSelf)},
    {"aten.empty_like.default", Like, P(0, 1, kOfSelf)},
    {"aten.rand_like.default", Like, P(0, 1, kOfSelf)},
    {"aten.randn_like.default", Like, P(0, 1, kOfSelf)},
    {"aten.scalar_tensor.default", ScalarTensor},
    {"aten.eye.default", Square, P(0, 1, kFloat32)},
    {"aten.arange.default", Arange, 1},
    {"aten.arange.start", Arange, 2},
    {"aten.arange.start_step", Arange, 3},
};

}  // namespace

std::span<const InferRow> FactoryRows() { return kRows; }

}  // namespace tenon
