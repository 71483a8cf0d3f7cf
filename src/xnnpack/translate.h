// How operators become nodes of an XNNPACK graph, family by family.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "analysis/node_reader.h"
#include "backends/backend.h"
#include "ir/program.h"
#include "xnnpack/graph_builder.h"

namespace tenon::xnnpack {

// A node that somebody would like to have translated.
struct Question {
  Question(const Program& p, NodeId n,
           const std::function<bool(ValueId)>& constant)
      : program(p), node(n), read(p, n), is_constant(constant) {}

  // Of the value, as the exporter saw them; results and operands were found to
  // be float32 tensors.
  std::vector<int64_t> sizes(ValueId v) const { return *SeenSizes(program, v); }
  size_t rank(ValueId v) const { return program.type(v).sizes.size(); }
  ValueId result() const { return program.node(node).results[0]; }

  const Program& program;
  const NodeId node;
  const NodeReader read;
  // Whether a value is known when the region is compiled.
  const std::function<bool(ValueId)>& is_constant;
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
};

struct Translation {
  std::string_view op;  // PlainName
  // Why the node isn't taken, beyond what holds for all operators; null: it is.
  std::optional<Refusal> (*refuses)(const Question& q);
  void (*translate)(Task& task, NodeKind kind);
  NodeKind kind = NodeKind::kCopy;
  bool takes_range = false;  // an activation after it may become part of it
};

// Null when XNNPACK has no such operator.
const Translation* FindTranslation(std::string_view op);

// The families.
std::span<const Translation> ElementwiseTranslations();
std::span<const Translation> NeuralTranslations();
std::span<const Translation> ShapeTranslations();

// The bounds of an activation; nothing for other nodes.
std::optional<OutputRange> RangeOf(const Program& program, NodeId node);
// Whether a node is a batch norm by known numbers whose statistics nobody
// reads.
bool IsFixedBatchNorm(const Question& q);

inline Refusal Because(std::string detail) {
  return Refusal{RefusalReason::kAttributeValue, std::move(detail)};
}

}  // namespace tenon::xnnpack
