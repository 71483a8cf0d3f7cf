// One backend's turn: which nodes of the board it gets, and in which regions.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "diag/diagnostics.h"
#include "partition/board.h"
#include "partition/node_list.h"
#include "partition/partition.h"
#include "support/expected.h"

namespace tenon {

class Turn {
 public:
  // Request and board must outlive the turn.
  Turn(const BackendRequest& request, Board* board, Diagnostics& diags);

  // The regions that the backend gets. Each node that it doesn't get, of those
  // that weren't taken before, is among the board's refusals then. Fails when
  // the caller's lists name a node that isn't there.
  Expected<std::vector<NodeSet>> Run();

  // Whether the backend would take all nodes as one region, whatever its size.
  bool TakesWhole();

 private:
  Status CheckNames();
  std::optional<Refusal> WhyNot(uint32_t i);
  void Refuse(uint32_t i, Refusal why);

  Status KeepGroupsTogether();
  void AddScalarGroups(std::vector<NodeSet>* groups);
  // Each group becomes a unit, or its nodes are refused. A group whose nodes
  // have an unwanted one between them, on a path, can't be convex; which those
  // are is known when all groups are contracted.
  void Contract(std::vector<NodeSet> groups);
  void DropSplit(std::vector<NodeSet>* groups);
  // True when the nodes aren't all wanted, on one device; then those that are
  // in groups are refused.
  bool RefuseUnlessWhole(std::span<const uint32_t> nodes);
  std::span<const uint32_t>::iterator FirstWanted(
      std::span<const uint32_t> nodes) const;
  // Why a node that must stay with `blocker` can't be taken.
  Refusal WhyWith(uint32_t blocker);

  std::vector<NodeSet> Cut();
  const Units& units() const { return own_units_ ? *own_units_ : board_.units; }
  void MergeOwn(const std::vector<NodeSet>& sets);

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
  // Those of the board with this turn's groups and, where there are several
  // devices, regions; none: there are neither.
  std::optional<Units> own_units_;
};

}  // namespace tenon
