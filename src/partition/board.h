// What all backends' turns share: the graph, and what was taken of it so far.
#pragma once

#include <string>
#include <vector>

#include "analysis/dependencies.h"
#include "backends/backend.h"
#include "ir/program.h"
#include "partition/boundary_bytes.h"
#include "partition/devices.h"
#include "partition/units.h"

namespace tenon {

// Nodes go by their position in the root graph.
struct Board {
  // The program must outlive the board and stay as it is.
  explicit Board(const Program& p)
      : program(p),
        dependencies(p, Program::kRoot),
        devices(p, dependencies),
        units(dependencies),
        bytes(p),
        is_taken(dependencies.size(), false) {}

  NodeId node(uint32_t i) const { return dependencies.nodes()[i]; }

  const Program& program;
  const Dependencies dependencies;
  const NodeDevices devices;
  Units units;  // regions that were taken are units
  BoundaryBytes bytes;
  std::vector<bool> is_taken;

  // In the order in which backends refused.
  struct Refused {
    uint32_t position;
    const Backend* backend;
    Refusal why;
  };
  std::vector<Refused> refused;
};

}  // namespace tenon
