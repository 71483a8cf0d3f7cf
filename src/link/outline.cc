#include "link/outline.h"

#include <algorithm>
#include <queue>

#include "analysis/dependencies.h"

namespace tenon {
namespace {

constexpr uint32_t kNoRegion = 0xFFFFFFFFu;

// Each node and edge is looked at a fixed number of times (P-8), and nothing
// but membership and order changes, so that joining is the inverse (P-7).
class Outliner {
 public:
  Outliner(Program* program, GraphId parent,
           const std::vector<RegionNodes>& regions, Diagnostics& diags)
      : program_(*program),
        parent_(parent),
        regions_(regions),
        diags_(diags),
        dependencies_(*program, parent) {}

  Expected<std::vector<Outlined>> Run() {
    TENON_TRY(AssignRegions());
    TENON_TRY(SortContracted());
    std::vector<Outlined> out;
    Relink();
    for (uint32_t r = 0; r < regions_.size(); ++r) out.push_back(Cut(r));
    return out;
  }

 private:
  Status AssignRegions() {
    region_of_.assign(dependencies_.size(), kNoRegion);
    for (uint32_t r = 0; r < regions_.size(); ++r) {
      for (const NodeId n : regions_[r].nodes) {
        const uint32_t i = n.index < program_.num_nodes()
                               ? dependencies_.position(n)
                               : kNoRegion;
        if (i == kNoRegion) {
          return diags_.Error(Rule::kP1) << "region '" << regions_[r].name
                                         << "' holds a node of another graph";
        }
        if (region_of_[i] != kNoRegion) {
          return diags_.Error(Rule::kP1,
                              Place::Node(program_.Describe(parent_, n)))
                 << "the node is in two regions, '"
                 << regions_[region_of_[i]].name << "' and '"
                 << regions_[r].name << "'";
        }
        region_of_[i] = r;
      }
    }
    return {};
  }

  // The unit that a node belongs to: its region, or itself.
  uint32_t Unit(uint32_t i) const {
    return region_of_[i] == kNoRegion
               ? static_cast<uint32_t>(regions_.size()) + i
               : region_of_[i];
  }

  // Orders units so that each comes after what it needs; ties by the first
  // node's position, so that what may stay stays (P-1).
  Status SortContracted() {
    const uint32_t num_units =
        static_cast<uint32_t>(regions_.size()) + dependencies_.size();
    std::vector<uint32_t> first(num_units, kNoPosition);
    std::vector<uint32_t> missing(num_units, 0);
    std::vector<std::vector<uint32_t>> members(regions_.size());
    std::vector<std::pair<uint32_t, uint32_t>> edges;  // before, after
    uint32_t num_present = 0;
    for (uint32_t i = 0; i < dependencies_.size(); ++i) {
      const uint32_t unit = Unit(i);
      if (first[unit] == kNoPosition) {
        first[unit] = i;
        ++num_present;
      }
      if (region_of_[i] != kNoRegion) members[unit].push_back(i);
      for (const uint32_t* p = dependencies_.begin(i);
           p != dependencies_.end(i); ++p) {
        if (Unit(*p) != unit) edges.emplace_back(Unit(*p), unit);
      }
    }
    std::vector<uint32_t> starts(num_units + 1, 0);
    for (const auto& [before, after] : edges) {
      ++starts[before + 1];
      ++missing[after];
    }
    for (uint32_t u = 0; u < num_units; ++u) starts[u + 1] += starts[u];
    std::vector<uint32_t> targets(edges.size());
    std::vector<uint32_t> fill(starts.begin(), starts.end() - 1);
    for (const auto& [before, after] : edges) targets[fill[before]++] = after;

    using Ready = std::pair<uint32_t, uint32_t>;  // first position, unit
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    for (uint32_t u = 0; u < num_units; ++u) {
      if (first[u] != kNoPosition && missing[u] == 0)
        ready.emplace(first[u], u);
    }
    uint32_t num_done = 0;
    while (!ready.empty()) {
      const uint32_t unit = ready.top().second;
      ready.pop();
      ++num_done;
      missing[unit] = kNoPosition;
      if (unit < regions_.size()) {
        order_.insert(order_.end(), members[unit].begin(), members[unit].end());
      } else {
        order_.push_back(unit - static_cast<uint32_t>(regions_.size()));
      }
      for (uint32_t e = starts[unit]; e < starts[unit + 1]; ++e) {
        if (--missing[targets[e]] == 0) {
          ready.emplace(first[targets[e]], targets[e]);
        }
      }
    }
    if (num_done == num_present) return {};
    for (uint32_t r = 0; r < regions_.size(); ++r) {
      if (first[r] == kNoPosition || missing[r] == kNoPosition) continue;
      return diags_.Error(Rule::kP1,
                          Place::Node(program_.Describe(
                              parent_, dependencies_.nodes()[first[r]])))
             << "region '" << regions_[r].name
             << "' isn't convex: a path leaves it and comes back";
    }
    TENON_UNREACHABLE("the nodes of a graph are in topological order");
  }

  void Relink() {
    new_position_.assign(program_.num_nodes(), kNoPosition);
    uint32_t next = 0;
    const std::vector<NodeId>& nodes = dependencies_.nodes();
    for (const NodeId n : nodes) program_.Unlink(parent_, n);
    for (const uint32_t i : order_) {
      program_.Append(parent_, nodes[i]);
      new_position_[nodes[i].index] = next++;
    }
  }

  // Where a value is defined: graph inputs first, then by node and result.
  std::pair<uint64_t, uint32_t> DefinitionKey(ValueId v) const {
    const Value& value = program_.value(v);
    if (value.is_input()) return {0, value.index};
    return {uint64_t{1} + new_position_[value.def.index], value.index};
  }

