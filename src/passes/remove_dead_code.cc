#include "passes/remove_dead_code.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/effects.h"
#include "passes/delegate_graphs.h"
#include "passes/module_calls.h"

namespace tenon {
namespace {

// Symbols that nodes introduce, and who mentions them. Most types have none.
class Symbols {
 public:
  explicit Symbols(const Program& program)
      : program_(program),
        is_mentioned_(program.context().types.size(), false) {}

  void Mention(TypeId type) {
    if (is_mentioned_[type.index]) return;
    is_mentioned_[type.index] = true;
    for (const ExprId symbol : In(type)) mentioned_.insert(symbol);
  }

  // Whether the node's results are the first to know of a symbol that was
  // mentioned.
  bool IsIntroducedBy(NodeId n) const {
    if (mentioned_.empty()) return false;
    const ValueRange results = program_.node(n).results;
    std::vector<ExprId> needed;
    for (uint32_t i = 0; i < results.count; ++i) {
      for (const ExprId symbol : In(program_.value(results[i]).type)) {
        if (mentioned_.count(symbol) > 0) needed.push_back(symbol);
      }
    }
    if (needed.empty()) return false;
    std::vector<ExprId> known;
    program_.ForEachOperand(n, [&](ValueId v) {
      const auto symbols = In(program_.value(v).type);
      known.insert(known.end(), symbols.begin(), symbols.end());
    });
    return std::any_of(needed.begin(), needed.end(), [&](ExprId symbol) {
      return std::find(known.begin(), known.end(), symbol) == known.end();
    });
  }

 private:
  std::vector<ExprId> In(TypeId id) const {
    std::vector<ExprId> out;
    const Type& type = program_.type(id);
    const auto add = [&](const SymInt& size) {
      if (size.expr.valid()) {
        program_.context().exprs.CollectSymbols(size.expr, &out);
      }
    };
    add(type.sym);
    for (const SymInt& size : type.sizes) add(size);
    for (const SymInt& stride : type.strides) add(stride);
    add(type.storage_offset);
    return out;
  }

  const Program& program_;
  std::vector<bool> is_mentioned_;  // by type
  std::unordered_set<ExprId> mentioned_;
};

class Cleaner {
 public:
  explicit Cleaner(Program* program)
      : program_(*program), effects_(*program), symbols_(*program) {}

  RemoveDeadCodeReport Run() {
    // Holders before what they hold, so that nothing is cleaned in vain.
    std::vector<bool> is_reached = Reach();
    Clean(Program::kRoot);
    std::vector<bool> is_cleaned(program_.num_graphs(), false);
    std::vector<GraphId> open = {Program::kRoot};
    is_cleaned[Program::kRoot.index] = true;
    for (const GraphId g : GraphsOfDelegates(program_)) {
      is_cleaned[g.index] = true;
    }
    while (!open.empty()) {
      const GraphId g = open.back();
      open.pop_back();
      program_.ForEachCaller(g, [&](NodeId n) {
        program_.ForEachNestedGraph(n, [&](GraphId h) {
          if (is_cleaned[h.index]) return;
          is_cleaned[h.index] = true;
          Clean(h);
          open.push_back(h);
        });
      });
    }
    EraseLostGraphs(is_reached);
    if (report_.num_nodes > 0 && !program_.module_calls.empty()) {
      UpdateModuleCalls(LiveValues(program_), &program_, &report_.notes);
    }
    return std::move(report_);
  }

 private:
  void Clean(GraphId g) {
    // Last to first: users go before what they use.
    for (NodeId n = program_.graph(g).output; n.valid();) {
      const NodeId before = program_.node(n).prev;
      if (IsDead(n)) {
        program_.Erase(g, n);
        ++report_.num_nodes;
      } else {
        const ValueRange results = program_.node(n).results;
        for (uint32_t i = 0; i < results.count; ++i) {
          symbols_.Mention(program_.value(results[i]).type);
        }
      }
      n = before;
    }
  }

  bool IsDead(NodeId n) {
    const Node& node = program_.node(n);
    if (node.kind == NodeKind::kOutput || node.kind == NodeKind::kDelegateCall)
      return false;
    for (uint32_t i = 0; i < node.results.count; ++i) {
      if (program_.value(node.results[i]).num_uses > 0) return false;
    }
    return !effects_.Of(n).any() && !symbols_.IsIntroducedBy(n);
  }

  // Graphs that the root or a delegate's source reaches.
  std::vector<bool> Reach() const {
    std::vector<bool> is_reached(program_.num_graphs(), false);
    std::vector<GraphId> open = {Program::kRoot};
    for (const Delegate& d : program_.delegates) {
      if (d.source.valid()) open.push_back(d.source);
    }
    while (!open.empty()) {
      const GraphId g = open.back();
      open.pop_back();
      if (is_reached[g.index]) continue;
      is_reached[g.index] = true;
      program_.ForEachCaller(g, [&](NodeId n) {
        program_.ForEachNestedGraph(n, [&](GraphId h) { open.push_back(h); });
      });
    }
    return is_reached;
  }

  void EraseLostGraphs(const std::vector<bool>& was_reached) {
    const std::vector<bool> is_reached = Reach();
    for (uint32_t g = 0; g < is_reached.size(); ++g) {
      if (!was_reached[g] || is_reached[g]) continue;
      program_.EraseGraph(GraphId(g));
      ++report_.num_graphs;
    }
  }

  Program& program_;
  EffectAnalysis effects_;
  Symbols symbols_;
  RemoveDeadCodeReport report_;
};

}  // namespace

RemoveDeadCodeReport RemoveDeadCode(Program* program) {
  return Cleaner(program).Run();
}

}  // namespace tenon
