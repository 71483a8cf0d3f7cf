// Positions of nodes in their graphs.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"

namespace tenon {

// Dense positions of one graph's nodes, in list order, which is a topological
// order; the output node is last. Holds for the graph as it was.
class NodeOrder {
 public:
  static constexpr uint32_t kNoPosition = 0xFFFFFFFFu;

  NodeOrder(const Program& program, GraphId graph);

  size_t size() const { return nodes_.size(); }
  NodeId at(uint32_t position) const { return nodes_[position]; }
  // kNoPosition for nodes of other graphs.
  uint32_t position(NodeId n) const {
    return n.index < positions_.size() ? positions_[n.index] : kNoPosition;
  }
  bool contains(NodeId n) const { return position(n) != kNoPosition; }
  // Whether `a` stands before `b`; both are nodes of the graph.
  bool Before(NodeId a, NodeId b) const { return position(a) < position(b); }

 private:
  std::vector<NodeId> nodes_;
  std::vector<uint32_t> positions_;  // by node
};

}  // namespace tenon
