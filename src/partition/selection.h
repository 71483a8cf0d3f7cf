// Which regions a backend keeps of those that it could have.
#pragma once

#include <string>
#include <vector>

#include "partition/board.h"
#include "partition/partition.h"

namespace tenon {

struct DroppedRegion {
  NodeSet nodes;
  Refusal why;
};

// Takes regions that are too small, cost more than they save, or are too many
// out of `regions`.
std::vector<DroppedRegion> DropRegions(const BackendRequest& request,
                                       Board* board,
                                       std::vector<NodeSet>* regions);

}  // namespace tenon
