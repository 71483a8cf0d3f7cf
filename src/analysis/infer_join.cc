// Tensors joined, and one joined with itself.
#include <algorithm>
#include <vector>

#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"
#include "support/checked.h"

namespace tenon {
namespace {

// Sizes times the repeats of argument 1, both from the last on; `tile` takes
// fewer repeats than there are dimensions.
enum RepeatForm : uint32_t { kRepeat, kTile };

void Repeat(InferCall& call, uint32_t form) {
  const Type* self = call.Self();
  const auto repeats = call.Sizes(1);
  if (self == nullptr || !repeats) return;
  const size_t have = self->sizes.size(), want = repeats->size();
  if (want < have && form != kTile) return;
  const size_t rank = std::max(have, want);
  const InferredSize one = InferredSize::Literal(1);
  InferredType& out = call.AddTensor(self->dtype, static_cast<int>(rank));
  for (size_t d = 0; out.rank > 0 && d < rank; ++d) {
    out.sizes[d] = Times(
        d + have < rank ? one : InferredSize::Of(self->sizes[d + have - rank]),
        d + want < rank ? one : (*repeats)[d + want - rank]);
  }
}

// Sizes multiplied, from the last on.
void Kronecker(InferCall& call, uint32_t) {
  const Type *a = call.Tensor(0), *b = call.Tensor(1);
  if (a == nullptr || b == nullptr) return;
  Promotion promotion;
  promotion.AddTensor(a->dtype, a->rank() > 0);
  promotion.AddTensor(b->dtype, b->rank() > 0);
  const int64_t rank = std::max(a->rank(), b->rank());
  const auto size = [rank](const Type& t, int64_t d) {
    const int64_t at = d - (rank - t.rank());
    return at < 0 ? InferredSize::Literal(1) : SizeAt(t, at);
  };
  InferredType& out =
      call.AddTensor(promotion.Result(), static_cast<int>(rank));
  for (int d = 0; d < out.rank; ++d) {
    out.sizes[d] = Times(size(*a, d), size(*b, d));
  }
}

void RepeatInterleave(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  if (self == nullptr || call.Get(1) == nullptr) return;
  if (!call.Has(2)) {
    call.AddTensor(self->dtype, 1).sizes[0] =
        Times(NumElements(*self).AsSize(), call.Size(*call.Get(1)));
    return;
  }
  InferredType& out = call.AddLike(*self);
  const auto dim = call.Int(2);
  const auto d = dim ? WrapDim(*dim, out.rank) : std::nullopt;
  if (d) {
    out.sizes[*d] = Times(out.sizes[*d], call.Size(*call.Get(1)));
  } else {
    out.rank = -1;
  }
}

// How often each item comes stands in a tensor: the sum of its values is the
// size, unless the call says it.
void RepeatByTensor(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  if (self == nullptr) return;
  const InferredSize size =
      call.Has(3) ? call.Size(*call.Get(3)) : InferredSize::Unknown();
  if (!call.Has(2)) {
    call.AddTensor(self->dtype, 1).sizes[0] = size;
    return;
  }
  InferredType& out = call.AddLike(*self);
  const auto dim = call.Int(2);
  if (const auto d = dim ? WrapDim(*dim, out.rank) : std::nullopt) {
    out.sizes[*d] = size;
  } else {
    out.rank = -1;
  }
}

// The indices that are repeated.
void RepeatedIndices(InferCall& call, uint32_t) {
  const Type* repeats = call.Tensor(0);
  if (repeats == nullptr) return;
  InferredType& out = call.AddTensor(repeats->dtype, 1);
  if (call.Has(1)) out.sizes[0] = call.Size(*call.Get(1));
}

// A list of tensors under way to be joined: their shapes, and the dtype that
// they share.
struct Parts {
  std::vector<InferredType> shapes;
  DType dtype = DType::kUnknown;
};

// nullopt when an item isn't a tensor.
std::optional<Parts> PartsOf(const InferCall& call, size_t at) {
  Parts out;
  Promotion promotion;
  for (const Arg& item : call.Items(at)) {
    const Type* t = call.TensorOf(&item);
    if (t == nullptr) return std::nullopt;
    promotion.AddTensor(t->dtype, t->rank() > 0);
    out.shapes.push_back(KnownType(*t));
  }
  out.dtype = promotion.Result();
  if (out.shapes.empty()) return std::nullopt;
  return out;
}

// Joins along `dim`. A tensor of size [0] joins anything.
void Join(InferCall& call, const Parts& parts, int64_t dim) {
  const auto is_nothing = [](const InferredType& t) {
    return t.rank == 1 && t.sizes[0].is_literal(0);
  };
  const auto first =
      std::find_if_not(parts.shapes.begin(), parts.shapes.end(), is_nothing);
  InferredType out = first == parts.shapes.end() ? parts.shapes[0] : *first;
  out.dtype = parts.dtype;
  const auto d = out.rank < 0 ? std::nullopt : WrapDim(dim, out.rank);
  if (!d) out.rank = -1;
  InferredSize total = InferredSize::Literal(0);
  for (const InferredType& t : parts.shapes) {
    if (!d || is_nothing(t)) continue;
    // One of them may turn out to have size [0].
    if (t.rank != out.rank) {
      out.rank = -1;
      break;
    }
    total = parts.shapes.size() == 1 ? t.sizes[*d] : Plus(total, t.sizes[*d]);
    // Other sizes are equal in all items: a literal wherever one is.
    for (int i = 0; i < out.rank && i < InferredType::kMaxRank; ++i) {
      if (t.sizes[i].is_literal()) out.sizes[i] = t.sizes[i];
    }
  }
  if (out.rank > 0) out.sizes[*d] = total;
  call.Add(out);
}

void Cat(InferCall& call, uint32_t) {
  const auto parts = PartsOf(call, 0);
  const auto dim = call.Int(1);
  if (parts && dim) Join(call, *parts, *dim);
}

void AddDim(InferredType* t, int at, const InferredSize& size) {
  if (t->rank < 0) return;
  if (t->rank == InferredType::kMaxRank) {
    t->rank = -1;
    return;
  }
  for (int d = t->rank; d > at; --d) t->sizes[d] = t->sizes[d - 1];
  t->sizes[at] = size;
  ++t->rank;
}

// Joined as rows, as columns or in depth, with as many dimensions as that
// takes; a vector is a row, or with `kColumnStack` a column.
enum StackForm : uint32_t { kHStack, kVStack, kDStack, kColumnStack };

void StackAlong(InferCall& call, uint32_t form) {
  auto parts = PartsOf(call, 0);
  if (!parts) return;
  const InferredSize one = InferredSize::Literal(1);
  // All have dimensions when it comes to promotion.
  Promotion promotion;
  for (const InferredType& t : parts->shapes) {
    promotion.AddTensor(t.dtype, true);
  }
  parts->dtype = promotion.Result();
  for (InferredType& t : parts->shapes) {
    if (t.rank == 0) AddDim(&t, 0, one);
    if (form == kColumnStack && t.rank == 1) AddDim(&t, 1, one);
    if ((form == kVStack || form == kDStack) && t.rank == 1) AddDim(&t, 0, one);
    if (form == kDStack && t.rank == 2) AddDim(&t, 2, one);
  }
  const bool is_flat = parts->shapes[0].rank == 1;
  Join(call, *parts,
       form == kVStack || (form == kHStack && is_flat) ? 0
       : form == kDStack                               ? 2
                                                       : 1);
}

// Each tensor's dimension is cut into chunks of one length, the last filled up;
// the chunks are rows of what remains, flat, and joined.
void ChunkCat(InferCall& call, uint32_t) {
  const auto parts = PartsOf(call, 0);
  const auto dim = call.Int(1), chunks = call.Int(2);
  if (!parts || !dim || !chunks || *chunks <= 0) return;
  const auto d = parts->shapes[0].rank < 0
                     ? std::nullopt
                     : WrapDim(*dim, parts->shapes[0].rank);
  if (!d || *d + 2 > InferredType::kMaxRank) return;
  InferredSize total = InferredSize::Literal(0);
  for (const InferredType& t : parts->shapes) {
    if (t.rank <= *d) return;
    SizeProduct product;
    product.Times(DividedBy(
        Plus(t.sizes[*d], InferredSize::Literal(*chunks - 1)), *chunks));
    for (int i = *d + 1; i < t.rank; ++i) product.Times(t.sizes[i]);
    total = Plus(total, product.AsSize());
  }
  InferredType out = parts->shapes[0];
  out.dtype = parts->dtype;
  out.rank = *d + 2;
  out.sizes[*d] = InferredSize::Literal(*chunks);
  out.sizes[*d + 1] = total;
  call.Add(out);
}

// Matrices along a diagonal; a vector is a row.
void BlockDiag(InferCall& call, uint32_t) {
  const auto parts = PartsOf(call, 0);
  if (!parts) return;
  InferredSize rows = InferredSize::Literal(0), columns = rows;
  const InferredSize one = InferredSize::Literal(1);
  for (const InferredType& t : parts->shapes) {
    if (t.rank < 0 || t.rank > 2) return;
    rows = Plus(rows, t.rank == 2 ? t.sizes[0] : one);
    columns = Plus(columns, t.rank == 0 ? one : t.sizes[t.rank - 1]);
  }
  InferredType& out = call.AddTensor(parts->dtype, 2);
  out.sizes[0] = rows;
  out.sizes[1] = columns;
}

// All pairs, triples, ... of items of vectors, one a row.
void CartesianProduct(InferCall& call, uint32_t) {
  const auto parts = PartsOf(call, 0);
  if (!parts) return;
  if (parts->shapes.size() == 1) {
    call.Add(parts->shapes[0]);
    return;
  }
  SizeProduct rows;
  for (const InferredType& t : parts->shapes) {
    if (t.rank != 1) return;
    rows.Times(t.sizes[0]);
  }
  InferredType& out = call.AddTensor(parts->dtype, 2);
  out.sizes[0] = rows.AsSize();
  out.sizes[1] =
      InferredSize::Literal(static_cast<int64_t>(parts->shapes.size()));
}

// C(n, k), while it is small.
std::optional<int64_t> Choose(int64_t n, int64_t k) {
  if (k > n) return 0;
  int64_t out = 1;
  for (int64_t i = 1; i <= k; ++i) {
    const auto product = CheckedMul(out, n - k + i);
    if (!product) return std::nullopt;
    out = *product / i;
  }
  return out;
}

void Combinations(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  const auto r = call.Int(1);
  const auto with_replacement = call.Bool(2);
  if (self == nullptr || self->rank() != 1 || !r || !with_replacement) return;
  if (*r == 0) {
    call.AddTensor(self->dtype, 1).sizes[0] = InferredSize::Literal(0);
    return;
  }
  InferredType& out = call.AddTensor(self->dtype, 2);
  out.sizes[1] = InferredSize::Literal(*r);
  const InferredSize n = SizeAt(*self, 0);
  constexpr int64_t kSmall = 1 << 20;
  if (!n.is_literal() || n.value > kSmall || *r < 0 || *r > kSmall) return;
  const auto count = Choose(*with_replacement ? n.value + *r - 1 : n.value, *r);
  if (count) out.sizes[0] = InferredSize::Literal(*count);
}

// Each vector along its own dimension; "xy" swaps the first two.
void MeshGrid(InferCall& call, uint32_t) {
  const auto items = call.Items(0);
  const auto indexing = call.num_parameters() > 1
                            ? call.Text(1)
                            : std::optional<std::string_view>("ij");
  if (items.size() > InferredType::kMaxRank || items.empty()) return;
  InferredType grid;
  grid.has_kind = true;
  grid.kind = TypeKind::kTensor;
  grid.rank = 0;
  for (const Arg& item : items) {
    const Type* t = call.TensorOf(&item);
    if (t == nullptr || t->rank() > 1) return;
    grid.dtype = t->dtype;
    grid.sizes[grid.rank++] =
        t->rank() == 0 ? InferredSize::Literal(1) : SizeAt(*t, 0);
  }
  if (!indexing) grid.rank = -1;
  if (indexing == "xy" && grid.rank > 1) {
    std::swap(grid.sizes[0], grid.sizes[1]);
  }
  for (size_t i = 0; i < items.size(); ++i) call.Add(grid);
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

constexpr InferRow kRows[] = {
    {"aten.repeat.default", Repeat, kRepeat},
    {"aten.repeat_interleave.self_int", RepeatInterleave},
    {"aten.cat.default", Cat},
    {"aten.stack.default", Stack},
    {"aten.tile.default", Repeat, kTile},
    {"aten.kron.default", Kronecker},
    {"aten.repeat_interleave.self_Tensor", RepeatByTensor},
    {"aten.repeat_interleave.Tensor", RepeatedIndices},
    {"aten.concat.default", Cat},
    {"aten.concatenate.default", Cat},
    {"aten.hstack.default", StackAlong, kHStack},
    {"aten.vstack.default", StackAlong, kVStack},
    {"aten.row_stack.default", StackAlong, kVStack},
    {"aten.dstack.default", StackAlong, kDStack},
    {"aten.column_stack.default", StackAlong, kColumnStack},
    {"aten._chunk_cat.default", ChunkCat},
    {"aten.block_diag.default", BlockDiag},
    {"aten.cartesian_prod.default", CartesianProduct},
    {"aten.combinations.default", Combinations},
    {"aten.meshgrid.default", MeshGrid},
    {"aten.meshgrid.indexing", MeshGrid},
};

}  // namespace

std::span<const InferRow> JoinRows() { return kRows; }

}  // namespace tenon
