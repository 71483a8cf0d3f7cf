#include "partition/partition.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "analysis/dependencies.h"
#include "partition/cut.h"
#include "partition/devices.h"
#include "partition/groups.h"
#include "partition/node_list.h"
#include "partition/units.h"

namespace tenon {
namespace {

constexpr uint32_t kNone = 0xFFFFFFFFu;

// What all turns share: the graph, and what was taken of it so far.
struct Board {
  explicit Board(const Program& p)
      : program(p),
        dependencies(p, Program::kRoot),
        devices(p, dependencies),
        units(dependencies),
        bytes(p),
        is_taken(dependencies.size(), false) {}

  NodeId node(uint32_t i) const { return dependencies.nodes()[i]; }
  // "%add_1"
  std::string NameOf(uint32_t i) const {
    std::string text = "%";
    bool is_first = true;
    ForEachNameOf(program, node(i), [&](std::string_view name) {
      if (is_first) text += name;
      is_first = false;
    });
    return text;
  }

  const Program& program;
  const Dependencies dependencies;
  const NodeDevices devices;
  Units units;  // regions that were taken are units
  BoundaryBytes bytes;
  std::vector<bool> is_taken;
  struct Refused {
    uint32_t position;
    const Backend* backend;
    Refusal why;
  };
  std::vector<Refused> refused;
};

// One backend's turn.
class Turn {
 public:
  Turn(const BackendRequest& request, Board* board, Diagnostics& diags)
      : request_(request),
        board_(*board),
        dependencies_(board->dependencies),
        diags_(diags),
        num_refused_before_(board->refused.size()),
        allow_(board->program, dependencies_,
               request.allow ? std::span(*request.allow)
                             : std::span<const std::string>()),
        deny_(board->program, dependencies_, request.deny),
        is_wanted_(dependencies_.size(), false) {}

  // The regions that the backend gets.
  Expected<std::vector<NodeSet>> Run() {
    TENON_TRY(CheckNames());
    for (uint32_t i = 0; i < dependencies_.size(); ++i) {
      if (board_.is_taken[i]) continue;
      if (auto why = WhyNot(i)) {
        Refuse(i, std::move(*why));
      } else {
        is_wanted_[i] = true;
      }
    }
    TENON_TRY(KeepGroupsTogether());
    std::vector<NodeSet> regions = Cut();
    DropSmall(&regions);
    DropCostly(&regions);
    DropSurplus(&regions);
    return regions;
  }

 private:
  Status CheckNames() {
    bool ok = true;
    for (const NodeList* list : {&allow_, &deny_}) {
      for (const std::string_view name : list->unmatched()) {
        diags_.Error(Rule::kP3)
            << "the lists for backend '" << request_.backend->name()
            << "' name '" << name << "', but no node of the graph is called so";
        ok = false;
      }
    }
    if (!ok) return Failure{};
    return {};
  }

  std::optional<Refusal> WhyNot(uint32_t i) {
    const Program& program = board_.program;
    const NodeId n = board_.node(i);
    switch (program.node(n).kind) {
      case NodeKind::kOp:
        break;
      case NodeKind::kGetState:
        return Refusal{RefusalReason::kOperatorUnknown, "a reference to state"};
      case NodeKind::kChildCall:
      case NodeKind::kDelegateCall:
      case NodeKind::kOutput:
        return Refusal{RefusalReason::kOperatorUnknown, "not an operator call"};
    }
    if (deny_.Contains(i) || (request_.allow && !allow_.Contains(i))) {
      return Refusal{RefusalReason::kUserChoice,
                     std::string(program.op_name(n))};
    }
    if (board_.devices.of(i) == NodeDevices::kSeveral) {
      return Refusal{RefusalReason::kLayout,
                     "devices " + board_.devices.Describe(i)};
    }
    if (dependencies_.touches_written_storage(i) &&
        !request_.backend->preserves_aliasing()) {
      return Refusal{RefusalReason::kEffect,
                     "shares storage that is written in place"};
    }
    return request_.backend->Refuses(program, n);
  }

