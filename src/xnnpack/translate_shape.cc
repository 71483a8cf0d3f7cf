// Operators that move elements: transposes, reshapes, slices, joins, padding.
#include <algorithm>
#include <numeric>

#include "xnnpack/translate.h"

namespace tenon::xnnpack {
namespace {

std::vector<uint32_t> Unsigned(const std::vector<int64_t>& sizes) {
  return {sizes.begin(), sizes.end()};
}

// Wrapped; nothing when it is out of range.
std::optional<int64_t> Wrap(std::optional<int64_t> dim, size_t rank) {
  const auto n = static_cast<int64_t>(rank);
  if (!dim || *dim < -n || *dim >= n) return std::nullopt;
  return *dim < 0 ? *dim + n : *dim;
}

// --- transposes ---

std::optional<std::vector<uint32_t>> PermutationOf(const Program& program,
                                                   NodeId node) {
  const NodeReader read(program, node);
  const ValueId self = read.value("self");
  const size_t rank = program.type(self).sizes.size();
  std::vector<uint32_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 0u);
  const std::string op = PlainName(program.op_name(node));
  if (op == "aten.t.default") {
    if (rank == 2) std::swap(perm[0], perm[1]);
    return perm;
  }
  if (op == "aten.transpose.int") {
    const auto a = Wrap(read.Int("dim0"), rank),
               b = Wrap(read.Int("dim1"), rank);
    if (!a || !b) return std::nullopt;
    std::swap(perm[static_cast<size_t>(*a)], perm[static_cast<size_t>(*b)]);
    return perm;
  }
  const auto dims = read.Ints("dims");
  if (!dims || dims->size() != rank) return std::nullopt;
  std::vector<bool> seen(rank);
  for (size_t d = 0; d < rank; ++d) {
    const auto dim = Wrap((*dims)[d], rank);
    if (!dim || seen[static_cast<size_t>(*dim)]) return std::nullopt;
    seen[static_cast<size_t>(*dim)] = true;
    perm[d] = static_cast<uint32_t>(*dim);
  }
  return perm;
}

std::optional<Refusal> RefusePermutation(const Question& q) {
  if (q.rank(q.result()) > 0 && PermutationOf(q.program, q.node)) {
    return std::nullopt;
  }
  return Because("no permutation of dimensions");
}

bool IsConvolved(const Program& region, ValueId v) {
  bool is = false;
  region.ForEachUse(v, [&](UseId u) {
    const NodeId user = region.use(u).user;
    is = is || (region.node(user).kind == tenon::NodeKind::kOp &&
                region.op_name(user) == "aten.convolution.default" &&
                NodeReader(region, user).value("input") == v);
  });
  return is;
}

// Width and channels exchanged: one's form with channels last has the elements
// in the order of the other's own.
bool TranslateTurnedRow(Task& t, ValueId self, Order order) {
  const Program& region = t.graph.region();
  if (!IsImage(region, self) || !IsImage(region, t.result)) return false;
  const bool is_read_last =
      order == Order::kPlain && IsConvolved(region, t.result);
  if (order == Order::kPlain && !is_read_last) return false;
  const Order to = is_read_last ? Order::kChannelsLast : Order::kPlain;
  Reshape node;
  node.shape = t.graph.ShapeOf(t.result, to);
  node.input = t.graph.Get(self, order);
  node.output = t.graph.Define(t.result, to);
  t.graph.Add(NodeKind::kReshape, std::move(node));
  return true;
}

void TranslateTranspose(Task& t, NodeKind kind) {
  const ValueId self = t.read.value("self");
  Transpose node;
  node.perm = *PermutationOf(t.graph.region(), t.node);
  Order order = t.graph.OrderFor({self});
  if (node.perm == std::vector<uint32_t>{0, 2, 1} &&
      TranslateTurnedRow(t, self, order)) {
    return;
  }
  // A row has a dimension more when its channels are last.
  if (node.perm.size() == 3) order = Order::kPlain;
  if (order == Order::kChannelsLast) {
    for (uint32_t& p : node.perm) p = PlaceWithChannelsLast(4, p);
  }
  node.input = t.graph.Get(self, order);
  node.output = t.graph.Define(t.result, Order::kPlain);
  t.graph.Add(kind, std::move(node));
}

// --- reshapes ---

std::optional<Refusal> RefuseReshape(const Question& q) {
  const std::vector<SymInt>& sizes = q.program.type(q.result()).sizes;
  if (sizes.empty()) {
    return Refusal{RefusalReason::kRank, "a reshape to no dimensions"};
  }
  const auto varies = [](const SymInt& s) { return !s.is_literal(); };
  if (std::count_if(sizes.begin(), sizes.end(), varies) > 1) {
    return Refusal{RefusalReason::kDynamicShape,
                   "a reshape to several sizes that vary"};
  }
  return std::nullopt;
}

void TranslateReshape(Task& t, NodeKind kind) {
  Reshape node;
  node.shape = t.graph.ShapeOf(t.result, Order::kPlain);
  node.input = t.graph.Get(t.read.value("self"), Order::kPlain);
  node.output = t.graph.Define(t.result, Order::kPlain);
  t.graph.Add(kind, std::move(node));
}

// --- slices ---

struct SliceRange {
  size_t dim = 0;
  int64_t begin = 0;
};

std::optional<SliceRange> SliceOf(const Program& program, NodeId node) {
  const NodeReader read(program, node);
  const auto sizes = LiteralSizes(program, read.value("self"));
  if (!sizes) return std::nullopt;
  const auto dim = Wrap(read.Int("dim"), sizes->size());
  if (!dim || read.Int("step") != 1) return std::nullopt;
  const int64_t size = (*sizes)[static_cast<size_t>(*dim)];
  int64_t begin = 0;
  if (!read.IsNone("start")) {
    const auto start = read.Int("start");
    if (!start) return std::nullopt;
    begin = std::clamp(*start < 0 ? *start + size : *start, int64_t{0}, size);
  }
  if (!read.IsNone("end") && !read.Int("end")) return std::nullopt;
  return SliceRange{static_cast<size_t>(*dim), begin};
}

std::optional<Refusal> RefuseSlice(const Question& q) {
  if (SliceOf(q.program, q.node)) return std::nullopt;
  return Because("a slice with steps, or with bounds that aren't known");
}

void TranslateSlice(Task& t, NodeKind kind) {
  const SliceRange range = *SliceOf(t.graph.region(), t.node);
  Slice node;
  node.sizes = Unsigned(t.sizes(t.result));
  node.offsets.assign(node.sizes.size(), 0);
  node.offsets[range.dim] = static_cast<uint32_t>(range.begin);
  node.input = t.graph.Get(t.read.value("self"), Order::kPlain);
  node.output = t.graph.Define(t.result, Order::kPlain);
  t.graph.Add(kind, std::move(node));
}

// --- joins ---

std::optional<Refusal> RefuseJoin(const Question& q) {
  const std::vector<ValueId> parts = q.read.values("tensors");
  if (parts.size() < 2 || parts.size() > Concatenate::kMaxInputs) {
    return Because("a join of " + std::to_string(parts.size()) + " tensors");
  }
  const size_t rank = q.rank(q.result());
  for (const ValueId v : parts) {
    // Of old, tensors of one empty dimension may be among them.
    if (!v.valid() || q.rank(v) != rank) return Because("tensors of two ranks");
  }
  if (!Wrap(q.read.Int("dim"), rank)) return Because("no such dimension");
  return std::nullopt;
}

void TranslateJoin(Task& t, NodeKind) {
  constexpr NodeKind kKinds[] = {
      NodeKind::kConcatenate2, NodeKind::kConcatenate3, NodeKind::kConcatenate4,
      NodeKind::kConcatenate5};
  const std::vector<ValueId> parts = t.read.values("tensors");
  std::vector<ValueId> values = parts;
  values.push_back(t.result);
  const Order order = t.graph.OrderFor(values);
  const size_t rank = t.sizes(t.result).size();
  const auto dim = static_cast<uint32_t>(*Wrap(t.read.Int("dim"), rank));
  Concatenate node;
  node.axis = order == Order::kPlain ? dim : PlaceWithChannelsLast(rank, dim);
  for (const ValueId v : parts) node.inputs.push_back(t.graph.Get(v, order));
  node.output = t.graph.Define(t.result, order);
  t.graph.Add(kKinds[parts.size() - 2], std::move(node));
}

// --- padding ---

std::optional<Refusal> RefusePad(const Question& q) {
  const auto pad = q.read.Ints("pad");
  const bool is_right =
      pad && pad->size() % 2 == 0 && pad->size() <= 2 * q.rank(q.result()) &&
      std::all_of(pad->begin(), pad->end(), [](int64_t p) { return p >= 0; });
  if (is_right && q.read.Number("value")) return std::nullopt;
  return Because("padding that takes away, or isn't known");
}

void TranslatePad(Task& t, NodeKind kind) {
  const std::vector<int64_t> pad = *t.read.Ints("pad");
  const size_t rank = t.sizes(t.result).size();
  ConstantPad node;
  node.before.assign(rank, 0);
  node.after.assign(rank, 0);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    node.before[rank - 1 - i] = static_cast<uint32_t>(pad[2 * i]);
    node.after[rank - 1 - i] = static_cast<uint32_t>(pad[2 * i + 1]);
  }
  node.value = static_cast<float>(*t.read.Number("value"));
  node.input = t.graph.Get(t.read.value("self"), Order::kPlain);
  node.output = t.graph.Define(t.result, Order::kPlain);
  t.graph.Add(kind, std::move(node));
}

constexpr Translation Reshapes(std::string_view op) {
  return {op, RefuseReshape, TranslateReshape, NodeKind::kReshape};
}
constexpr Translation Transposes(std::string_view op) {
  return {op, RefusePermutation, TranslateTranspose, NodeKind::kTranspose};
}

constexpr Translation kTranslations[] = {
    Transposes("aten.permute.default"),
    Transposes("aten.t.default"),
    Transposes("aten.transpose.int"),
    Reshapes("aten._unsafe_view.default"),
    Reshapes("aten.reshape.default"),
    Reshapes("aten.squeeze.dim"),
    Reshapes("aten.squeeze.dims"),
    Reshapes("aten.unsqueeze.default"),
    Reshapes("aten.view.default"),
    {"aten.slice.Tensor", RefuseSlice, TranslateSlice, NodeKind::kSlice},
    {"aten.cat.default", RefuseJoin, TranslateJoin, NodeKind::kConcatenate2},
    {"aten.constant_pad_nd.default", RefusePad, TranslatePad,
     NodeKind::kConstantPad},
};

}  // namespace

std::span<const Translation> ShapeTranslations() { return kTranslations; }

}  // namespace tenon::xnnpack
