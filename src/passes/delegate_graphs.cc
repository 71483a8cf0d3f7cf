#include "passes/delegate_graphs.h"

namespace tenon {

std::vector<GraphId> GraphsOfDelegates(const Program& program) {
  std::vector<GraphId> out;
  std::vector<bool> is_found(program.num_graphs(), false);
  const auto add = [&](GraphId g) {
    if (is_found[g.index]) return;
    is_found[g.index] = true;
    out.push_back(g);
  };
  for (const Delegate& d : program.delegates) {
    if (d.source.valid()) add(d.source);
  }
  for (size_t i = 0; i < out.size(); ++i) {
    program.ForEachCaller(
        out[i], [&](NodeId n) { program.ForEachNestedGraph(n, add); });
  }
  return out;
}

}  // namespace tenon
