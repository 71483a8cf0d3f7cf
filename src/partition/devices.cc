#include "partition/devices.h"

#include <algorithm>

namespace tenon {
namespace {

// Deeper nesting than this isn't looked into.
constexpr uint32_t kMaxDepth = 64;

// The cut is made once per device. No machine has more; what a program says
// lies on further ones stays in the graph.
constexpr size_t kMaxDevices = 64;

constexpr uint32_t kNotAsked = 0xFFFFFFFDu;

}  // namespace

NodeDevices::NodeDevices(const Program& program,
                         const Dependencies& dependencies)
    : program_(program), dependencies_(dependencies) {
  FindDevices();
  // Types of all programs that share the context; nearly always one device.
  if (devices_.size() < 2) return;
  by_graph_.assign(program.num_graphs(), kNotAsked);
  of_.reserve(dependencies.size());
  for (const NodeId n : dependencies.nodes()) of_.push_back(OfNode(n, 0));
  SpreadToNeighbours();
}

void NodeDevices::FindDevices() {
  const TypePool& types = program_.context().types;
  by_type_.assign(types.size(), kUnknown);
  for (uint32_t t = 0; t < types.size(); ++t) {
    const Type& type = types.get(TypeId(t));
    if (!type.is_tensor()) continue;
    const auto it = std::find(devices_.begin(), devices_.end(), type.device);
    by_type_[t] = static_cast<uint32_t>(it - devices_.begin());
    if (it != devices_.end()) continue;
    if (devices_.size() < kMaxDevices) {
      devices_.push_back(type.device);
    } else {
      by_type_[t] = kSeveral;
    }
  }
}

uint32_t NodeDevices::Join(uint32_t a, uint32_t b) {
  if (a == kUnknown || a == b) return b;
  return b == kUnknown ? a : kSeveral;
}

uint32_t NodeDevices::OfValue(ValueId v) const {
  const TypeId type = program_.value(v).type;
  return type.index < by_type_.size() ? by_type_[type.index] : kUnknown;
}

uint32_t NodeDevices::OfNode(NodeId n, uint32_t depth) {
  uint32_t device = kUnknown;
  program_.ForEachOperand(
      n, [&](ValueId v) { device = Join(device, OfValue(v)); });
  const ValueRange results = program_.node(n).results;
  for (uint32_t i = 0; i < results.count; ++i) {
    device = Join(device, OfValue(results[i]));
  }
  program_.ForEachNestedGraph(
      n, [&](GraphId g) { device = Join(device, OfGraph(g, depth + 1)); });
  return device;
}

uint32_t NodeDevices::OfGraph(GraphId g, uint32_t depth) {
  if (depth > kMaxDepth || g.index >= by_graph_.size()) return kSeveral;
  if (by_graph_[g.index] != kNotAsked) return by_graph_[g.index];
  by_graph_[g.index] = kSeveral;  // the answer to a graph that holds itself
  uint32_t device = kUnknown;
  for (const NodeId n : program_.nodes(g)) {
    device = Join(device, OfNode(n, depth));
  }
  by_graph_[g.index] = device;
  return device;
}

// Sizes are computed where their tensor lies, or else where they are used.
void NodeDevices::SpreadToNeighbours() {
  const auto is_known = [&](uint32_t i) {
    return of_[i] != kUnknown && of_[i] != kSeveral;
  };
  for (uint32_t i = 0; i < of_.size(); ++i) {
    if (of_[i] != kUnknown) continue;
    const auto* const it =
        std::find_if(dependencies_.begin(i), dependencies_.end(i), is_known);
    if (it != dependencies_.end(i)) of_[i] = of_[*it];
  }
  for (uint32_t i = static_cast<uint32_t>(of_.size()); i-- > 0;) {
    if (!is_known(i)) continue;
    std::for_each(dependencies_.begin(i), dependencies_.end(i),
                  [&](uint32_t before) {
                    if (of_[before] == kUnknown) of_[before] = of_[i];
                  });
  }
  std::replace(of_.begin(), of_.end(), kUnknown, 0u);
}

std::string NodeDevices::Describe(uint32_t position) const {
  std::vector<uint32_t> seen;
  std::string text;
  const auto add = [&](ValueId v) {
    const uint32_t d = OfValue(v);
    if (d >= devices_.size() ||
        std::find(seen.begin(), seen.end(), d) != seen.end()) {
      return;
    }
    seen.push_back(d);
    if (!text.empty()) text += " and ";
    text += program_.view(devices_[d].type);
    if (devices_[d].index >= 0) text += ":" + std::to_string(devices_[d].index);
  };
  const NodeId n = dependencies_.nodes()[position];
  program_.ForEachOperand(n, add);
  const ValueRange results = program_.node(n).results;
  for (uint32_t i = 0; i < results.count; ++i) add(results[i]);
  return seen.size() < 2 ? "several" : text;
}

}  // namespace tenon
