#include "export/report.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/effects.h"
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

// --- boundaries ---

namespace {

int64_t BytesAtMost(const Program& program, const Type& type) {
  if (!type.is_tensor()) return 8;
  const auto upper_bounds = [&](ExprId symbol) -> std::optional<int64_t> {
    for (const SymbolRange& range : program.ranges) {
      if (range.expr == symbol) return range.max;
    }
    return std::nullopt;
  };
  int64_t bytes = static_cast<int64_t>(SizeBytes(type.dtype));
  for (const SymInt& s : type.sizes) {
    int64_t size = s.value;
    if (!s.is_literal()) {
      const auto bound =
          program.context().exprs.EvaluateInt(s.expr, upper_bounds);
      if (!bound) return -1;
      size = *bound;
    }
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) return -1;
  }
  return bytes;
}

std::string OwnerOf(const Program& program, NodeId n) {
  if (!n.valid()) return "graph";
  const Node& node = program.node(n);
  if (node.kind != NodeKind::kDelegateCall) return "graph";
  if (node.region.valid()) {
    return std::string(program.view(program.regions[node.region.index].name));
  }
  return std::string(program.view(program.delegates[node.delegate.index].name));
}

std::string TargetOf(const Program& program, StateId state, uint32_t input) {
  return state.valid() ? std::string(program.view(program.state.get(state).fqn))
                       : "input " + std::to_string(input);
}

// `specs` are those of the mutations that are in `out` already.
void DescribeInPlaceWrites(const Program& program,
                           const std::vector<OutputSpec>& specs,
                           std::vector<MutationReport>* out) {
  const auto& inputs = program.root().inputs;
  std::vector<std::pair<NodeId, ValueId>> writes;
  EffectAnalysis effects(program);
  for (const NodeId n : program.nodes(Program::kRoot)) {
    for (const ValueId v : effects.Of(n).writes) writes.emplace_back(n, v);
  }
  if (writes.empty()) return;
  const AliasClasses classes(program, Program::kRoot);
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    for (const auto& [node, value] : writes) {
      if (classes.class_of(value) != classes.class_of(inputs[i]) ||
          !program.type(inputs[i]).is_tensor()) {
        continue;
      }
      const StateId state = program.signature.inputs[i].state;
      const auto known =
          std::find_if(specs.begin(), specs.end(), [&](const OutputSpec& spec) {
            return state.valid() ? spec.state == state
                                 : !spec.state.valid() && spec.input == i;
          });
      if (known == specs.end()) {
        out->push_back({TargetOf(program, state, i), "in place",
                        OwnerOf(program, node), true});
      } else {
        (*out)[static_cast<size_t>(known - specs.begin())].in_place = true;
      }
      break;
    }
  }
}

}  // namespace

BoundaryValue DescribeBoundary(const Program& program, ValueId v) {
  BoundaryValue out;
  const Value& value = program.value(v);
  out.name = std::string(program.view(value.name));
  out.type = PrintType(program, value.type);
  out.bytes = BytesAtMost(program, program.type(value.type));
  out.is_state = value.is_input() &&
                 value.index < program.signature.inputs.size() &&
                 program.signature.inputs[value.index].state.valid();
  return out;
}

std::vector<MutationReport> DescribeMutations(const Program& program) {
  std::vector<MutationReport> out;
  std::vector<OutputSpec> specs;
  const auto outputs = program.outputs(Program::kRoot);
  for (size_t i = 0; i < program.signature.outputs.size(); ++i) {
    const OutputSpec& spec = program.signature.outputs[i];
    const bool is_mutation = spec.kind == OutputKind::kBufferMutation ||
                             spec.kind == OutputKind::kParameterMutation ||
                             spec.kind == OutputKind::kUserInputMutation;
    if (!is_mutation || i >= outputs.size()) continue;
    const ValueId v = outputs[i].value();
    specs.push_back(spec);
    out.push_back(
        {TargetOf(program, spec.state, spec.input),
         std::string(Name(spec.kind)),
         OwnerOf(program, v.valid() ? program.value(v).def : NodeId()), false});
  }
  DescribeInPlaceWrites(program, specs, &out);
  return out;
}

}  // namespace tenon
