#include "partition/partition.h"

#include <numeric>
#include <utility>

#include "partition/board.h"
#include "partition/turn.h"

namespace tenon {
namespace {

constexpr uint32_t kNone = 0xFFFFFFFFu;

PlannedRegion Take(const NodeSet& region, const Backend* backend,
                   Board* board) {
  PlannedRegion planned;
  planned.backend = backend;
  planned.nodes.reserve(region.size());
  for (const uint32_t i : region) {
    board->is_taken[i] = true;
    planned.nodes.push_back(board->node(i));
  }
  return planned;
}

std::vector<PlannedRegion> ByFirstNode(std::vector<PlannedRegion> regions,
                                       const Board& board) {
  std::vector<uint32_t> region_at(board.is_taken.size(), kNone);
  for (uint32_t r = 0; r < regions.size(); ++r) {
    region_at[board.dependencies.position(regions[r].nodes[0])] = r;
  }
  std::vector<PlannedRegion> sorted;
  sorted.reserve(regions.size());
  for (const uint32_t r : region_at) {
    if (r != kNone) sorted.push_back(std::move(regions[r]));
  }
  return sorted;
}

// By node, of nodes that no backend took.
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
    if (board.is_taken[i] || is_state) continue;
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
    TENON_ASSIGN(const std::vector<NodeSet> regions,
                 Turn(request, &board, diags).Run());
    for (const NodeSet& region : regions) {
      plan.regions.push_back(Take(region, request.backend, &board));
    }
    if (request.must_take_all) ok = TookAll(request, board, diags) && ok;
    // For the next one, a region is a node.
    if (&request != &options.backends.back()) board.units.Merge(regions);
  }
  if (!ok) return Failure{};
  plan.regions = ByFirstNode(std::move(plan.regions), board);
  plan.refusals = RefusalsOf(&board);
  return plan;
}

bool TakesWhole(const Program& region, const BackendRequest& request) {
  Board board(region);
  Diagnostics unused;
  return Turn(request, &board, unused).TakesWhole();
}

}  // namespace tenon
