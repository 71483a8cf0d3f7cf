#include "ir/call_binding.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "support/assert.h"

namespace tenon {
namespace {

std::optional<uint32_t> FindParameter(const Graph& graph, StringId name) {
  for (uint32_t i = 0; i < graph.parameters.size(); ++i) {
    if (graph.parameters[i].name == name) return i;
  }
  return std::nullopt;
}

}  // namespace

CallBinding::CallBinding(const Program& program, NodeId call, GraphId callee) {
  using Kind = BindingFault::Kind;
  const Graph& graph = program.graph(callee);
  const ArgRange range = program.node(call).args;
  args_.resize(graph.inputs.size());
  for (uint32_t i = 0; i < range.count; ++i) {
    const Arg& arg = program.arg(range[i]);
    std::optional<uint32_t> input = i;
    if (arg.pass == PassKind::kKeyword) {
      input = FindParameter(graph, arg.name);
      if (!input) {
        faults_.push_back({Kind::kUnknownParameter, i, 0});
        continue;
      }
    }
    if (*input >= args_.size()) {
      faults_.push_back({Kind::kSurplus, i, 0});
    } else if (args_[*input].valid()) {
      faults_.push_back({Kind::kBoundTwice, i, *input});
    } else {
      args_[*input] = range[i];
    }
  }
  if (!faults_.empty()) return;
  for (uint32_t k = 0; k < args_.size(); ++k) {
    if (args_[k].valid()) continue;
    if (k < graph.parameters.size()) args_[k] = graph.parameters[k].value;
    if (!args_[k].valid()) faults_.push_back({Kind::kNotBound, 0, k});
  }
}

bool IsLiteral(const Program& program, const Arg& arg) {
  if (arg.kind == ArgKind::kValue || arg.kind == ArgKind::kGraph) return false;
  if (!arg.has_items()) return true;
  const auto items = program.args(arg.list);
  return std::all_of(items.begin(), items.end(),
                     [&](const Arg& item) { return IsLiteral(program, item); });
}

std::string Describe(const Program& program, NodeId call, GraphId callee,
                     const BindingFault& fault) {
  const Graph& graph = program.graph(callee);
  const auto input = [&] {
    std::string text = "input " + std::to_string(fault.input);
    if (fault.input < graph.parameters.size()) {
      const StringId name = graph.parameters[fault.input].name;
      text += " ('" + std::string(program.view(name)) + "')";
    }
    return text + " of the child";
  };
  switch (fault.kind) {
    case BindingFault::Kind::kSurplus:
      return "argument " + std::to_string(fault.arg) +
             " is one too many: the child has " +
             std::to_string(graph.inputs.size()) + " inputs";
    case BindingFault::Kind::kUnknownParameter: {
      const StringId name = program.args(call)[fault.arg].name;
      return "the child declares no parameter '" +
             std::string(program.view(name)) + "'";
    }
    case BindingFault::Kind::kBoundTwice:
      return input() + " is bound twice";
    case BindingFault::Kind::kNotBound:
      return input() + " isn't bound";
  }
  TENON_UNREACHABLE("an unknown fault");
}

}  // namespace tenon
