// The cut behind PlanPartition, for one backend: levels.
//
// A unit's level is the number of regions that a path to it has to cross. It
// rises only where a path comes back from an unwanted node, and a region is all
// wanted units of one level: convex, and as few as the longest alternation of
// wanted and unwanted nodes on a path, which no convex cut can undercut.
//
//   a -> b -> (c) -> d      (c) is unwanted; e may go with {a, b} or with {d}
//   e -------------> d
//
// Many cuts are that small, since what lies off the longest paths has a choice.
// Levels come out as low as they can be; then, from the last unit to the first,
// a node goes up as far as its users let it when no more bytes cross boundaries
// that way (P-6). Constants always go to where they are used, and so do views
// that aren't smaller than what they view (P-5).
#pragma once

#include <vector>

#include "partition/boundary_bytes.h"
#include "partition/units.h"

namespace tenon {

// The regions over the wanted nodes (by position), by level. The members of a
// unit must be wanted all or none. Without `bytes` levels stay at their lowest.
// Linear in nodes plus edges.
std::vector<NodeSet> CutIntoRegions(const Program& program, const Units& units,
                                    const std::vector<bool>& wanted,
                                    BoundaryBytes* bytes);

}  // namespace tenon
