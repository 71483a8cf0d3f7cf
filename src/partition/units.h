// The nodes of a graph with some of them contracted: what stands or falls
// together is one unit.
//
// Contracting {a, c} on a path a -> b -> c leaves a cycle through b, and no
// convex region holds a and c without b. So Merge takes b along: a unit is a
// strongly connected component of the contracted graph (Tarjan, over
// predecessors, so components come out in topological order).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/dependencies.h"

namespace tenon {

// Positions of nodes, ascending.
using NodeSet = std::vector<uint32_t>;

class Units {
 public:
  // Every node by itself. `dependencies` must outlive the units.
  explicit Units(const Dependencies& dependencies);

  // Makes one unit of the units of each set's nodes, together with whatever
  // lies on a path between them. Sets may overlap: then they become one.
  // Linear in nodes plus edges, however many sets there are.
  void Merge(std::span<const NodeSet> sets);

  // Units are numbered in topological order.
  uint32_t size() const { return static_cast<uint32_t>(starts_.size() - 1); }
  uint32_t of(uint32_t position) const { return unit_of_[position]; }
  std::span<const uint32_t> members(uint32_t unit) const {
    return {members_.data() + starts_[unit],
            members_.data() + starts_[unit + 1]};
  }
  // Whether units are nodes and have their numbers: nothing was merged yet.
  bool is_identity() const { return is_identity_; }

  const Dependencies& dependencies() const { return *dependencies_; }

 private:
  const Dependencies* dependencies_;
  bool is_identity_ = true;
  std::vector<uint32_t> unit_of_;  // by position
  std::vector<uint32_t> members_;  // positions, unit after unit, ascending
  std::vector<uint32_t> starts_;   // by unit, and one more
};

}  // namespace tenon
