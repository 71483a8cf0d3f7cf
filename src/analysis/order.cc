#include "analysis/order.h"

namespace tenon {

NodeOrder::NodeOrder(const Program& program, GraphId graph)
    : positions_(program.num_nodes(), kNoPosition) {
  for (const NodeId n : program.nodes(graph)) {
    positions_[n.index] = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back(n);
  }
}

}  // namespace tenon
