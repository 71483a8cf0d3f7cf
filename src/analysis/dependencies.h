// What a node must come after: its operands' definitions, and nodes whose
// effects are ordered before its own (rules J-6, M-1).
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"

namespace tenon {

// Predecessors of the nodes of one graph, as positions in its node list. The
// output node is not part of it.
class Dependencies {
 public:
  Dependencies(const Program& program, GraphId graph);

  const std::vector<NodeId>& nodes() const { return nodes_; }
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  // Nodes from this index on were made later: they have no position.
  uint32_t num_known_nodes() const {
    return static_cast<uint32_t>(positions_.size());
  }
  // Position of a node of this graph; UINT32_MAX for others.
  uint32_t position(NodeId n) const { return positions_[n.index]; }
  // Positions of the predecessors of the node at `i`; may repeat.
  const uint32_t* begin(uint32_t i) const { return edges_.data() + starts_[i]; }
  const uint32_t* end(uint32_t i) const {
    return edges_.data() + starts_[i + 1];
  }
  // Whether some node of the graph writes storage that the node at `i` reads,
  // writes or gives a view of.
  bool touches_written_storage(uint32_t i) const { return touches_written_[i]; }

 private:
  std::vector<NodeId> nodes_;
  std::vector<uint32_t> positions_;  // by node index
  std::vector<uint32_t> edges_;
  std::vector<uint32_t> starts_;
  std::vector<bool> touches_written_;
};

}  // namespace tenon
