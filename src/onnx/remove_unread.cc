#include "onnx/remove_unread.h"

#include <algorithm>
#include <string>
#include <unordered_set>

namespace tenon::onnx {
namespace {

using Names = std::unordered_set<std::string>;

void AddReads(const Node& node, Names* reads) {
  reads->insert(node.inputs.begin(), node.inputs.end());
  for (const Attribute& a : node.attributes) {
    const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&a.value);
    if (graph == nullptr) continue;
    for (const Node& n : (*graph)->nodes) AddReads(n, reads);
    for (const ValueInfo& v : (*graph)->outputs) reads->insert(v.name);
  }
}

}  // namespace

void RemoveUnread(Graph* graph) {
  Names reads;
  for (const ValueInfo& v : graph->outputs) reads.insert(v.name);
  std::vector<Node> kept;
  for (auto n = graph->nodes.rbegin(); n != graph->nodes.rend(); ++n) {
    const bool is_read =
        std::any_of(n->outputs.begin(), n->outputs.end(),
                    [&](const std::string& o) { return reads.contains(o); });
    if (!is_read) continue;
    AddReads(*n, &reads);
    kept.push_back(std::move(*n));
  }
  std::reverse(kept.begin(), kept.end());
  graph->nodes = std::move(kept);
  std::erase_if(graph->initializers,
                [&](const TensorValue& t) { return !reads.contains(t.name); });
}

}  // namespace tenon::onnx
