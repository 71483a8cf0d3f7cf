// Operators that rearrange sizes: views, joins, splits, repeats, pads.
#include <algorithm>

#include "analysis/infer_call.h"
#include "support/checked.h"

namespace tenon {
namespace {

using Kind = InferredSize::Kind;

const Type* Self(const InferCall& call) {
  const Type* self = call.Tensor(0);
  return self != nullptr && self->rank() <= InferredType::kMaxRank ? self
                                                                   : nullptr;
}

// A product of sizes: its literal part and its expressions.
struct Product {
  int64_t literal = 1;
  std::vector<ExprId> exprs;
  bool is_known = true;

  void Times(const InferredSize& s) {
    if (s.kind == Kind::kUnknown) is_known = false;
    if (s.kind == Kind::kExpr) exprs.push_back(s.expr);
    if (s.kind != Kind::kLiteral) return;
    const auto product = CheckedMul(literal, s.value);
    is_known = is_known && product.has_value();
    literal = product.value_or(1);
  }
  // The size that is missing in `part` to make `whole`; unknown where it would
  // need a new expression.
  static InferredSize Missing(const Product& whole, const Product& part) {
    if (!whole.is_known || !part.is_known || part.literal == 0) {
      return InferredSize::Unknown();
    }
    std::vector<ExprId> left = whole.exprs;
    for (const ExprId e : part.exprs) {
      const auto it = std::find(left.begin(), left.end(), e);
      if (it == left.end()) return InferredSize::Unknown();
      left.erase(it);
    }
    if (left.empty() && whole.literal % part.literal == 0) {
      return InferredSize::Literal(whole.literal / part.literal);
    }
    if (left.size() == 1 && whole.literal == part.literal) {
      return {0, left[0], Kind::kExpr};
    }
    return InferredSize::Unknown();
  }
};

// self viewed with the sizes of argument 1, one of which may be -1.
void View(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  const Arg* list = call.Get(1);
  if (self == nullptr || list == nullptr || list->kind != ArgKind::kList)
    return;
  const auto items = call.Items(1);
  InferredType& out =
      call.AddTensor(self->dtype, static_cast<int>(items.size()));
  if (out.rank < 0) return;
  int open = -1;
  Product part;
  for (int d = 0; d < out.rank; ++d) {
    out.sizes[d] = call.Size(items[d]);
    if (out.sizes[d].is_literal(-1)) {
      out.sizes[d] = InferredSize::Unknown();
      open = d;
    } else {
      part.Times(out.sizes[d]);
    }
  }
  if (open < 0) return;
  Product whole;
  for (const SymInt& s : self->sizes) whole.Times(InferredSize::Of(s));
  out.sizes[open] = Product::Missing(whole, std::move(part));
}

void LikeOther(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  const Type* other = call.Tensor(1);
  if (self != nullptr && other != nullptr) call.AddLike(*other, self->dtype);
}

void Permute(InferCall& call, uint32_t) {
  const Type* self = Self(call);
  const auto items = call.Items(1);
  if (self == nullptr || items.size() != self->sizes.size()) return;
  InferredType& out = call.AddLike(*self);
  for (int d = 0; d < out.rank; ++d) {
    const auto from = items[d].kind == ArgKind::kInt
                          ? WrapDim(items[d].i, out.rank)
                          : std::nullopt;
    out.sizes[d] =
        from ? InferredSize::Of(self->sizes[*from]) : InferredSize::Unknown();
  }
}

void SwapTwo(InferCall& call, std::optional<int64_t> a,
             std::optional<int64_t> b) {
  const Type* self = Self(call);
  if (self == nullptr) return;
  InferredType& out = call.AddLike(*self);
  if (out.rank < 2) return;
  const auto x = a ? WrapDim(*a, out.rank) : std::nullopt;
  const auto y = b ? WrapDim(*b, out.rank) : std::nullopt;
  if (x && y) {
    std::swap(out.sizes[*x], out.sizes[*y]);
  } else {
    for (int d = 0; d < out.rank; ++d) out.sizes[d] = InferredSize::Unknown();
  }
}

void Transpose(InferCall& call, uint32_t) {
  SwapTwo(call, call.Int(1), call.Int(2));
}

void SwapLast(InferCall& call, uint32_t) { SwapTwo(call, -1, -2); }

void MoveDim(InferCall& call, uint32_t) {
  const Type* self = Self(call);
  const auto source = call.Int(1), destination = call.Int(2);
  if (self == nullptr || !source || !destination) return;
  const auto from = WrapDim(*source, self->rank());
  const auto to = WrapDim(*destination, self->rank());
  if (!from || !to) return;
  InferredType& out = call.AddLike(*self);
  const InferredSize moved = out.sizes[*from];
  for (int d = *from; d + 1 < out.rank; ++d) out.sizes[d] = out.sizes[d + 1];
  for (int d = out.rank - 1; d > *to; --d) out.sizes[d] = out.sizes[d - 1];
  out.sizes[*to] = moved;
}

void Unsqueeze(InferCall& call, uint32_t) {
  const Type* self = Self(call);
  const auto dim = call.Int(1);
  if (self == nullptr || !dim || self->rank() >= InferredType::kMaxRank) return;
  const auto at = WrapDim(*dim, self->rank() + 1);
  if (!at) return;
  InferredType& out =
      call.AddTensor(self->dtype, static_cast<int>(self->rank()) + 1);
  for (int d = 0; d < out.rank; ++d) {
    out.sizes[d] = d == *at ? InferredSize::Literal(1)
                            : InferredSize::Of(self->sizes[d - (d > *at)]);
  }
}

// Dims of argument 1 (absent: all) go if their size is 1.
void Squeeze(InferCall& call, uint32_t parameter) {
  const Type* self = Self(call);
  if (self == nullptr) return;
  uint32_t chosen = 0;
  if (parameter == 0) {
    chosen = ~0u;
  } else {
    const Arg* dim = call.Get(1);
    const auto add = [&](const Arg& a) {
      const auto d =
          a.kind == ArgKind::kInt ? WrapDim(a.i, self->rank()) : std::nullopt;
      if (d) chosen |= 1u << *d;
      return d.has_value();
    };
    if (dim == nullptr || self->rank() == 0) return;
    if (dim->kind == ArgKind::kList) {
      for (const Arg& item : call.Items(1)) {
        if (!add(item)) return;
      }
    } else if (!add(*dim)) {
      return;
    }
  }
  InferredType& out = call.AddTensor(self->dtype, 0);
  for (int d = 0; d < self->rank(); ++d) {
    const InferredSize size = InferredSize::Of(self->sizes[d]);
    if (chosen >> d & 1) {
      if (size.is_literal(1)) continue;
      if (!size.is_literal()) {  // may be 1
        out.rank = -1;
        return;
      }
    }
    out.sizes[out.rank++] = size;
  }
}

void Expand(InferCall& call, uint32_t) {
  const Type* self = Self(call);
  const auto items = call.Items(1);
  if (self == nullptr || items.size() < self->sizes.size()) return;
  InferredType& out =
      call.AddTensor(self->dtype, static_cast<int>(items.size()));
  const size_t added = items.size() - self->sizes.size();
  for (int d = 0; d < out.rank; ++d) {
    out.sizes[d] = call.Size(items[d]);
    if (!out.sizes[d].is_literal(-1)) continue;
    const size_t at = static_cast<size_t>(d);
    out.sizes[d] = at >= added ? InferredSize::Of(self->sizes[at - added])
                               : InferredSize::Unknown();
  }
}

// The length of [start, end) by step, as slice clamps them; both given as
// literals, over a literal size.
std::optional<int64_t> SliceLength(int64_t size, int64_t start, int64_t end,
                                   int64_t step) {
  if (step <= 0 || size < 0) return std::nullopt;
  const auto clamp = [size](int64_t i) {
    if (i < 0) i += size;
    return std::clamp<int64_t>(i, 0, size);
  };
  start = clamp(start);
  end = std::max(clamp(end), start);
  return start == end ? 0 : (end - start - 1) / step + 1;
}

std::optional<int64_t> IntOr(const InferCall& call, size_t i, int64_t none) {
  const Arg* a = call.Get(i);
  if (a == nullptr || a->kind == ArgKind::kNone) return none;
  if (a->kind != ArgKind::kInt) return std::nullopt;
  return a->i;
}

void Slice(InferCall& call, uint32_t) {
  const Type* self = Self(call);
  const auto dim = call.Int(1);
  if (self == nullptr || !dim) return;
  InferredType& out = call.AddLike(*self);
  const auto d = WrapDim(*dim, out.rank);
  if (!d) return;
  InferredSize& size = out.sizes[*d];
  const auto start = IntOr(call, 2, 0);
  const auto end = IntOr(call, 3, INT64_MAX);
  const auto step = call.Int(4);
  if (!start || !end || !step) {
    size = InferredSize::Unknown();
  } else if (size.is_literal()) {
    const auto length = SliceLength(size.value, *start, *end, *step);
    size = length ? InferredSize::Literal(*length) : InferredSize::Unknown();
  } else if (*start != 0 || *end != INT64_MAX || *step != 1) {
    size = InferredSize::Unknown();
  }
}

void Narrow(InferCall& call, uint32_t) {
  const Type* self = Self(call);
  const auto dim = call.Int(1);
  if (self == nullptr || !dim || call.Get(3) == nullptr) return;
  InferredType& out = call.AddLike(*self);
  if (const auto d = WrapDim(*dim, out.rank)) {
    out.sizes[*d] = call.Size(*call.Get(3));
  }
}

// Without dimension `dim`.
InferredType& AddWithout(InferCall& call, const Type& self, int dim) {
  InferredType& out = call.AddTensor(self.dtype, 0);
  for (int d = 0; d < self.rank(); ++d) {
    if (d != dim) out.sizes[out.rank++] = InferredSize::Of(self.sizes[d]);
  }
  return out;
}

void Select(InferCall& call, uint32_t) {
  const Type* self = Self(call);
  const auto dim = call.Int(1);
  const auto d =
      self != nullptr && dim ? WrapDim(*dim, self->rank()) : std::nullopt;
  if (d) AddWithout(call, *self, *d);
}

void Unbind(InferCall& call, uint32_t) {
  const Type* self = Self(call);
  const auto dim = call.Int(1);
  const auto d =
      self != nullptr && dim ? WrapDim(*dim, self->rank()) : std::nullopt;
  if (!d || !self->sizes[*d].is_literal()) return;
  const uint32_t count = call.program().node(call.node()).results.count;
  for (int64_t i = 0; i < self->sizes[*d].value && i < count; ++i) {
    AddWithout(call, *self, *d);
  }
}

void Flatten(InferCall& call, uint32_t) {
  const Type* self = Self(call);
  const auto start = call.Int(1), end = call.Int(2);
  if (self == nullptr || !start || !end) return;
  if (self->rank() == 0) {
    call.AddTensor(self->dtype, 1).sizes[0] = InferredSize::Literal(1);
    return;
  }
  const auto first = WrapDim(*start, self->rank());
  const auto last = WrapDim(*end, self->rank());
  if (!first || !last || *first > *last) return;
  InferredType& out = call.AddTensor(self->dtype, 0);
  for (int d = 0; d < *first; ++d) {
    out.sizes[out.rank++] = InferredSize::Of(self->sizes[d]);
  }
  Product product;
  for (int d = *first; d <= *last; ++d) {
    product.Times(InferredSize::Of(self->sizes[d]));
  }
  out.sizes[out.rank++] = Product::Missing(product, Product());
  for (int d = *last + 1; d < self->rank(); ++d) {
    out.sizes[out.rank++] = InferredSize::Of(self->sizes[d]);
  }
}

enum SplitForm : uint32_t { kSize, kSizes, kChunks };

// Pieces of self along argument 2; argument 1 says how long or how many.
void Split(InferCall& call, uint32_t form) {
  const Type* self = Self(call);
  const auto dim = call.Int(2);
  const auto d =
      self != nullptr && dim ? WrapDim(*dim, self->rank()) : std::nullopt;
  if (!d) return;
  const uint32_t count = call.program().node(call.node()).results.count;
  const InferredSize whole = InferredSize::Of(self->sizes[*d]);
  int64_t piece = -1;
  if (const auto n = call.Int(1); n && *n > 0 && whole.is_literal()) {
    piece =
        form == kSize ? *n : (whole.value > 0 ? (whole.value - 1) / *n + 1 : 0);
  }
  const auto sizes = call.Items(1);
  for (uint32_t i = 0; i < count; ++i) {
    InferredSize& size = call.AddLike(*self).sizes[*d];
    size = InferredSize::Unknown();
    if (form == kSizes) {
      if (i < sizes.size()) size = call.Size(sizes[i]);
    } else if (piece > 0) {
      const auto begin = CheckedMul(piece, i);
      if (begin && *begin < whole.value) {
        size = InferredSize::Literal(std::min(piece, whole.value - *begin));
      }
    }
  }
}

void AsStrided(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  const auto items = call.Items(1);
  if (self == nullptr || items.size() > InferredType::kMaxRank) return;
  InferredType& out =
      call.AddTensor(self->dtype, static_cast<int>(items.size()));
  for (int d = 0; d < out.rank; ++d) out.sizes[d] = call.Size(items[d]);
}

void ViewAsReal(InferCall& call, uint32_t) {
  const Type* self = Self(call);
  if (self == nullptr || !IsComplex(self->dtype)) return;
  if (self->rank() == InferredType::kMaxRank) return;
  InferredType& out = call.AddLike(*self, ToReal(self->dtype));
  out.sizes[out.rank++] = InferredSize::Literal(2);
}

InferredSize TimesLiteral(const InferredSize& size, const InferredSize& times) {
  if (times.is_literal(1)) return size;
  if (size.is_literal(1)) return times;
  if (!size.is_literal() || !times.is_literal()) return InferredSize::Unknown();
  const auto product = CheckedMul(size.value, times.value);
  return product ? InferredSize::Literal(*product) : InferredSize::Unknown();
}

void Repeat(InferCall& call, uint32_t) {
  const Type* self = Self(call);
  const auto items = call.Items(1);
  if (self == nullptr || items.size() < self->sizes.size()) return;
  InferredType& out =
      call.AddTensor(self->dtype, static_cast<int>(items.size()));
  const size_t added = items.size() - self->sizes.size();
  for (int d = 0; d < out.rank; ++d) {
    const size_t at = static_cast<size_t>(d);
    out.sizes[d] =
        TimesLiteral(at < added ? InferredSize::Literal(1)
                                : InferredSize::Of(self->sizes[at - added]),
                     call.Size(items[d]));
  }
}

void RepeatInterleave(InferCall& call, uint32_t) {
  const Type* self = Self(call);
  if (self == nullptr || call.Get(1) == nullptr) return;
  if (!call.Has(2)) {
    call.AddTensor(self->dtype, 1);
    return;
  }
  InferredType& out = call.AddLike(*self);
  const auto dim = call.Int(2);
  const auto d = dim ? WrapDim(*dim, out.rank) : std::nullopt;
  if (d) {
    out.sizes[*d] = TimesLiteral(out.sizes[*d], call.Size(*call.Get(1)));
  } else {
    out.rank = -1;
  }
}

void SameSizes(InferCall& call, uint32_t) {
  if (const Type* self = call.Tensor(0)) call.AddLike(*self);
}

void Cat(InferCall& call, uint32_t) {
  const auto items = call.Items(0);
  const auto dim = call.Int(1);
  if (items.empty() || !dim) return;
  Promotion promotion;
  const Type* first = nullptr;
  bool is_regular = true;
  InferredSize total = InferredSize::Literal(0);
  std::optional<int> d;
  for (const Arg& item : items) {
    const Type* t = call.TensorOf(&item);
    if (t == nullptr || t->rank() > InferredType::kMaxRank) return;
    promotion.AddTensor(t->dtype, t->rank() > 0);
    // A tensor of size [0] joins anything; leave such calls open.
    if (t->rank() == 1 &&
        !(t->sizes[0].is_literal() && t->sizes[0].value > 0)) {
      is_regular = false;
    }
    if (first == nullptr) {
      first = t;
      d = WrapDim(*dim, t->rank());
    }
    if (t->rank() != first->rank() || !d) {
      is_regular = false;
      continue;
    }
    const InferredSize size = InferredSize::Of(t->sizes[*d]);
    const auto sum = size.is_literal() && total.is_literal()
                         ? CheckedAdd(total.value, size.value)
                         : std::nullopt;
    total = sum ? InferredSize::Literal(*sum) : InferredSize::Unknown();
  }
  if (!is_regular) {
    call.AddTensor(promotion.Result(), 0).rank = -1;
    return;
  }
  InferredType& out = call.AddLike(*first, promotion.Result());
  // Other sizes are equal in all items: a literal wherever one is.
  for (const Arg& item : items) {
    const Type& t = *call.TensorOf(&item);
    for (int i = 0; i < out.rank; ++i) {
      if (t.sizes[i].is_literal()) out.sizes[i] = InferredSize::Of(t.sizes[i]);
    }
  }
  out.sizes[*d] =
      items.size() == 1 ? InferredSize::Of(first->sizes[*d]) : total;
}

void Stack(InferCall& call, uint32_t) {
  const auto items = call.Items(0);
  const auto dim = call.Int(1);
  if (items.empty() || !dim) return;
  Promotion promotion;
  for (const Arg& item : items) {
    const Type* t = call.TensorOf(&item);
    if (t == nullptr || t->rank() >= InferredType::kMaxRank) return;
    promotion.AddTensor(t->dtype, t->rank() > 0);
  }
  const Type& first = *call.TensorOf(&items[0]);
  const auto at = WrapDim(*dim, first.rank() + 1);
  if (!at) return;
  InferredType& out =
      call.AddTensor(promotion.Result(), static_cast<int>(first.rank()) + 1);
  for (int d = 0; d < out.rank; ++d) {
    out.sizes[d] =
        d == *at ? InferredSize::Literal(static_cast<int64_t>(items.size()))
                 : InferredSize::Of(first.sizes[d - (d > *at)]);
  }
}

// Pairs from the last dimension on: before, after.
void Pad(InferCall& call, uint32_t) {
  const Type* self = Self(call);
  const auto items = call.Items(1);
  if (self == nullptr || items.size() % 2 != 0 ||
      items.size() / 2 > self->sizes.size()) {
    return;
  }
  InferredType& out = call.AddLike(*self);
  for (size_t i = 0; i < items.size(); i += 2) {
    InferredSize& size = out.sizes[out.rank - 1 - static_cast<int>(i / 2)];
    const InferredSize before = call.Size(items[i]);
    const InferredSize after = call.Size(items[i + 1]);
    if (before.is_literal(0) && after.is_literal(0)) continue;
    std::optional<int64_t> sum;
    if (size.is_literal() && before.is_literal() && after.is_literal()) {
      sum = CheckedAdd(size.value, before.value);
      if (sum) sum = CheckedAdd(*sum, after.value);
    }
    size = sum ? InferredSize::Literal(*sum) : InferredSize::Unknown();
  }
}

void Diff(InferCall& call, uint32_t) {
  const Type* self = Self(call);
  const auto n = call.Int(1), dim = call.Int(2);
  if (self == nullptr || self->dtype == DType::kBool) return;
  InferredType& out = call.AddLike(*self);
  const auto d = dim ? WrapDim(*dim, out.rank) : std::nullopt;
  const bool is_plain = n && *n >= 0 && d && !call.Has(3) && !call.Has(4);
  if (is_plain && out.sizes[*d].is_literal()) {
    out.sizes[*d].value = std::max<int64_t>(0, out.sizes[*d].value - *n);
  } else {
    for (int i = 0; i < out.rank; ++i) {
      if (!d || i == *d) out.sizes[i] = InferredSize::Unknown();
    }
  }
}

// Takes the type of something else: what it wrote isn't what it was.
void Nothing(InferCall&, uint32_t) {}

constexpr InferRow kRows[] = {
    {"aten.view.default", View},
    {"aten.reshape.default", View},
    {"aten._unsafe_view.default", View},
    {"aten.view_copy.default", View},
    {"aten.view_as.default", LikeOther},
    {"aten.reshape_as.default", LikeOther},
    {"aten.expand_as.default", LikeOther},
    {"aten.permute.default", Permute},
    {"aten.permute_copy.default", Permute},
    {"aten.transpose.int", Transpose},
    {"aten.transpose_.default", Transpose},
    {"aten.swapaxes_.default", Transpose},
    {"aten.swapdims_.default", Transpose},
    {"aten.transpose_copy.int", Transpose},
    {"aten.swapaxes.default", Transpose},
    {"aten.t.default", SwapLast},
    {"aten.t_.default", SwapLast},
    {"aten.mT.default", SwapLast},
    {"aten.movedim.int", MoveDim},
    {"aten.unsqueeze.default", Unsqueeze},
    {"aten.unsqueeze_.default", Unsqueeze},
    {"aten.unsqueeze_copy.default", Unsqueeze},
    {"aten.squeeze.default", Squeeze, 0},
    {"aten.squeeze.dim", Squeeze, 1},
    {"aten.squeeze.dims", Squeeze, 1},
    {"aten.squeeze_.default", Squeeze, 0},
    {"aten.squeeze_.dim", Squeeze, 1},
    {"aten.squeeze_.dims", Squeeze, 1},
    {"aten.expand.default", Expand},
    {"aten.expand_copy.default", Expand},
    {"aten.slice.Tensor", Slice},
    {"aten.slice_copy.Tensor", Slice},
    {"aten.narrow.default", Narrow},
    {"aten.select.int", Select},
    {"aten.select_copy.int", Select},
    {"aten.unbind.int", Unbind},
    {"aten.flatten.using_ints", Flatten},
    {"aten.split.Tensor", Split, kSize},
    {"aten.split_with_sizes.default", Split, kSizes},
    {"aten.split_with_sizes_copy.default", Split, kSizes},
    {"aten.chunk.default", Split, kChunks},
    {"aten.as_strided.default", AsStrided},
    {"aten.as_strided_.default", AsStrided},
    {"aten.resize_.default", AsStrided},
    {"aten.resize_as_.default", Nothing},
    {"aten.set_.default", Nothing},
    {"aten.set_.source_Tensor", Nothing},
    {"aten.set_.source_Tensor_storage_offset", Nothing},
    {"aten.view_as_real.default", ViewAsReal},
    {"aten.repeat.default", Repeat},
    {"aten.repeat_interleave.self_int", RepeatInterleave},
    {"aten.flip.default", SameSizes},
    {"aten.roll.default", SameSizes},
    {"aten.tril.default", SameSizes},
    {"aten.triu.default", SameSizes},
    {"aten.copy.default", SameSizes},
    {"aten.slice_scatter.default", SameSizes},
    {"aten.select_scatter.default", SameSizes},
    {"aten.cat.default", Cat},
    {"aten.stack.default", Stack},
    {"aten.pad.default", Pad},
    {"aten.constant_pad_nd.default", Pad},
    {"aten.diff.default", Diff},
};

}  // namespace

std::span<const InferRow> ViewRows() { return kRows; }

}  // namespace tenon
