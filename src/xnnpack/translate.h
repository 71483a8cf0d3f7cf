// How operators become nodes of an XNNPACK graph, family by family.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/node_reader.h"
#include "backends/backend.h"
#include "ir/program.h"
#include "xnnpack/graph_builder.h"
#include "xnnpack/quantized_weight.h"
#include "xnnpack/stored_tensor.h"

namespace tenon::xnnpack {

// A node that somebody would like to have translated.
struct Question {
  Question(const Program& p, NodeId n, const FindStored& s)
      : program(p), node(n), read(p, n), stored(s) {}

  // Of the value, as the exporter saw them; results and operands were found to
  // be float32 tensors.
  std::vector<int64_t> sizes(ValueId v) const { return *SeenSizes(program, v); }
  size_t rank(ValueId v) const { return program.type(v).sizes.size(); }
  ValueId result() const { return program.node(node).results[0]; }
  // Whether a value is known when the region is compiled.
  bool is_constant(ValueId v) const {
    return stored(v).defined() ||
           FindQuantizedWeight(program, v, stored).has_value();
  }

  const Program& program;
  const NodeId node;
  const NodeReader read;
  const FindStored& stored;
};

// A node that is being translated, and what is done along with it.
struct Task {
  Task(GraphBuilder& g, NodeId n)
      : graph(g), node(n), read(g.region(), n), result(Result(g.region(), n)) {}

  static ValueId Result(const Program& region, NodeId n) {
    return region.node(n).results[0];
  }
  std::vector<int64_t> sizes(ValueId v) const {
    return *SeenSizes(graph.region(), v);
  }

  GraphBuilder& graph;
  const NodeId node;
  const NodeReader read;
  ValueId result;                    // of the last of the nodes
  std::optional<OutputRange> range;  // of an activation after it
  NodeId batch_norm;                 // after a convolution; invalid: none
  // The node works on integers, and gives some that stand for this.
  std::optional<PerTensorQuant> integers;
};

struct Translation {
  std::string_view op;  // PlainName
  // Why the node isn't taken, beyond what holds for all operators; null: it is.
  std::optional<Refusal> (*refuses)(const Question& q);
  void (*translate)(Task& task, NodeKind kind);
  NodeKind kind = NodeKind::kCopy;
  bool takes_range = false;   // an activation after it may become part of it
  bool checks_types = false;  // of tensors: they needn't be float32
};

// Null when XNNPACK has no such operator.
const Translation* FindTranslation(std::string_view op);

// The families.
std::span<const Translation> ConvolutionTranslations();
std::span<const Translation> ElementwiseTranslations();
std::span<const Translation> NeuralTranslations();
std::span<const Translation> ProductTranslations();
std::span<const Translation> QuantizationTranslations();
std::span<const Translation> ShapeTranslations();

// The bounds of an activation; nothing for other nodes.
std::optional<OutputRange> RangeOf(const Program& program, NodeId node);
// Whether a node is a batch norm by known numbers whose statistics nobody
// reads.
bool IsFixedBatchNorm(const Question& q);

// Why a tensor can't be a value of XNNPACK's.
std::optional<Refusal> RefuseTensor(const Program& program, ValueId v,
                                    DType dtype = DType::kFloat32);

// A product with a matrix: linear, mm or addmm.
struct Product {
  ValueId x, weight, bias;
  bool is_transposed = false;  // the weight is [in, out]
};
std::optional<Product> FindProduct(const Program& program, NodeId node);

// The task's product of numbers with a matrix of integers, along the last
// dimension of `order`. The bias is added afterwards, as XNNPACK would scale
// it, too.
void AddMixedProduct(Task& t, uint32_t input, uint32_t filter, ValueId bias,
                     Order order);

inline bool IsKnownRow(const Question& q, ValueId v, int64_t size) {
  return v.valid() && q.is_constant(v) && q.rank(v) == 1 &&
         q.sizes(v)[0] == size;
}

inline Refusal Unknown(std::string what) {
  return Refusal{
      RefusalReason::kAttributeValue,
      std::move(what) + " that isn't known when the file is written"};
}

inline Refusal Because(std::string detail) {
  return Refusal{RefusalReason::kAttributeValue, std::move(detail)};
}

}  // namespace tenon::xnnpack
