#include "analysis/wiring_schemas.h"

#include <algorithm>
#include <string_view>

namespace tenon {
namespace {

bool SharesLetter(std::string_view a, std::string_view b) {
  return std::any_of(a.begin(), a.end(), [&](char c) {
    return c == '*' || b.find(c) != std::string_view::npos;
  });
}

// The storage class of the value passed as schema argument `i`.
AliasId ArgAlias(const Program& program, const Node& node,
                 const OpSchema& schema, size_t i, const WiringValues& values) {
  for (const Arg& arg : program.args(node.args)) {
    if (program.view(arg.name) != schema.args[i].name) continue;
    if (arg.is_value()) return values.alias(arg.v.value);
    if (arg.kind == ArgKind::kList && arg.list.count > 0) {
      const Arg& first = program.arg(arg.list[0]);
      if (first.is_value()) return values.alias(first.v.value);
    }
  }
  return kNoAlias;
}

}  // namespace

uint8_t OperatorTraits::Find(OpId id) const {
  const OpInfo& op = context_.op(id);
  const std::string_view name = context_.view(op.name);
  uint8_t found = kKnown;
  if (op.schema == nullptr) return found;
  const bool mutates = op.schema->is_mutating();
  // Norms write running statistics that their schemas don't declare.
  if (!mutates && !op.schema->nondeterministic && !op.schema->returns.empty() &&
      name.find("_norm.") == std::string_view::npos &&
      name.find("assert") == std::string_view::npos) {
    found |= kPure;
  }
  if (mutates) found |= kMutates | kAliases;
  if (op.schema->is_view()) found |= kAliases;
  return found;
}

std::vector<AliasId> ResultAliases(const Program& program, const Node& node,
                                   const OpSchema& schema,
                                   const WiringValues& values) {
  std::vector<AliasId> out(node.results.count, kNoAlias);
  for (uint32_t r = 0; r < node.results.count; ++r) {
    // A list result stands for all of its elements.
    const size_t k = std::min<size_t>(r, schema.returns.size() - 1);
    if (schema.returns.empty() || schema.returns[k].alias_set.empty()) {
      continue;
    }
    for (size_t i = 0; i < schema.args.size(); ++i) {
      if (SharesLetter(schema.args[i].alias_set, schema.returns[k].alias_set)) {
        out[r] = ArgAlias(program, node, schema, i, values);
        break;
      }
    }
  }
  return out;
}

void KeepBases(const Program& program, const Node& node, const OpSchema& schema,
               WiringValues* values) {
  const size_t count =
      std::min<size_t>(node.results.count, schema.returns.size());
  for (size_t r = 0; r < count; ++r) {
    if (!schema.returns[r].is_written) continue;
    for (size_t i = 0; i < schema.args.size(); ++i) {
      if (schema.args[i].alias_set != schema.returns[r].alias_set) continue;
      for (const Arg& arg : program.args(node.args)) {
        if (arg.is_value() && program.view(arg.name) == schema.args[i].name) {
          values->KeepBase(node.results[static_cast<uint32_t>(r)], arg.v.value);
        }
      }
    }
  }
}

}  // namespace tenon
