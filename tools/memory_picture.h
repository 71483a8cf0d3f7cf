// Memory plans of regions as a picture (memory/memory_picture.h).
#pragma once

#include <string>
#include <vector>

#include "profile.h"

namespace tenon::tools {

// Each buffer says which step makes it. Regions without a plan are left out.
std::string MemoryAsSvg(const std::vector<RegionProfile>& regions);

}  // namespace tenon::tools
