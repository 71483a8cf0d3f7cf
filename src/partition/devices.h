// On which device each node computes: regions never mix devices.
//
// A backend that gets nodes of two devices in one region would have to move
// tensors that the program didn't move. So a cut is made per device, and what
// has tensors of several devices (a copy from one to the other) is in none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/dependencies.h"
#include "ir/program.h"

namespace tenon {

class NodeDevices {
 public:
  static constexpr uint32_t kSeveral = 0xFFFFFFFFu;

  NodeDevices(const Program& program, const Dependencies& dependencies);

  uint32_t num_devices() const {
    return static_cast<uint32_t>(devices_.size());
  }
  // Below num_devices(), or kSeveral. Nodes without tensors (sizes) are where
  // the node is that they read or that reads them.
  uint32_t of(uint32_t position) const {
    return of_.empty() ? 0 : of_[position];
  }
  // "cpu and cuda:0", for a node on several.
  std::string Describe(uint32_t position) const;

 private:
  static constexpr uint32_t kUnknown = 0xFFFFFFFEu;

  void FindDevices();
  // Adds a device to those of a node so far.
  static uint32_t Join(uint32_t a, uint32_t b);
  uint32_t OfValue(ValueId v) const;
  uint32_t OfNode(NodeId n, uint32_t depth);
  uint32_t OfGraph(GraphId g, uint32_t depth);
  void SpreadToNeighbours();

  const Program& program_;
  const Dependencies& dependencies_;
  std::vector<Device> devices_;
  std::vector<uint32_t> by_type_;
  std::vector<uint32_t> by_graph_;  // of nested graphs, as far as asked
  // By position; empty when there is one device at most.
  std::vector<uint32_t> of_;
};

}  // namespace tenon