  void Refuse(uint32_t i, Refusal why) {
    is_wanted_[i] = false;
    if (!refusal_of_.empty()) refusal_of_[i] = board_.refused.size();
    board_.refused.push_back({i, request_.backend, std::move(why)});
  }

  // --- groups ---

  Status KeepGroupsTogether() {
    std::vector<NodeSet> groups =
        FindQuantisePairs(board_.program, dependencies_);
    auto named =
        FindNamedGroups(board_.program, dependencies_, request_.groups, diags_);
    if (!named) return Failure{};
    groups.insert(groups.end(), named->begin(), named->end());
    // What isn't a scalar for the backend can't cross its boundary as one.
    if (request_.backend->scalar_boundary() != ScalarBoundary::kScalar) {
      ScalarGroups scalars = FindScalarGroups(board_.program, dependencies_);
      for (const uint32_t i : scalars.at_the_edge) {
        if (!is_wanted_[i]) continue;
        Refuse(i, {RefusalReason::kScalarBoundary,
                   "the program's scalar input or output"});
      }
      exchanges_scalars_.resize(dependencies_.size(), false);
      for (const NodeSet& set : scalars.groups) {
        for (const uint32_t i : set) exchanges_scalars_[i] = true;
      }
      groups.insert(groups.end(), scalars.groups.begin(), scalars.groups.end());
    }
    if (!groups.empty()) Contract(std::move(groups));
    return {};
  }

  // Each group becomes a unit, or its nodes are refused. A group whose nodes
  // have an unwanted one between them, on a path, can't be convex; which those
  // are is known when all groups are contracted.
  void Contract(std::vector<NodeSet> groups) {
    is_grouped_.resize(dependencies_.size(), false);
    for (const NodeSet& group : groups) {
      for (const uint32_t i : group) is_grouped_[i] = true;
    }
    DropSplit(&groups);
    MergeOwn(groups);
    bool all_whole = true;
    for (uint32_t u = 0; u < own_units_->size(); ++u) {
      const auto unit = own_units_->members(u);
      if (unit.size() == 1 || FirstWanted(unit) == unit.end()) continue;
      all_whole = !RefuseUnlessWhole(unit) && all_whole;
    }
    if (all_whole) return;
    DropSplit(&groups);
    own_units_.reset();
    MergeOwn(groups);
  }

  // Starts from the units of the turns before.
  void MergeOwn(const std::vector<NodeSet>& sets) {
    if (!own_units_) own_units_ = board_.units;
    own_units_->Merge(sets);
  }

  std::span<const uint32_t>::iterator FirstWanted(
      std::span<const uint32_t> nodes) const {
    return std::find_if(nodes.begin(), nodes.end(),
                        [&](uint32_t i) { return is_wanted_[i]; });
  }

  void DropSplit(std::vector<NodeSet>* groups) {
    std::erase_if(*groups,
                  [&](const NodeSet& g) { return RefuseUnlessWhole(g); });
  }

  // True when the nodes aren't all wanted, on one device; then those that are
  // in groups are refused.
  bool RefuseUnlessWhole(std::span<const uint32_t> nodes) {
    const auto lead = FirstWanted(nodes);
    if (lead == nodes.end()) return true;
    const auto blocker =
        std::find_if(nodes.begin(), nodes.end(), [&](uint32_t i) {
          return !is_wanted_[i] ||
                 board_.devices.of(i) != board_.devices.of(*lead);
        });
    if (blocker == nodes.end()) return false;
    const Refusal why = WhyWith(*blocker);
    for (const uint32_t i : nodes) {
      if (!is_wanted_[i] || !is_grouped_[i]) continue;
      Refuse(i, exchanges_scalars_.empty() || !exchanges_scalars_[i]
                    ? why
                    : Refusal{RefusalReason::kScalarBoundary,
                              "exchanges scalars with what isn't taken"});
    }
    return true;
  }

