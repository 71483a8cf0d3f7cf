#include "export/report.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "partition/partition.h"
#include "text/text.h"

namespace tenon {

std::vector<std::string> DescribeSignature(const Program& program) {
  std::vector<std::string> lines;
  const auto& inputs = program.root().inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputSpec spec = i < program.signature.inputs.size()
                               ? program.signature.inputs[i]
                               : InputSpec();
    std::string line = "in " + std::string(Name(spec.kind));
    if (spec.state.valid()) {
      const StateEntry& entry = program.state.get(spec.state);
      line += " ";
      line += program.view(entry.fqn);
      if (entry.kind == StateKind::kNonPersistentBuffer) {
        line += " (not persistent)";
      }
    }
    lines.push_back(line + ": " +
                    PrintType(program, program.value(inputs[i]).type));
  }
  const auto outputs = program.outputs(Program::kRoot);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputSpec spec = i < program.signature.outputs.size()
                                ? program.signature.outputs[i]
                                : OutputSpec();
    std::string line = "out " + std::string(Name(spec.kind));
    if (spec.state.valid()) {
      line += " ";
      line += program.view(program.state.get(spec.state).fqn);
    } else if (spec.input != OutputSpec::kNoInput) {
      line += " input " + std::to_string(spec.input);
    }
    lines.push_back(
        line + ": " +
        (outputs[i].is_value()
             ? PrintType(program, program.value(outputs[i].v.value).type)
             : "literal"));
  }
  return lines;
}

std::vector<RefusalGroup> GroupRefusals(const Program& program,
                                        const PartitionPlan& plan) {
  using Key = std::tuple<std::string_view, RefusalReason, std::string>;
  std::map<Key, size_t> index;
  std::vector<RefusalGroup> groups;
  for (const NodeRefusal& r : plan.refusals) {
    const Key key(r.backend->name(), r.refusal.reason, r.refusal.detail);
    const auto [it, added] = index.try_emplace(key, groups.size());
    if (added) {
      groups.push_back({std::string(r.backend->name()),
                        std::string(Name(r.refusal.reason)),
                        r.refusal.detail,
                        {}});
    }
    groups[it->second].nodes.push_back(
        program.Describe(Program::kRoot, r.node));
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const RefusalGroup& a, const RefusalGroup& b) {
                     return a.nodes.size() > b.nodes.size();
                   });
  return groups;
}

}  // namespace tenon
