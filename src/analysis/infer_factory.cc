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
  if (a->kind == ArgKind::kInt || a->kind == ArgKind::kBool) {
    return static_cast<double>(a->i);
  }
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
  // With all three given, PyTorch's meta function truncates them first where
  // the dtype is an integer's, its kernel after counting.
  const auto is_whole = [](const Arg* a) {
    return a == nullptr || a->kind != ArgKind::kFloat ||
           a->f == std::floor(a->f);
  };
  const bool is_integer = ToFloating(element.dtype) != element.dtype;
  if (parameter == 3 && is_integer &&
      !(is_whole(start) && is_whole(end) && is_whole(step))) {
    return;
  }
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

// `parameter`: where the dtype stands. Complex bounds make a complex default.
void Steps(InferCall& call, uint32_t parameter) {
  if (call.Get(2) == nullptr) return;
  const auto is_complex = [&](size_t i) {
    const Arg* a = call.Get(i);
    const Type* t = call.Tensor(i);
    return (a != nullptr && a->kind == ArgKind::kComplex) ||
           (t != nullptr && IsComplex(t->dtype));
  };
  Element element = ElementOf(call, P(0, parameter, kFloat32));
  if (element.is_default && (is_complex(0) || is_complex(1))) {
    element.dtype = DType::kComplex64;
  }
  Add(call, element, 1).sizes[0] = call.Size(*call.Get(2));
}

void Rectangle(InferCall& call, uint32_t parameter) {
  if (call.Get(0) == nullptr || call.Get(1) == nullptr) return;
  InferredType& out = Add(call, ElementOf(call, parameter), 2);
  out.sizes[0] = call.Size(*call.Get(0));
  out.sizes[1] = call.Size(*call.Get(1));
}

void Vector(InferCall& call, uint32_t parameter) {
  if (call.Get(0) == nullptr) return;
  Add(call, ElementOf(call, parameter), 1).sizes[0] = call.Size(*call.Get(0));
}

// Of the mean's dtype, one for each pair of mean and deviation.
void Normal(InferCall& call, uint32_t) {
  const Type *mean = call.Tensor(0), *deviation = call.Tensor(1);
  if (mean == nullptr || deviation == nullptr) return;
  const DType dtype =
      mean->dtype == deviation->dtype ? mean->dtype : DType::kUnknown;
  BroadcastInto(*deviation, &call.AddLike(*mean, dtype));
}

// Draws from each row of weights.
void Multinomial(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  if (self == nullptr || self->rank() < 1 || call.Get(1) == nullptr) return;
  InferredType& out = call.AddLike(*self, DType::kInt64);
  out.sizes[out.rank - 1] = call.Size(*call.Get(1));
}

void GivenScalar(InferCall& call, uint32_t) {
  if (const auto dtype = call.Dtype(1)) call.AddTensor(*dtype, 0);
}

constexpr InferRow kRows[] = {
    {"aten.linspace.default", Steps, 3},
    {"aten.linspace.Tensor_Tensor", Steps, 3},
    {"aten.linspace.Tensor_Scalar", Steps, 3},
    {"aten.linspace.Scalar_Tensor", Steps, 3},
    {"aten.logspace.default", Steps, 4},
    {"aten.logspace.Tensor_Tensor", Steps, 4},
    {"aten.logspace.Tensor_Scalar", Steps, 4},
    {"aten.logspace.Scalar_Tensor", Steps, 4},
    {"aten.eye.m", Rectangle, P(0, 2, kFloat32)},
    {"aten.randperm.default", Vector, P(0, 1, kInt64)},
    {"aten.empty_permuted.default", Sized, P(0, 2, kFloat32)},
    {"aten.new_empty_strided.default", Sized, P(1, 3, kOfSelf)},
    {"aten.normal.float_float", Sized, P(2, 4, kFloat32)},
    {"aten.normal.Tensor_float", LikeArguments, LikeArg(0)},
    {"aten.normal.float_Tensor", LikeArguments, LikeArg(1)},
    {"aten.normal.Tensor_Tensor", Normal},
    {"aten.randint_like.default", Like, P(0, 2, kOfSelf)},
    {"aten.randint_like.low_dtype", Like, P(0, 3, kOfSelf)},
    {"aten.multinomial.default", Multinomial},
    {"prims.scalar_tensor.default", GivenScalar},
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
