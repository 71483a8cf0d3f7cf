#include "lower/live_graphs.h"

namespace tenon::lower {

std::vector<GraphId> LiveGraphs(const Program& program) {
  std::vector<bool> is_seen(program.num_graphs(), false);
  std::vector<GraphId> out = {Program::kRoot};
  is_seen[Program::kRoot.index] = true;
  for (size_t i = 0; i < out.size(); ++i) {
    program.ForEachCaller(out[i], [&](NodeId n) {
      program.ForEachNestedGraph(n, [&](GraphId g) {
        if (is_seen[g.index]) return;
        is_seen[g.index] = true;
        out.push_back(g);
      });
    });
  }
  return out;
}

}  // namespace tenon::lower
