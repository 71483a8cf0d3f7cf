#include "partition/groups.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "partition/node_list.h"

namespace tenon {
namespace {

// The operator's own name: "quantize_per_tensor" of
// "quantized_decomposed.quantize_per_tensor.default".
std::string_view BaseName(std::string_view op) {
  const size_t begin = op.find('.');
  if (begin == std::string_view::npos) return op;
  const size_t end = op.find('.', begin + 1);
  return op.substr(begin + 1, end - begin - 1);
}

// Whether operators' names begin with a word, asked once per operator.
class OpsByWord {
 public:
  OpsByWord(const Program& program, std::string_view word)
      : begins_(program.context().num_ops()) {
    for (uint32_t op = 0; op < begins_.size(); ++op) {
      begins_[op] =
          BaseName(program.context().op_name(OpId(op))).starts_with(word);
      any_ = any_ || begins_[op];
    }
  }
  bool any() const { return any_; }
  bool Has(const Node& node) const {
    return node.kind == NodeKind::kOp && begins_[node.op.index];
  }

 private:
  std::vector<bool> begins_;
  bool any_ = false;
};

bool IsScalar(const Type& type) {
  return type.is_symbolic_scalar() || type.kind == TypeKind::kInt ||
         type.kind == TypeKind::kFloat || type.kind == TypeKind::kBool;
}

}  // namespace

std::vector<NodeSet> FindQuantisePairs(const Program& program,
                                       const Dependencies& dependencies) {
  std::vector<NodeSet> pairs;
  const OpsByWord quantise(program, "quantize");
  const OpsByWord dequantise(program, "dequantize");
  if (!quantise.any() || !dequantise.any()) return pairs;
  for (uint32_t i = 0; i < dependencies.size(); ++i) {
    const Node& node = program.node(dependencies.nodes()[i]);
    if (!quantise.Has(node)) continue;
    NodeSet pair = {i};
    for (uint32_t r = 0; r < node.results.count; ++r) {
      program.ForEachUse(node.results[r], [&](UseId u) {
        const NodeId user = program.use(u).user;
        const uint32_t at = dependencies.position(user);
        if (at < dependencies.size() && dequantise.Has(program.node(user))) {
          pair.push_back(at);
        }
      });
    }
    if (pair.size() > 1) pairs.push_back(std::move(pair));
  }
  return pairs;
}

Expected<std::vector<NodeSet>> FindNamedGroups(
    const Program& program, const Dependencies& dependencies,
    const std::vector<std::vector<std::string>>& names, Diagnostics& diags) {
  std::vector<NodeSet> sets(names.size());
  if (names.empty()) return sets;
  std::unordered_map<std::string_view, std::vector<uint32_t>> groups_of;
  std::unordered_map<std::string_view, bool> is_borne;
  for (uint32_t g = 0; g < names.size(); ++g) {
    for (const std::string_view name : names[g]) {
      groups_of[name.substr(1)].push_back(g);
    }
  }
  for (uint32_t i = 0; i < dependencies.size(); ++i) {
    ForEachNameOf(program, dependencies.nodes()[i], [&](std::string_view name) {
      const auto it = groups_of.find(name);
      if (it == groups_of.end()) return;
      is_borne[name] = true;
      for (const uint32_t g : it->second) sets[g].push_back(i);
    });
  }
  bool ok = true;
  for (const auto& group : names) {
    for (const std::string_view name : group) {
      if (is_borne[name.substr(1)]) continue;
      diags.Error(Rule::kP3) << "a group names '" << name
                             << "', but no node of the graph is called so";
      ok = false;
    }
  }
  if (!ok) return Failure{};
  return sets;
}

ScalarGroups FindScalarGroups(const Program& program,
                              const Dependencies& dependencies) {
  ScalarGroups out;
  const auto add = [&](ValueId v, uint32_t def) {
    if (!IsScalar(program.type(v))) return;
    NodeSet set;
    bool is_returned = false;
    program.ForEachUse(v, [&](UseId u) {
      const uint32_t user = dependencies.position(program.use(u).user);
      if (user < dependencies.size()) {
        set.push_back(user);
      } else {
        is_returned = true;
      }
    });
    if (def >= dependencies.size()) {
      out.at_the_edge.insert(out.at_the_edge.end(), set.begin(), set.end());
      return;
    }
    if (is_returned) out.at_the_edge.push_back(def);
    if (set.empty()) return;
    set.push_back(def);
    out.groups.push_back(std::move(set));
  };
  for (const ValueId v : program.root().inputs) add(v, dependencies.size());
  for (uint32_t i = 0; i < dependencies.size(); ++i) {
    const ValueRange results = program.node(dependencies.nodes()[i]).results;
    for (uint32_t r = 0; r < results.count; ++r) add(results[r], i);
  }
  return out;
}

}  // namespace tenon
