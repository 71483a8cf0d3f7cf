// Other dtypes for the same elements: casts, and the parts of complex numbers.
#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

// Dtype by argument (`parameter`), else self's.
void Convert(InferCall& call, uint32_t parameter) {
  const Type* self = call.Tensor(0);
  if (self == nullptr) return;
  call.AddLike(*self, call.Dtype(parameter).value_or(self->dtype));
}

// Sizes of the first, dtype of the second.
void TypeAs(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  const Type* other = call.Tensor(1);
  if (self != nullptr && other != nullptr) call.AddLike(*self, other->dtype);
}

// The bytes of self read as another dtype: the last size grows or shrinks by
// the ratio of the elements' sizes.
void Reinterpret(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  const auto dtype = call.Dtype(1);
  if (self == nullptr || !dtype || self->dtype == DType::kUnknown) return;
  InferredType& out = call.AddLike(*self, *dtype);
  const auto from = static_cast<int64_t>(SizeBytes(self->dtype));
  const auto to = static_cast<int64_t>(SizeBytes(*dtype));
  if (from == to || out.rank < 1) return;
  InferredSize& last = out.sizes[out.rank - 1];
  last = from > to ? Times(last, InferredSize::Literal(from / to))
                   : DividedBy(last, to / from);
}

void RealPart(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  if (self != nullptr) call.AddLike(*self, ToReal(self->dtype));
}

void HalfComplex(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  if (self != nullptr) call.AddLike(*self, DType::kComplex32);
}

// Two tensors of one floating dtype make a complex one.
void MakeComplex(InferCall& call, uint32_t) {
  const Type *a = call.Tensor(0), *b = call.Tensor(1);
  if (a == nullptr || b == nullptr) return;
  const DType dtype =
      a->dtype == b->dtype ? ToComplex(a->dtype) : DType::kUnknown;
  BroadcastInto(*b, &call.AddLike(*a, dtype));
}

// A last dimension of 2 appears.
void ViewAsReal(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  if (self == nullptr || !IsComplex(self->dtype) ||
      self->rank() >= InferredType::kMaxRank) {
    return;
  }
  InferredType& out = call.AddLike(*self, ToReal(self->dtype));
  out.sizes[out.rank++] = InferredSize::Literal(2);
}

void ViewAsComplex(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  if (self == nullptr || self->rank() < 1 ||
      self->rank() > InferredType::kMaxRank) {
    return;
  }
  --call.AddLike(*self, ToComplex(self->dtype)).rank;
}

constexpr InferRow kRows[] = {
    {"aten._to_copy.default", Convert, 1},
    {"aten.to.dtype", Convert, 1},
    {"aten.to.dtype_layout", Convert, 1},
    {"aten.to.device", Convert, 2},
    {"aten.type_as.default", TypeAs, 0},
    {"aten.to.other", TypeAs, 0},
    {"prims.convert_element_type.default", Convert, 1},
    {"aten.view.dtype", Reinterpret},
    {"aten.chalf.default", HalfComplex},
    {"aten.real.default", RealPart},
    {"aten.imag.default", RealPart},
    {"aten.complex.default", MakeComplex},
    {"aten.polar.default", MakeComplex},
    {"aten.view_as_real.default", ViewAsReal},
    {"aten.view_as_real_copy.default", ViewAsReal},
    {"aten.view_as_complex.default", ViewAsComplex},
    {"aten.view_as_complex_copy.default", ViewAsComplex},
};

}  // namespace

std::span<const InferRow> ConvertRows() { return kRows; }

}  // namespace tenon
