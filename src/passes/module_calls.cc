#include "passes/module_calls.h"

#include <utility>

namespace tenon {

void UpdateModuleCalls(const std::vector<ValueId>& now, Program* program,
                       std::vector<std::string>* notes) {
  for (ModuleCall& call : program->module_calls) {
    bool is_whole = true;
    for (auto* list : {&call.inputs, &call.outputs}) {
      for (ModuleCall::Argument& arg : *list) {
        if (!arg.value.valid() || arg.value.index >= now.size()) continue;
        arg.value = now[arg.value.index];
        is_whole = is_whole && arg.value.valid();
      }
    }
    if (is_whole) continue;
    notes->push_back("the recorded signature of submodule '" +
                     std::string(program->view(call.fqn)) +
                     "' was left out: it names values that are gone");
    ModuleCall bare;
    bare.fqn = call.fqn;
    call = std::move(bare);
  }
}

std::vector<ValueId> LiveValues(const Program& program) {
  std::vector<ValueId> now(program.num_values());
  for (uint32_t g = 0; g < program.num_graphs(); ++g) {
    const Graph& graph = program.graph(GraphId(g));
    if (graph.is_erased) continue;
    for (const ValueId v : graph.inputs) now[v.index] = v;
    for (const NodeId n : program.nodes(GraphId(g))) {
      const ValueRange results = program.node(n).results;
      for (uint32_t i = 0; i < results.count; ++i) {
        now[results[i].index] = results[i];
      }
    }
  }
  return now;
}

}  // namespace tenon
