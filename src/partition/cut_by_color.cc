#include "analysis/dependencies.h"
#include "partition/cut.h"
#include "partition/partition.h"

namespace tenon {

std::vector<ColoredRegion> CutByColor(const Program& program, GraphId graph,
                                      const std::vector<uint32_t>& color,
                                      uint32_t num_colors) {
  const Dependencies dependencies(program, graph);
  Units units(dependencies);
  std::vector<ColoredRegion> out;
  for (uint32_t c = 0; c < num_colors; ++c) {
    std::vector<bool> wanted(dependencies.size(), false);
    for (uint32_t i = 0; i < wanted.size(); ++i) wanted[i] = color[i] == c;
    const auto regions = CutIntoRegions(program, units, wanted, nullptr);
    for (const NodeSet& region : regions) {
      ColoredRegion colored;
      colored.color = c;
      colored.nodes.reserve(region.size());
      for (const uint32_t i : region) {
        colored.nodes.push_back(dependencies.nodes()[i]);
      }
      out.push_back(std::move(colored));
    }
    if (c + 1 < num_colors) units.Merge(regions);
  }
  return out;
}

}  // namespace tenon
