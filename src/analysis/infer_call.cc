#include "analysis/infer_call.h"

#include <algorithm>
#include <string>

namespace tenon {
namespace {

// The default of parameter i, where it is a T.
template <typename T>
const T* Default(const OpSchema& schema, size_t i) {
  if (i >= schema.args.size() || !schema.args[i].has_default) return nullptr;
  return std::get_if<T>(&schema.args[i].default_value.value);
}

}  // namespace

std::optional<int64_t> InferCall::Int(size_t i) const {
  const Arg* a = Get(i);
  if (a != nullptr) {
    return a->kind == ArgKind::kInt ? std::optional<int64_t>(a->i)
                                    : std::nullopt;
  }
  const auto* integer = Default<int64_t>(schema(), i);
  return integer == nullptr ? std::nullopt : std::optional<int64_t>(*integer);
}

std::optional<bool> InferCall::Bool(size_t i) const {
  const Arg* a = Get(i);
  if (a != nullptr) {
    if (a->kind != ArgKind::kBool) return std::nullopt;
    return a->i != 0;
  }
  const auto* b = Default<bool>(schema(), i);
  return b == nullptr ? std::nullopt : std::optional<bool>(*b);
}

std::optional<double> InferCall::Number(size_t i) const {
  if (const auto integer = Int(i)) return static_cast<double>(*integer);
  const Arg* a = Get(i);
  if (a != nullptr) {
    return a->kind == ArgKind::kFloat ? std::optional<double>(a->f)
                                      : std::nullopt;
  }
  const auto* f = Default<double>(schema(), i);
  return f == nullptr ? std::nullopt : std::optional<double>(*f);
}

std::optional<std::string_view> InferCall::Text(size_t i) const {
  const Arg* a = Get(i);
  if (a != nullptr) {
    if (a->kind != ArgKind::kString) return std::nullopt;
    return program_.view(a->text);
  }
  const auto* text = Default<std::string>(schema(), i);
  return text == nullptr ? std::nullopt
                         : std::optional<std::string_view>(*text);
}

std::optional<std::vector<int64_t>> InferCall::Ints(size_t i) const {
  const auto sizes = Sizes(i);
  if (!sizes) return std::nullopt;
  std::vector<int64_t> out;
  for (const InferredSize& size : *sizes) {
    if (!size.is_literal()) return std::nullopt;
    out.push_back(size.value);
  }
  return out;
}

std::optional<std::vector<InferredSize>> InferCall::Sizes(size_t i) const {
  std::vector<InferredSize> out;
  const Arg* a = Get(i);
  if (a == nullptr) {
    if (const auto integer = Int(i)) {
      return std::vector<InferredSize>{InferredSize::Literal(*integer)};
    }
    const auto* list = Default<std::vector<int64_t>>(schema(), i);
    if (list == nullptr) return std::nullopt;
    for (const int64_t v : *list) out.push_back(InferredSize::Literal(v));
    return out;
  }
  if (a->kind == ArgKind::kList) {
    for (const Arg& item : Items(i)) out.push_back(Size(item));
    return out;
  }
  if (a->kind != ArgKind::kInt && !a->is_value()) return std::nullopt;
  out.push_back(Size(*a));
  return out;
}

std::optional<DType> InferCall::Dtype(size_t i) const {
  const Arg* a = Get(i);
  if (a == nullptr || a->kind != ArgKind::kDtype) return std::nullopt;
  return a->dtype();
}

InferredSize InferCall::Size(const Arg& a) const {
  if (a.kind == ArgKind::kInt) return InferredSize::Literal(a.i);
  if (!a.is_value()) return InferredSize::Unknown();
  const Type& t = program_.type(a.v.value);
  if (t.kind != TypeKind::kSymInt) return InferredSize::Unknown();
  return InferredSize::Of(t.sym);
}

bool InferCall::AddTo(Promotion* promotion, const Arg* a) const {
  if (a == nullptr) return true;
  switch (a->kind) {
    case ArgKind::kNone:
      return true;
    case ArgKind::kBool:
      promotion->AddNumber(DType::kBool);
      return true;
    case ArgKind::kInt:
      promotion->AddNumber(DType::kInt64);
      return true;
    case ArgKind::kFloat:
      promotion->AddNumber(DType::kFloat32);
      return true;
    case ArgKind::kComplex:
      promotion->AddNumber(DType::kComplex64);
      return true;
    case ArgKind::kValue:
      break;
    default:
      return false;
  }
  const Type& t = program_.type(a->v.value);
  switch (t.kind) {
    case TypeKind::kTensor:
      promotion->AddTensor(t.dtype, t.rank() > 0);
      return t.dtype != DType::kUnknown;
    case TypeKind::kSymInt:
    case TypeKind::kInt:
      promotion->AddNumber(DType::kInt64);
      return true;
    case TypeKind::kSymFloat:
    case TypeKind::kFloat:
      promotion->AddNumber(DType::kFloat32);
      return true;
    case TypeKind::kSymBool:
    case TypeKind::kBool:
      promotion->AddNumber(DType::kBool);
      return true;
    case TypeKind::kNone:
      return true;
    case TypeKind::kObject:
    case TypeKind::kString:
      return false;
  }
  return false;
}

InferredType& InferCall::AddTensor(DType dtype, int rank) {
  InferredType& out = results_.Add();
  out.has_kind = true;
  out.kind = TypeKind::kTensor;
  out.dtype = dtype;
  out.rank = rank <= InferredType::kMaxRank ? rank : -1;
  for (int d = 0; d < out.rank; ++d) out.sizes[d] = InferredSize::Unknown();
  return out;
}

InferredType& InferCall::AddLike(const Type& type, DType dtype) {
  InferredType& out = AddTensor(dtype, static_cast<int>(type.rank()));
  for (int d = 0; d < out.rank; ++d) {
    out.sizes[d] = InferredSize::Of(type.sizes[d]);
  }
  return out;
}

InferredType& InferCall::AddLike(const Type& type) {
  return AddLike(type, type.dtype);
}

InferredType& InferCall::AddWithout(const Type& type, int dim) {
  InferredType& out = AddTensor(type.dtype, 0);
  for (int d = 0; d < type.rank(); ++d) {
    if (d == dim) continue;
    out.sizes[out.rank++] = InferredSize::Of(type.sizes[d]);
  }
  return out;
}

InferredType& InferCall::Add(InferredType type) {
  InferredType& out = results_.Add();
  out = type;
  return out;
}

InferredType& InferCall::AddKind(TypeKind kind) {
  InferredType& out = results_.Add();
  out.has_kind = true;
  out.kind = kind;
  return out;
}

InferredType& InferCall::AddUnknown() { return results_.Add(); }

InferredType KnownType(const Type& type) {
  InferredType out;
  out.has_kind = true;
  out.kind = type.kind;
  out.dtype = type.dtype;
  out.rank = type.rank() <= InferredType::kMaxRank
                 ? static_cast<int>(type.rank())
                 : -1;
  for (int d = 0; d < out.rank; ++d) {
    out.sizes[d] = InferredSize::Of(type.sizes[d]);
  }
  return out;
}

std::optional<int> WrapDim(int64_t dim, int64_t rank) {
  if (dim < 0) dim += rank;
  if (dim < 0 || dim >= rank) return std::nullopt;
  return static_cast<int>(dim);
}

void BroadcastInto(const Type& type, InferredType* out) {
  if (out->rank < 0 || type.rank() > InferredType::kMaxRank) {
    out->rank = -1;
    return;
  }
  const int rank = static_cast<int>(type.rank());
  if (out->rank == 0) {
    out->rank = rank;
    for (int d = 0; d < rank; ++d) {
      out->sizes[d] = InferredSize::Of(type.sizes[d]);
    }
    return;
  }
  if (rank > out->rank) {
    const int added = rank - out->rank;
    for (int d = rank - 1; d >= added; --d) {
      out->sizes[d] = out->sizes[d - added];
    }
    for (int d = 0; d < added; ++d) out->sizes[d] = InferredSize::Literal(1);
    out->rank = rank;
  }
  const int offset = out->rank - rank;
  for (int d = 0; d < rank; ++d) {
    InferredSize& size = out->sizes[offset + d];
    size = BroadcastSize(size, InferredSize::Of(type.sizes[d]));
  }
}

std::optional<bool> HasResult(const InferCall& call, uint32_t mask,
                              uint32_t i) {
  if (mask == kOpen) return true;
  const auto items = call.Items(mask);
  if (i >= items.size() || items[i].kind != ArgKind::kBool) return std::nullopt;
  return items[i].i != 0;
}

InferredType& AddBatch(InferCall& call, DType dtype, const Type& a,
                       const Type& b) {
  InferredType& out = call.AddTensor(dtype, 0);
  const int64_t in_a = a.rank() - 2, in_b = b.rank() - 2;
  const int64_t batch = std::max(in_a, in_b);
  if (in_a < 0 || in_b < 0 || batch + 2 > InferredType::kMaxRank) {
    out.rank = -1;
    return out;
  }
  const auto size = [batch](const Type& t, int64_t own, int64_t d) {
    const int64_t at = d - (batch - own);
    return at < 0 ? InferredSize::Literal(1)
                  : InferredSize::Of(t.sizes[static_cast<size_t>(at)]);
  };
  for (int64_t d = 0; d < batch; ++d) {
    out.sizes[out.rank++] = BroadcastSize(size(a, in_a, d), size(b, in_b, d));
  }
  out.sizes[out.rank++] = InferredSize::Unknown();
  out.sizes[out.rank++] = InferredSize::Unknown();
  return out;
}

void LikeArguments(InferCall& call, uint32_t parameter) {
  const uint32_t count = parameter >> 20;
  for (uint32_t i = 0; i < count; ++i) {
    const auto is_there = HasResult(call, parameter >> 15 & 31, i);
    const uint32_t position = parameter >> 5 * i & 31;
    const Type* like = position == kOpen ? nullptr : call.Tensor(position);
    if (is_there == false) {
      call.AddKind(TypeKind::kNone);
    } else if (is_there && like != nullptr) {
      call.AddLike(*like);
    } else {
      call.AddUnknown();
    }
  }
}

}  // namespace tenon
