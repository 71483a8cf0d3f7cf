// Memory plans as a picture: steps from left to right, the arena from bottom to
// top, one rectangle per buffer. Regions stand side by side.
#pragma once

#include <string>
#include <vector>

#include "profile.h"

namespace tenon::tools {

// SVG, without scripts or anything from outside; rectangles say on hovering
// what they are. Regions without a plan are left out.
std::string MemoryAsSvg(const std::vector<RegionProfile>& regions);

}  // namespace tenon::tools
