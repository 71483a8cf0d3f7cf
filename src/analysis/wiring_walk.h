// The walk of the wiring digest (analysis/digest.h) over nodes: gives each
// value its digest and each storage its version, and collects effects.
//
// Calls are entered, so that a called graph hashes as if its nodes stood where
// it is called. Graphs that operators hold (control flow) hash as functions of
// their inputs. wiring_walk.cc has nodes and calls, wiring_functions.cc those
// graphs.
#pragma once

#include <span>
#include <vector>

#include "analysis/digest.h"
#include "analysis/effects.h"
#include "analysis/wiring_leaves.h"
#include "analysis/wiring_schemas.h"
#include "analysis/wiring_state.h"
#include "analysis/wiring_values.h"
#include "ir/higher_order.h"
#include "ir/program.h"
#include "support/hash.h"

namespace tenon {

class WiringWalk {
 public:
  explicit WiringWalk(const Program& program)
      : program_(program),
        context_(program.context()),
        effects_(program),
        leaves_(program),
        state_(program, &leaves_),
        values_(program.num_values()),
        traits_(program.context()),
        functions_(program.num_graphs()),
        function_known_(program.num_graphs(), false),
        used_state_(program.state.entries.size(), false) {}

  // Hashes the nodes of a graph whose inputs are defined; appends its effects.
  void HashGraph(GraphId g, std::vector<WiringRoot>* effects);

  // One digest for each argument, so that a literal that is bound to a child's
  // input hashes as if it stood in the child.
  Digest Contribution(const Arg& arg) {
    return arg.is_value() ? values_.Read(arg.v.value) : Unread(arg);
  }

  // Makes `v` the state entry and notes that the program uses it.
  void DefineState(ValueId v, StateId state);

  WiringLeaves& leaves() { return leaves_; }
  WiringState& state() { return state_; }
  WiringValues& values() { return values_; }
  // By entry: whether the program reads it, or names it as an input.
  const std::vector<bool>& used_state() const { return used_state_; }
  // By storage: its class; kNoAlias where nothing uses it. May be shorter.
  const std::vector<AliasId>& storage_aliases() const {
    return storage_aliases_;
  }

 private:
  // --- wiring_walk.cc ---

  Digest Unread(const Arg& arg);
  AliasId StorageAlias(StateId id);
  Digest AliasIdentity(AliasId alias);
  void Enter(NodeId call, GraphId child, std::vector<WiringRoot>* effects);
  void OpaqueCall(NodeId call, Digest target);
  void DefineResults(NodeId n, Digest node,
                     const std::vector<AliasId>& aliases);
  void HashNode(GraphId g, NodeId n, std::vector<WiringRoot>* effects);
  void HashRecord(const Delegate& d, Hasher* h) const;
  void HashDelegateCall(NodeId n, std::vector<WiringRoot>* effects);
  void HashOp(GraphId g, NodeId n, std::vector<WiringRoot>* effects);
  void DefineWithEffects(GraphId g, NodeId n, const NodeEffects& found,
                         std::vector<WiringRoot>* effects);
  void Write(const std::vector<ValueId>& written, const Digest& digest);

  // --- wiring_functions.cc ---

  Digest Function(GraphId g, std::span<const ValueId> operands = {});
  Digest HashFunction(GraphId g, std::span<const ValueId> operands);
  std::vector<AliasId> DefineParameters(GraphId g,
                                        std::span<const ValueId> operands);
  std::vector<Digest> EndNested(const WiringValues::Nesting& nesting);
  void HashHigherOrderArgs(NodeId n, const HigherOrderConvention* convention);

  const Program& program_;
  const Context& context_;
  EffectAnalysis effects_;
  WiringLeaves leaves_;
  WiringState state_;
  WiringValues values_;
  OperatorTraits traits_;
  Hasher hasher_, op_hasher_;
  std::vector<Digest> functions_;  // by graph
  std::vector<bool> function_known_;
  std::vector<bool> entered_;  // by graph: being hashed now
  std::vector<bool> used_state_;
  uint64_t num_state_reads_ = 0;
  std::vector<AliasId> storage_aliases_;
  std::vector<AliasId> nested_writes_;  // by the nested graphs of this node
  Digest random_version_, opaque_version_;
};

}  // namespace tenon