  bool IsInside(NodeId n, uint32_t r) const {
    const uint32_t i = dependencies_.position(n);
    return i != kNoRegion && region_of_[i] == r;
  }

  Outlined Cut(uint32_t r) {
    Outlined out;
    std::vector<NodeId> nodes = regions_[r].nodes;
    std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
      return new_position_[a.index] < new_position_[b.index];
    });
    out.region = RegionId(program_.regions.size());
    program_.regions.push_back(
        {program_.context().Intern(regions_[r].name),
         program_.context().Intern(regions_[r].backend)});
    out.child = program_.AddGraph(regions_[r].name);
    out.call = program_.NewNode(NodeKind::kChildCall);
    program_.mutable_node(out.call).name =
        program_.context().Intern(regions_[r].name);
    program_.mutable_node(out.call).child = out.child;
    program_.mutable_node(out.call).region = out.region;
    new_position_.resize(program_.num_nodes(), kNoPosition);
    if (!nodes.empty()) {
      const NodeId anchor = nodes.back();
      program_.InsertBefore(parent_, anchor, out.call);
      new_position_[out.call.index] = new_position_[anchor.index];
    } else {
      program_.Append(parent_, out.call);
    }
    MoveNodes(r, nodes, out);
    return out;
  }

  void MoveNodes(uint32_t r, const std::vector<NodeId>& nodes,
                 const Outlined& out) {
    std::vector<ValueId> inputs, outputs;
    std::vector<std::pair<UseId, ValueId>> crossing;
    for (const NodeId n : nodes) {
      program_.ForEachArg(program_.node(n).args, [&](const Arg& a, ArgId) {
        if (!a.is_value()) return;
        const NodeId def = program_.value(a.v.value).def;
        if (def.valid() && IsDefinedInside(def, r)) return;
        inputs.push_back(a.v.value);
        crossing.emplace_back(a.v.use, a.v.value);
      });
      const ValueRange results = program_.node(n).results;
      for (uint32_t i = 0; i < results.count; ++i) {
        bool used_outside = false;
        program_.ForEachUse(results[i], [&](UseId u) {
          used_outside =
              used_outside || !IsDefinedInside(program_.use(u).user, r);
        });
        if (used_outside) outputs.push_back(results[i]);
      }
    }
    std::sort(inputs.begin(), inputs.end(), [&](ValueId a, ValueId b) {
      return DefinitionKey(a) < DefinitionKey(b);
    });
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());

    const ArgRange args =
        program_.NewArgs(static_cast<uint32_t>(inputs.size()));
    program_.SetArgRange(out.call, args);
    child_input_.resize(program_.num_values());
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      const Value value = program_.value(inputs[i]);
      program_.SetArgLabel(args[i], StringId(), PassKind::kPositional);
      program_.SetValueArg(args[i], out.call, inputs[i]);
      child_input_[inputs[i].index] =
          program_.AddInput(out.child, value.type, value.name);
    }
    for (const auto& [use, value] : crossing) {
      program_.ReplaceUse(use, child_input_[value.index]);
    }
    for (const NodeId n : nodes) {
      program_.Unlink(parent_, n);
      program_.Append(out.child, n);
      program_.mutable_node(n).region = out.region;
    }
    const uint32_t num_outputs = static_cast<uint32_t>(outputs.size());
    const ValueRange results = program_.NewResults(out.call, num_outputs);
    const ArgRange returned = program_.NewArgs(num_outputs);
    for (uint32_t i = 0; i < num_outputs; ++i) {
      const Value value = program_.value(outputs[i]);
      program_.mutable_value(results[i]).type = value.type;
      program_.mutable_value(results[i]).name = value.name;
      program_.ForEachUse(outputs[i], [&](UseId u) {
        if (!IsDefinedInside(program_.use(u).user, r)) {
          program_.ReplaceUse(u, results[i]);
        }
      });
      program_.SetValueArg(returned[i], program_.graph(out.child).output,
                           outputs[i]);
    }
    program_.SetOutputs(out.child, returned);
  }

  bool IsDefinedInside(NodeId n, uint32_t r) const {
    // Calls made meanwhile are no nodes of the original graph.
    return n.index < dependencies_.num_known_nodes() && IsInside(n, r);
  }

  Program& program_;
  GraphId parent_;
  const std::vector<RegionNodes>& regions_;
  Diagnostics& diags_;
  Dependencies dependencies_;
  std::vector<uint32_t> region_of_;     // by position
  std::vector<uint32_t> order_;         // new order, as old positions
  std::vector<uint32_t> new_position_;  // by node index
  std::vector<ValueId> child_input_;    // by value index, of the last region
};

}  // namespace

Expected<std::vector<Outlined>> OutlineRegions(
    Program* program, GraphId parent, const std::vector<RegionNodes>& regions,
    Diagnostics& diags) {
  return Outliner(program, parent, regions, diags).Run();
}

std::vector<uint32_t> NodePositions(const Program& program, GraphId graph) {
  std::vector<uint32_t> positions(program.num_nodes(), kNoPosition);
  uint32_t next = 0;
  for (const NodeId n : program.nodes(graph)) positions[n.index] = next++;
  return positions;
}

void RestoreOrder(Program* program, GraphId graph,
                  const std::vector<uint32_t>& positions) {
  const NodeId output = program->graph(graph).output;
  std::vector<NodeId> nodes;
  for (const NodeId n : program->nodes(graph)) {
    if (n != output) nodes.push_back(n);
  }
  std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
    return positions[a.index] < positions[b.index];
  });
  for (const NodeId n : nodes) program->Unlink(graph, n);
  for (const NodeId n : nodes) program->Append(graph, n);
}

}  // namespace tenon
