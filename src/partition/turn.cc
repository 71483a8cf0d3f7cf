#include "partition/turn.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "partition/cut.h"
#include "partition/groups.h"
#include "partition/selection.h"

namespace tenon {

Turn::Turn(const BackendRequest& request, Board* board, Diagnostics& diags)
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

Expected<std::vector<NodeSet>> Turn::Run() {
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
  for (const DroppedRegion& region : DropRegions(request_, &board_, &regions)) {
    for (const uint32_t i : region.nodes) Refuse(i, region.why);
  }
  return regions;
}

bool Turn::TakesWhole() {
  for (uint32_t i = 0; i < dependencies_.size(); ++i) {
    if (WhyNot(i) || board_.devices.of(i) != board_.devices.of(0)) return false;
  }
  return request_.backend->scalar_boundary() != ScalarBoundary::kNone ||
         FindScalarGroups(board_.program, dependencies_).at_the_edge.empty();
}

Status Turn::CheckNames() {
  bool ok = true;
  for (const NodeList* list : {&allow_, &deny_}) {
    for (const std::string_view name : list->unmatched()) {
      diags_.Error(Rule::kP3)
          << "the lists for backend '" << request_.backend->name() << "' name '"
          << name << "', but no node of the graph is called so";
      ok = false;
    }
  }
  if (!ok) return Failure{};
  return {};
}

std::optional<Refusal> Turn::WhyNot(uint32_t i) {
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
    return Refusal{RefusalReason::kUserChoice, std::string(program.op_name(n))};
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

void Turn::Refuse(uint32_t i, Refusal why) {
  is_wanted_[i] = false;
  if (!refusal_of_.empty()) refusal_of_[i] = board_.refused.size();
  board_.refused.push_back({i, request_.backend, std::move(why)});
}

// --- groups ---

Status Turn::KeepGroupsTogether() {
  std::vector<NodeSet> groups =
      FindQuantisePairs(board_.program, dependencies_);
  TENON_ASSIGN(const auto named, FindNamedGroups(board_.program, dependencies_,
                                                 request_.groups, diags_));
  groups.insert(groups.end(), named.begin(), named.end());
  // Where a backend wants 0-d tensors, the runtime makes them of scalars.
  if (request_.backend->scalar_boundary() == ScalarBoundary::kNone) {
    AddScalarGroups(&groups);
  }
  if (!groups.empty()) Contract(std::move(groups));
  return {};
}

void Turn::AddScalarGroups(std::vector<NodeSet>* groups) {
  ScalarGroups scalars = FindScalarGroups(board_.program, dependencies_);
  for (const uint32_t i : scalars.at_the_edge) {
    if (!is_wanted_[i]) continue;
    Refuse(i, {RefusalReason::kScalarBoundary,
               "the program's scalar input or output"});
  }
  exchanges_scalars_.resize(dependencies_.size(), false);
  for (NodeSet& set : scalars.groups) {
    for (const uint32_t i : set) exchanges_scalars_[i] = true;
    groups->push_back(std::move(set));
  }
}

void Turn::Contract(std::vector<NodeSet> groups) {
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

void Turn::DropSplit(std::vector<NodeSet>* groups) {
  std::erase_if(*groups,
                [&](const NodeSet& g) { return RefuseUnlessWhole(g); });
}

bool Turn::RefuseUnlessWhole(std::span<const uint32_t> nodes) {
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

std::span<const uint32_t>::iterator Turn::FirstWanted(
    std::span<const uint32_t> nodes) const {
  return std::find_if(nodes.begin(), nodes.end(),
                      [&](uint32_t i) { return is_wanted_[i]; });
}

Refusal Turn::WhyWith(uint32_t blocker) {
  std::string with = "must stay with %";
  with += FirstNameOf(board_.program, board_.node(blocker));
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

std::vector<NodeSet> Turn::Cut() {
  const NodeDevices& devices = board_.devices;
  if (devices.num_devices() < 2) {
    return CutIntoRegions(board_.program, units(), is_wanted_, &board_.bytes);
  }
  std::vector<NodeSet> regions;
  for (uint32_t d = 0; d < devices.num_devices(); ++d) {
    std::vector<bool> is_wanted = is_wanted_;
    for (uint32_t i = 0; i < dependencies_.size(); ++i) {
      if (devices.of(i) != d) is_wanted[i] = false;
    }
    std::vector<NodeSet> cut =
        CutIntoRegions(board_.program, units(), is_wanted, &board_.bytes);
    MergeOwn(cut);
    std::move(cut.begin(), cut.end(), std::back_inserter(regions));
  }
  return regions;
}

void Turn::MergeOwn(const std::vector<NodeSet>& sets) {
  if (!own_units_) own_units_ = board_.units;
  own_units_->Merge(sets);
}

}  // namespace tenon
