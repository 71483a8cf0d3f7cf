// A node that becomes nodes of an ONNX graph.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/node_reader.h"
#include "ir/program.h"
#include "onnx/graph_builder.h"

namespace tenon::onnx {

// Why a node can't be translated; nothing: it was.
using WhyNot = std::optional<std::string>;

// A node that couldn't be translated.
struct Untranslated {
  GraphId graph;
  NodeId node;
  std::string why;
};

struct Task {
  // `list` gets nodes of graphs inside the node.
  Task(GraphBuilder& b, NodeId n, std::vector<Untranslated>* list)
      : build(b),
        program(b.program()),
        node(n),
        read(program, n),
        untranslated(list) {}

  // --- what the node gives ---
  ValueId result(uint32_t i = 0) const { return program.node(node).results[i]; }
  uint32_t num_results() const { return program.node(node).results.count; }
  const Type& type(uint32_t i = 0) const { return program.type(result(i)); }
  // Of a tensor or a number.
  DType dtype(uint32_t i = 0) const { return DtypeOf(result(i)); }
  bool is_used(uint32_t i) const {
    return program.value(result(i)).num_uses > 0;
  }
  // Says what result `i` is. It gets the dtype that the program states.
  void Give(uint32_t i, const std::string& name) {
    build.Set(result(i), build.Cast(name, dtype(i)));
  }
  void Give(const std::string& name) { Give(0, name); }

  // --- what it takes ---
  const Arg* arg(std::string_view parameter) const {
    return program.FindArg(node, parameter);
  }
  bool Has(std::string_view parameter) const { return !read.IsNone(parameter); }
  ValueId value(std::string_view parameter) const {
    return read.value(parameter);
  }
  const Type& TypeOf(std::string_view parameter) const {
    return program.type(value(parameter));
  }
  int64_t rank(std::string_view parameter) const {
    return TypeOf(parameter).rank();
  }
  DType DtypeOf(ValueId v) const;
  DType DtypeOf(std::string_view parameter) const;
  // A tensor, a number that is computed, or a literal; in its dtype, or cast.
  // A literal takes the dtype that is asked for.
  std::string In(std::string_view parameter) const;
  std::string In(std::string_view parameter, DType dtype) const;
  std::string ToName(const Arg& arg) const;
  std::string ToName(const Arg& arg, DType dtype) const;
  // A dimension counted from the end when negative; of a tensor of rank 0, 0.
  int64_t Dim(std::string_view parameter, int64_t of_rank) const;
  // Dimensions; none where the argument is None. An empty list stays one.
  std::optional<std::vector<int64_t>> Dims(std::string_view parameter,
                                           int64_t of_rank) const;
  // A list of ints as 1-d int64. Items that are computed are joined.
  std::string IntList(std::string_view parameter) const;
  // The items of a list, or the one that stands for it.
  std::vector<Arg> Items(std::string_view parameter) const;
  // One int as 1-d.
  std::string Int1d(const Arg& arg) const;

  GraphBuilder& build;
  const Program& program;
  const NodeId node;
  const NodeReader read;
  std::vector<Untranslated>* const untranslated;
};

// The dtype of a tensor or a number, of which PyTorch's own are int64, float64
// and bool; kUnknown for other values.
DType DtypeOfType(const Type& type);

// float32 for half precision, else `dtype`: in which PyTorch computes what
// takes several of our nodes.
DType WideDtype(DType dtype);
// A literal size, or nothing.
std::optional<int64_t> LiteralSize(const Type& type, int64_t dim);

using Translate = WhyNot (*)(Task& task, std::string_view onnx);

struct Translation {
  std::string_view op;  // PlainName
  Translate translate;
  std::string_view onnx = "";  // told to `translate`
};

// Null for operators that aren't translated.
const Translation* FindTranslation(std::string_view op);

// The families, each in the file of its name.
std::span<const Translation> PointwiseTranslations();
std::span<const Translation> ArithmeticTranslations();
std::span<const Translation> ComparisonTranslations();
std::span<const Translation> ReductionTranslations();
std::span<const Translation> MatmulTranslations();
std::span<const Translation> ConvolutionTranslations();
std::span<const Translation> PoolingTranslations();
std::span<const Translation> NormTranslations();
std::span<const Translation> ViewTranslations();
std::span<const Translation> JoinTranslations();
std::span<const Translation> IndexTranslations();
std::span<const Translation> ScatterTranslations();
std::span<const Translation> FactoryTranslations();
std::span<const Translation> ResizeTranslations();
std::span<const Translation> ScalarTranslations();
std::span<const Translation> QuantizedTranslations();
std::span<const Translation> ControlTranslations();

// The nodes of a graph, in order; `why` gets each node that isn't translated.
// Values of the graph that are inputs must be set. True when all were.
bool TranslateNodes(GraphBuilder& build, GraphId graph,
                    std::vector<Untranslated>* untranslated);

}  // namespace tenon::onnx