  // Why a node that must stay with `blocker` can't be taken.
  Refusal WhyWith(uint32_t blocker) {
    const std::string with = "must stay with " + board_.NameOf(blocker);
    if (board_.is_taken[blocker]) {
      return {RefusalReason::kUserChoice,
              with + ", which a preferred backend takes"};
    }
    if (is_wanted_[blocker]) {
      return {RefusalReason::kLayout, with + ", which is on another device"};
    }
    if (refusal_of_.empty()) {
      refusal_of_.resize(dependencies_.size());
      for (size_t r = num_refused_before_; r < board_.refused.size(); ++r) {
        refusal_of_[board_.refused[r].position] = r;
      }
    }
    const Refusal& why = board_.refused[refusal_of_[blocker]].why;
    return {why.reason, with + (why.detail.empty() ? "" : ": " + why.detail)};
  }

  // --- the cut ---

  const Units& units() const { return own_units_ ? *own_units_ : board_.units; }

  std::vector<NodeSet> Cut() {
    const NodeDevices& devices = board_.devices;
    if (devices.num_devices() < 2) {
      return CutIntoRegions(board_.program, units(), is_wanted_, &board_.bytes);
    }
    std::vector<NodeSet> regions;
    for (uint32_t d = 0; d < devices.num_devices(); ++d) {
      std::vector<bool> is_wanted(dependencies_.size());
      for (uint32_t i = 0; i < is_wanted.size(); ++i) {
        is_wanted[i] = is_wanted_[i] && devices.of(i) == d;
      }
      std::vector<NodeSet> cut =
          CutIntoRegions(board_.program, units(), is_wanted, &board_.bytes);
      MergeOwn(cut);
      std::move(cut.begin(), cut.end(), std::back_inserter(regions));
    }
    return regions;
  }

  // --- which regions stay ---

  void Drop(const NodeSet& region, RefusalReason reason,
            const std::string& detail) {
    for (const uint32_t i : region) Refuse(i, {reason, detail});
  }

  void DropSmall(std::vector<NodeSet>* regions) {
    std::erase_if(*regions, [&](const NodeSet& region) {
      if (region.size() >= request_.min_region_nodes) return false;
      Drop(region, RefusalReason::kRegionTooSmall,
           std::to_string(region.size()) + " nodes");
      return true;
    });
  }

  std::vector<RegionCost> Costs(const std::vector<NodeSet>& regions) {
    return CostOfRegions(board_.program, dependencies_, regions, request_.cost,
                         &board_.bytes);
  }

  void DropCostly(std::vector<NodeSet>* regions) {
    if (!request_.drop_costly) return;
    const std::vector<RegionCost> costs = Costs(*regions);
    std::vector<NodeSet> kept;
    for (size_t r = 0; r < regions->size(); ++r) {
      NodeSet& region = (*regions)[r];
      if (costs[r].gain_ns() >= 0) {
        kept.push_back(std::move(region));
        continue;
      }
      Drop(region, RefusalReason::kRegionTooSmall,
           std::to_string(region.size()) + " nodes save " +
               std::to_string(costs[r].saving_ns) + " ns, the call and " +
               std::to_string(costs[r].boundary_bytes) + " B cost " +
               std::to_string(costs[r].cost_ns) + " ns");
    }
    *regions = std::move(kept);
  }

  void DropSurplus(std::vector<NodeSet>* regions) {
    const uint32_t limit = request_.max_regions;
    if (limit == 0 || regions->size() <= limit) return;
    const std::vector<RegionCost> costs = Costs(*regions);
    std::vector<uint32_t> order(regions->size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return costs[a].gain_ns() > costs[b].gain_ns();
    });
    std::vector<NodeSet> kept;
    for (size_t at = 0; at < order.size(); ++at) {
      NodeSet& region = (*regions)[order[at]];
      if (at < limit) {
        kept.push_back(std::move(region));
      } else {
        Drop(region, RefusalReason::kTooManyRegions,
             std::to_string(region.size()) + " nodes");
      }
    }
    *regions = std::move(kept);
  }

