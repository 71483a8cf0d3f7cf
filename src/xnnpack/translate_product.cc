// Products of matrices. A known matrix is numbers, or stored integers, which
// XNNPACK multiplies by as they are.
#include "xnnpack/quantized_filter.h"
#include "xnnpack/translate.h"
#include "xnnpack/translate_integers.h"

namespace tenon::xnnpack {
namespace {

std::optional<Refusal> RefuseProduct(const Question& q) {
  const Product p = *FindProduct(q.program, q.node);
  if (!p.x.valid() || !p.weight.valid()) return Because("no tensors");
  if (q.rank(p.x) < 2 || q.rank(p.weight) != 2) {
    return Refusal{RefusalReason::kRank, "a product of vectors"};
  }
  if (!q.is_constant(p.weight)) return Unknown("a matrix");
  const int64_t columns = q.sizes(p.weight)[p.is_transposed ? 1 : 0];
  if (p.bias.valid() && !IsKnownRow(q, p.bias, columns)) {
    return Unknown("a bias");
  }
  const bool scales =
      q.program.op_name(q.node) == "aten.addmm.default" &&
      (q.read.Number("beta") != 1 || q.read.Number("alpha") != 1);
  return scales ? std::optional(Because("alpha or beta other than 1"))
                : std::nullopt;
}

// `node`, and then the sum of its result and `other`.
void AddWithSum(Task& t, FullyConnected node, uint32_t other, Order order) {
  node.output = t.graph.Temporary(t.result, order);
  t.graph.Add(NodeKind::kFullyConnected, node);
  t.graph.Add(NodeKind::kAdd,
              Binary{node.output, other, t.graph.Define(t.result, order), 0},
              t.range);
}

// The sum of the products with matrices of four bits, the smallest first.
void TranslateGroups(Task& t, const Product& p, const QuantizedWeight& weight,
                     uint32_t input) {
  const std::vector<uint32_t> parts = AddGroupMatrix(&t.graph, weight);
  FullyConnected node;
  node.input = input;
  uint32_t sum = kNoId;
  for (size_t i = parts.size(); i-- > 1;) {
    node.filter = parts[i];
    node.output = t.graph.Temporary(t.result, Order::kPlain);
    t.graph.Add(NodeKind::kFullyConnected, node);
    if (sum == kNoId) {
      sum = node.output;
      continue;
    }
    const uint32_t both = t.graph.Temporary(t.result, Order::kPlain);
    t.graph.Add(NodeKind::kAdd, Binary{sum, node.output, both, 0});
    sum = both;
  }
  node.filter = parts[0];
  if (p.bias.valid()) node.bias = t.graph.GetPacked(p.bias);
  if (sum != kNoId) return AddWithSum(t, node, sum, Order::kPlain);
  node.output = t.graph.Define(t.result, Order::kPlain);
  t.graph.Add(NodeKind::kFullyConnected, node, t.range);
}

uint32_t AddMatrixOf(Task& t, const Product& p) {
  const QuantizedWeight* weight = t.graph.FindWeight(p.weight);
  if (weight != nullptr && HasOutputScales(*weight, p.is_transposed)) {
    return AddMatrix(&t.graph, *weight, p.is_transposed, !t.integers);
  }
  if (!p.is_transposed) return t.graph.GetPacked(p.weight);
  const Tensor& w = *t.graph.FindConstant(p.weight);
  const Tensor turned =
      w.View({w.size(1), w.size(0)}, {w.stride(1), w.stride(0)}, w.offset());
  return t.graph.AddConstant(turned,
                             {turned.sizes().begin(), turned.sizes().end()});
}

void TranslateProduct(Task& t, NodeKind kind) {
  const Product p = *FindProduct(t.graph.region(), t.node);
  const QuantizedWeight* weight = t.graph.FindWeight(p.weight);
  const ValueId numbers = t.graph.FindDynamic(p.x);
  const uint32_t input = numbers.valid() ? t.graph.GetDynamic(numbers)
                                         : t.graph.Get(p.x, Order::kPlain);
  if (numbers.valid() && weight != nullptr &&
      HasKnownGroups(*weight, p.is_transposed)) {
    return TranslateGroups(t, p, *weight, input);
  }
  FullyConnected node;
  node.input = input;
  node.filter = AddMatrixOf(t, p);
  const bool is_mixed = !t.integers && !numbers.valid() && weight != nullptr &&
                        HasOutputScales(*weight, p.is_transposed);
  if (is_mixed) {
    return AddMixedProduct(t, input, node.filter, p.bias, Order::kPlain);
  }
  if (t.integers) {
    node.bias =
        AddIntegerBias(t, *weight, p.x, p.bias, t.sizes(t.result).back());
  } else if (p.bias.valid()) {
    node.bias = t.graph.GetPacked(p.bias);
  }
  node.output = t.graph.Define(t.result, Order::kPlain);
  t.graph.Add(kind, node, t.range);
}

std::optional<Refusal> RefuseBatchProduct(const Question& q) {
  const ValueId a = q.read.value("self"), b = q.read.value("mat2");
  const bool fits = a.valid() && b.valid() && q.rank(a) == 3 && q.rank(b) == 3;
  return fits ? std::nullopt : std::optional(Because("no batches of matrices"));
}

void TranslateBatchProduct(Task& t, NodeKind kind) {
  const uint32_t x = t.graph.Get(t.read.value("self"), Order::kPlain);
  const uint32_t y = t.graph.Get(t.read.value("mat2"), Order::kPlain);
  t.graph.Add(kind, Binary{x, y, t.graph.Define(t.result, Order::kPlain), 0});
}

constexpr Translation kTranslations[] = {
    {"aten.addmm.default", RefuseProduct, TranslateProduct,
     NodeKind::kFullyConnected, true},
    {"aten.linear.default", RefuseProduct, TranslateProduct,
     NodeKind::kFullyConnected, true},
    {"aten.mm.default", RefuseProduct, TranslateProduct,
     NodeKind::kFullyConnected, true},
    {"aten.bmm.default", RefuseBatchProduct, TranslateBatchProduct,
     NodeKind::kBatchMatrixMultiply},
};

}  // namespace

std::optional<Product> FindProduct(const Program& program, NodeId node) {
  if (program.node(node).kind != tenon::NodeKind::kOp) return std::nullopt;
  const std::string_view op = program.op_name(node);
  const NodeReader read(program, node);
  if (op == "aten.linear.default") {
    return Product{read.value("input"), read.value("weight"),
                   read.value("bias"), false};
  }
  if (op == "aten.mm.default") {
    return Product{read.value("self"), read.value("mat2"), ValueId(), true};
  }
  if (op == "aten.addmm.default") {
    return Product{read.value("mat1"), read.value("mat2"), read.value("self"),
                   true};
  }
  return std::nullopt;
}

void AddMixedProduct(Task& t, uint32_t input, uint32_t filter, ValueId bias,
                     Order order) {
  FullyConnected node;
  node.input = input;
  node.filter = filter;
  if (bias.valid()) {
    return AddWithSum(t, node, t.graph.Get(bias, Order::kPlain), order);
  }
  node.output = t.graph.Define(t.result, order);
  t.graph.Add(NodeKind::kFullyConnected, node, t.range);
}

std::span<const Translation> ProductTranslations() { return kTranslations; }

}  // namespace tenon::xnnpack
