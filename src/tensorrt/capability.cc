#include "tensorrt/capability.h"

#include <cstring>
#include <utility>

#include "diag/diagnostics.h"
#include "onnx/one_node.h"
#include "onnx/translate_program.h"

namespace tenon::tensorrt {
namespace {

struct Row {
  std::string_view op, why;
};
constexpr Row kLacks[] = {
#define TENSORRT_LACKS(op, why) {op, why},
#include "tensorrt/capabilities.def"
};

struct DtypeRow {
  DType dtype;
  std::string_view why;
};
constexpr DtypeRow kDtypes[] = {
#define TENSORRT_DTYPE(dtype, why) {DType::dtype, why},
#include "tensorrt/capabilities.def"
};

struct Limit {
  int64_t value;
  std::string_view why;
};
#define TENSORRT_LIMIT(name, value, why) constexpr Limit name = {value, why};
#include "tensorrt/capabilities.def"

Refusal Because(RefusalReason reason, std::string_view what,
                std::string_view why) {
  return {reason, std::string(what) + ": " + std::string(why) + " (" +
                      std::string(Release()) + ")"};
}

std::optional<Refusal> WhyNoTensor(const Type& type) {
  if (!type.is_tensor()) return std::nullopt;
  for (const DtypeRow& row : kDtypes) {
    if (row.dtype == type.dtype) {
      return Because(RefusalReason::kDtype, Name(type.dtype), row.why);
    }
  }
  if (type.rank() > kMaxRank.value) {
    return Because(RefusalReason::kRank, "rank " + std::to_string(type.rank()),
                   kMaxRank.why);
  }
  return std::nullopt;
}

// The number of elements that a TopK takes, where the model says it.
std::optional<int64_t> CountOf(const onnx::Graph& graph,
                               const std::string& name) {
  for (const onnx::TensorValue& t : graph.initializers) {
    int64_t count = 0;
    if (t.name != name || t.bytes.size() != sizeof(count)) continue;
    std::memcpy(&count, t.bytes.data(), sizeof(count));
    return count;
  }
  return std::nullopt;
}

std::optional<Refusal> WhyNoNode(const onnx::Graph& main,
                                 const onnx::Node& node) {
  for (const Row& row : kLacks) {
    if (row.op == node.op) {
      return Because(RefusalReason::kOperatorUnknown, "ONNX's " + node.op,
                     row.why);
    }
  }
  if (node.op == "TopK") {
    const auto count = CountOf(main, node.inputs[1]);
    if (count && *count > kMaxTopK.value) {
      return Because(RefusalReason::kAttributeValue,
                     "k = " + std::to_string(*count), kMaxTopK.why);
    }
  }
  for (const onnx::Attribute& a : node.attributes) {
    if (node.op == "ScatterND" && a.name == "reduction") {
      return Because(RefusalReason::kAttributeValue, "ScatterND",
                     "it replaces elements only");
    }
    const auto* graph =
        std::get_if<std::shared_ptr<const onnx::Graph>>(&a.value);
    if (graph == nullptr) continue;
    for (const onnx::Node& n : (*graph)->nodes) {
      if (auto why = WhyNoNode(main, n)) return why;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view Release() {
#define TENSORRT_RELEASE(text) return text;
#include "tensorrt/capabilities.def"
}

std::optional<Refusal> WhyRefused(const onnx::Model& model) {
  for (const onnx::Node& node : model.graph.nodes) {
    if (auto why = WhyNoNode(model.graph, node)) return why;
  }
  return std::nullopt;
}

std::optional<Refusal> WhyRefused(const Program& program, NodeId node) {
  if (program.node(node).kind != NodeKind::kOp) {
    return Refusal{RefusalReason::kOperatorUnknown, "a call of a graph"};
  }
  std::optional<Refusal> why;
  program.ForEachOperand(node, [&](ValueId v) {
    if (!why) why = WhyNoTensor(program.type(v));
  });
  for (uint32_t i = 0; i < program.node(node).results.count && !why; ++i) {
    why = WhyNoTensor(program.type(program.node(node).results[i]));
  }
  if (why) return why;
  Diagnostics diags;
  const auto translated = onnx::TranslateProgram(
      onnx::ExtractNode(program, node), {}, onnx::TranslateOptions(), diags);
  if (!translated) {
    return Refusal{RefusalReason::kOperatorUnknown, diags.FirstError()};
  }
  return WhyRefused(translated->model);
}

}  // namespace tenon::tensorrt
