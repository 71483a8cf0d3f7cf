#include "xnnpack/translate_integers.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "support/assert.h"
#include "xnnpack/quantized_activation.h"
#include "xnnpack/quantized_filter.h"

namespace tenon::xnnpack {
namespace {

bool AreEqual(const PerTensorQuant& a, const PerTensorQuant& b) {
  return a.scale == b.scale && a.zero_point == b.zero_point;
}

enum class Family : uint8_t { kNone, kSum, kProduct, kMatrix, kFilter, kMove };

// kMove: what only moves integers, or picks some.
Family FamilyOf(std::string_view op) {
  struct Row {
    std::string_view op;
    Family family;
  };
  static constexpr Row kRows[] = {
      {"aten.add.Tensor", Family::kSum},
      {"aten.sub.Tensor", Family::kSum},
      {"aten.mul.Tensor", Family::kProduct},
      {"aten.linear.default", Family::kMatrix},
      {"aten.mm.default", Family::kMatrix},
      {"aten.addmm.default", Family::kMatrix},
      {"aten.convolution.default", Family::kFilter},
      {"aten.cat.default", Family::kMove},
      {"aten.max_pool2d.default", Family::kMove},
      {"aten.max_pool2d_with_indices.default", Family::kMove},
      {"aten.permute.default", Family::kMove},
      {"aten.t.default", Family::kMove},
      {"aten.transpose.int", Family::kMove},
      {"aten._unsafe_view.default", Family::kMove},
      {"aten.reshape.default", Family::kMove},
      {"aten.squeeze.dim", Family::kMove},
      {"aten.squeeze.dims", Family::kMove},
      {"aten.unsqueeze.default", Family::kMove},
      {"aten.view.default", Family::kMove},
      {"aten.slice.Tensor", Family::kMove},
  };
  const auto at = std::find_if(std::begin(kRows), std::end(kRows),
                               [&](const Row& r) { return r.op == op; });
  return at == std::end(kRows) ? Family::kNone : at->family;
}

// What varies among the operands.
std::vector<ValueId> ActivationsOf(const Program& region, NodeId node,
                                   Family family) {
  const NodeReader read(region, node);
  switch (family) {
    case Family::kNone:
      return {};
    case Family::kSum:
    case Family::kProduct:
      return {read.value("self"), read.value("other")};
    case Family::kMatrix:
      return {FindProduct(region, node)->x};
    case Family::kFilter:
      return {read.value("input")};
    case Family::kMove: {
      auto parts = read.values("tensors");
      return parts.empty() ? std::vector<ValueId>{read.value("self")} : parts;
    }
  }
  return {};
}

// By how much of a step a bias may shift results.
double MaxShift(const GraphBuilder& graph) {
  return graph.rounds() ? 0.5 : std::ldexp(1.0, -12);
}

// XNNPACK's bounds of what operands are scaled by.
bool IsIn(double factor, int lowest, int end) {
  return factor >= std::ldexp(1.0, lowest) && factor < std::ldexp(1.0, end);
}

Tensor BiasOf(GraphBuilder& graph, ValueId bias) {
  return bias.valid() ? *graph.FindConstant(bias) : Tensor();
}

bool CanMultiply(GraphBuilder& graph, NodeId node, Family family,
                 const IntegerProduct& product) {
  const Program& region = graph.region();
  const NodeReader read(region, node);
  ValueId weight_value = read.value("weight"), bias = read.value("bias");
  bool is_transposed = false;
  if (family == Family::kMatrix) {
    const Product p = *FindProduct(region, node);
    weight_value = p.weight;
    bias = p.bias;
    is_transposed = p.is_transposed;
  } else if (read.Bool("transposed") != false) {
    return false;
  }
  const QuantizedWeight* weight = graph.FindWeight(weight_value);
  if (weight == nullptr || weight->group > 0) return false;
  const int64_t axis = is_transposed ? 1 : 0;
  if (!weight->is_per_tensor() && weight->axis != axis) return false;
  return RoundedBias(*weight, BiasOf(graph, bias), weight->integers.size(axis),
                     product)
      .has_value();
}

bool CanCompute(GraphBuilder& graph, NodeId node, Family family,
                const std::vector<PerTensorQuant>& in,
                const PerTensorQuant& out) {
  switch (family) {
    case Family::kNone:
      return false;
    case Family::kSum:
      return IsIn(double{in[0].scale} / out.scale, -10, 8) &&
             IsIn(double{in[1].scale} / out.scale, -10, 8);
    case Family::kProduct:
      return IsIn(double{in[0].scale} * in[1].scale / out.scale, -16, 8);
    case Family::kMatrix:
    case Family::kFilter:
      return CanMultiply(graph, node, family, {in[0], out, MaxShift(graph)});
    case Family::kMove:
      return std::all_of(in.begin(), in.end(), [&](const PerTensorQuant& q) {
        return AreEqual(q, out);
      });
  }
  return false;
}

}  // namespace

NodeId OnlyReader(const Program& region, ValueId v) {
  NodeId reader;
  uint32_t count = 0;
  region.ForEachUse(v, [&](UseId u) {
    reader = region.use(u).user;
    ++count;
  });
  if (count != 1 || region.node(reader).kind != tenon::NodeKind::kOp) {
    return NodeId();
  }
  return reader;
}

std::optional<IntegerNode> FindIntegerNode(GraphBuilder& graph, NodeId node) {
  const Program& region = graph.region();
  const Family family = FamilyOf(PlainName(region.op_name(node)));
  if (family == Family::kNone) return std::nullopt;
  std::vector<PerTensorQuant> in;
  for (const ValueId v : ActivationsOf(region, node, family)) {
    const ValueId integers = v.valid() ? graph.IntegersOf(v) : ValueId();
    if (!integers.valid()) return std::nullopt;
    in.push_back(*graph.FindIntegers(integers));
  }
  IntegerNode out;
  ValueId last = region.node(node).results[0];
  NodeId next = OnlyReader(region, last);
  const Translation* translation = FindTranslation(region.op_name(node));
  if (next.valid() && translation->takes_range) {
    out.range = RangeOf(region, next);
    if (out.range) {
      out.taken.push_back(next);
      last = region.node(next).results[0];
      next = OnlyReader(region, last);
    }
  }
  if (!next.valid() || !IsQuantize(region, next)) return std::nullopt;
  const auto quant = FindStaticQuant(region, next);
  if (!quant || !CanCompute(graph, node, family, in, *quant)) {
    return std::nullopt;
  }
  out.output = *quant;
  out.result = region.node(next).results[0];
  out.taken.push_back(next);
  return out;
}

uint32_t AddIntegerBias(Task& t, const QuantizedWeight& weight, ValueId x,
                        ValueId bias, int64_t num_outputs) {
  const PerTensorQuant in = *t.graph.FindIntegers(t.graph.IntegersOf(x));
  const auto rounded = RoundedBias(weight, BiasOf(t.graph, bias), num_outputs,
                                   {in, *t.integers, MaxShift(t.graph)});
  TENON_ASSERT(rounded, "a node on integers has a bias that can be rounded");
  return AddIntegerBias(&t.graph, weight, *rounded, in.scale);
}

}  // namespace tenon::xnnpack