  const BackendRequest& request_;
  Board& board_;
  const Dependencies& dependencies_;
  Diagnostics& diags_;
  const size_t num_refused_before_;
  NodeList allow_, deny_;
  std::vector<bool> is_wanted_;          // by position
  std::vector<bool> is_grouped_;         // by position; empty: no groups
  std::vector<bool> exchanges_scalars_;  // by position; empty: don't matter
  // By position, into the board's list; empty: not needed yet.
  std::vector<size_t> refusal_of_;
  // Those of the board with this turn's groups; none: there are no groups.
  std::optional<Units> own_units_;
};

// Refusals by node, for nodes that no backend took.
std::vector<NodeRefusal> RefusalsOf(Board* board) {
  std::vector<uint32_t> starts(board->is_taken.size() + 1, 0);
  for (const Board::Refused& r : board->refused) {
    if (!board->is_taken[r.position]) ++starts[r.position + 1];
  }
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<NodeRefusal> refusals(starts.back());
  for (Board::Refused& r : board->refused) {
    if (board->is_taken[r.position]) continue;
    refusals[starts[r.position]++] = {board->node(r.position), r.backend,
                                      std::move(r.why)};
  }
  return refusals;
}

// Reports each operator that a backend which must take all left over.
bool TookAll(const BackendRequest& request, const Board& board,
             Diagnostics& diags) {
  std::vector<uint32_t> last_refusal(board.is_taken.size(), kNone);
  for (uint32_t r = 0; r < board.refused.size(); ++r) {
    last_refusal[board.refused[r].position] = r;
  }
  bool ok = true;
  for (uint32_t i = 0; i < board.is_taken.size(); ++i) {
    const NodeId n = board.node(i);
    // A reference to state computes nothing.
    const bool is_state = board.program.node(n).kind == NodeKind::kGetState;
    if (board.is_taken[i] || is_state || last_refusal[i] == kNone) continue;
    ok = false;
    const Refusal& why = board.refused[last_refusal[i]].why;
    diags.Error(Rule::kP3,
                Place::Node(board.program.Describe(Program::kRoot, n)))
        << "backend '" << request.backend->name()
        << "' must take all nodes but refuses this one: " << Name(why.reason)
        << (why.detail.empty() ? "" : ", ") << why.detail;
  }
  return ok;
}

}  // namespace

Expected<PartitionPlan> PlanPartition(const Program& program,
                                      const PartitionOptions& options,
                                      Diagnostics& diags) {
  Board board(program);
  PartitionPlan plan;
  bool ok = true;
  for (const BackendRequest& request : options.backends) {
    auto regions = Turn(request, &board, diags).Run();
    if (!regions) return Failure{};
    if (&request != &options.backends.back()) board.units.Merge(*regions);
    for (const NodeSet& region : *regions) {
      PlannedRegion planned;
      planned.backend = request.backend;
      planned.nodes.reserve(region.size());
      for (const uint32_t i : region) {
        board.is_taken[i] = true;
        planned.nodes.push_back(board.node(i));
      }
      plan.regions.push_back(std::move(planned));
    }
    if (request.must_take_all) ok = TookAll(request, board, diags) && ok;
  }
  if (!ok) return Failure{};
  std::sort(plan.regions.begin(), plan.regions.end(),
            [&](const PlannedRegion& a, const PlannedRegion& b) {
              return board.dependencies.position(a.nodes[0]) <
                     board.dependencies.position(b.nodes[0]);
            });
  plan.refusals = RefusalsOf(&board);
  return plan;
}

}  // namespace tenon
