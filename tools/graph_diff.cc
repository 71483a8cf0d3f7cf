#include "graph_diff.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sequence_diff.h"
#include "support/hash.h"

namespace tenon::tools {
namespace {

// Hashes of one program's nodes: by content, and by history.
class Fingerprints {
 public:
  explicit Fingerprints(const Program& program)
      : program_(program),
        values_(program.num_values()),
        content_(program.num_nodes()),
        history_(program.num_nodes()),
        graphs_(program.num_graphs()),
        is_known_(program.num_graphs(), false) {}

  uint64_t content(NodeId n) const { return content_[n.index]; }
  const Digest& history(NodeId n) const { return history_[n.index]; }

  // Of a graph: what it returns, in terms of its inputs.
  Digest Of(GraphId g) {
    if (is_known_[g.index]) return graphs_[g.index];
    // A graph that reaches itself is invalid; it counts as its own first sight.
    is_known_[g.index] = true;
    const Graph& graph = program_.graph(g);
    if (graph.is_erased) return graphs_[g.index];
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      values_[graph.inputs[i].index] = OfInput(g, i);
    }
    Hasher all;
    for (const NodeId n : program_.nodes(g)) {
      AddNode(n);
      // Nodes without results matter by being there.
      if (program_.node(n).results.empty()) all.Add(history(n));
    }
    return graphs_[g.index] = all.Finish();
  }

 private:
  Digest OfInput(GraphId g, size_t i) {
    Hasher h;
    const auto& specs = program_.signature.inputs;
    const bool has_state = g == Program::kRoot && i < specs.size() &&
                           specs[i].state.index < program_.state.entries.size();
    if (has_state) {
      // By FQN, so that further state in front changes nothing.
      h.Add(program_.view(program_.state.get(specs[i].state).fqn));
    } else {
      size_t position = i;
      for (size_t j = 0; g == Program::kRoot && j < i && j < specs.size();
           ++j) {
        if (specs[j].kind != InputKind::kUserInput) --position;
      }
      h.Add(uint64_t{position});
    }
    return h.Finish();
  }

  void AddNode(NodeId n) {
    const Node& node = program_.node(n);
    Hasher content, history;
    const auto both = [&](uint64_t word) {
      content.Add(word);
      history.Add(word);
    };
    both(static_cast<uint64_t>(node.kind));
    both(node.op.index);
    if (node.state.index < program_.state.entries.size()) {
      both(program_.state.get(node.state).fqn.index);
    }
    if (node.child.valid()) history.Add(Of(node.child));
    if (node.delegate.index < program_.delegates.size()) {
      const Delegate& d = program_.delegates[node.delegate.index];
      history.Add(d.payload_digest);
      content.Add(uint64_t{d.backend.index});
    }
    AddArgs(node.args, both, &history);
    for (uint32_t i = 0; i < node.results.count; ++i) {
      both(program_.value(node.results[i]).type.index);
    }
    content_[n.index] = content.Finish().low;
    history_[n.index] = history.Finish();
    for (uint32_t i = 0; i < node.results.count; ++i) {
      Hasher h;
      h.Add(history_[n.index]);
      h.Add(uint64_t{i});
      values_[node.results[i].index] = h.Finish();
    }
  }

  template <typename Both>
  void AddArgs(ArgRange range, const Both& both, Hasher* history) {
    both(range.count);
    for (const Arg& a : program_.args(range)) {
      both(static_cast<uint64_t>(a.kind));
      both(a.name.index);
      if (a.is_value()) {
        history->Add(values_[a.value().index]);
      } else if (a.has_items()) {
        AddArgs(a.list, both, history);
      } else if (a.kind == ArgKind::kGraph) {
        history->Add(Of(a.graph));
      } else {
        // The union's eight bytes: every other literal is one or two words.
        both(static_cast<uint64_t>(a.i));
      }
    }
  }

  const Program& program_;
  std::vector<Digest> values_;
  std::vector<uint64_t> content_;
  std::vector<Digest> history_;
  std::vector<Digest> graphs_;
  std::vector<bool> is_known_;
};

struct DigestHash {
  size_t operator()(const Digest& d) const { return d.low; }
};

class Differ {
 public:
  Differ(const Program& a, const Program& b)
      : a_(a),
        b_(b),
        prints_a_(a),
        prints_b_(b),
        partner_(a.num_nodes()),
        is_taken_(b.num_nodes(), false),
        seen_(a.num_graphs(), false) {}

  std::vector<GraphDiff> Run() {
    prints_a_.Of(Program::kRoot);
    prints_b_.Of(Program::kRoot);
    Align(Program::kRoot, Program::kRoot);
    return std::move(out_);
  }

 private:
  static std::vector<NodeId> NodesOf(const Program& program, GraphId g) {
    std::vector<NodeId> nodes;
    for (const NodeId n : program.nodes(g)) nodes.push_back(n);
    return nodes;
  }

  void Pair(NodeId x, NodeId y) {
    partner_[x.index] = y;
    is_taken_[y.index] = true;
  }

  void Align(GraphId g, GraphId h) {
    if (seen_[g.index]) return;
    seen_[g.index] = true;
    const std::vector<NodeId> xs = NodesOf(a_, g), ys = NodesOf(b_, h);
    PairByHistory(xs, ys);
    std::vector<NodeId> left_a, left_b;
    for (const NodeId n : xs) {
      if (!partner_[n.index].valid()) left_a.push_back(n);
    }
    for (const NodeId n : ys) {
      if (!is_taken_[n.index]) left_b.push_back(n);
    }
    GraphDiff diff;
    diff.a = g;
    diff.b = h;
    diff.num_equal = xs.size() - left_a.size();
    const std::vector<NodeChange> pairs = PairTheRest(left_a, left_b);
    std::vector<std::pair<GraphId, GraphId>> nested;
    for (const NodeChange& pair : pairs) {
      if (!pair.a.valid() || !pair.b.valid() || IsChanged(g, h, pair)) {
        diff.changes.push_back(pair);
      } else {
        ++diff.num_equal;
      }
      if (pair.a.valid() && pair.b.valid()) AddNested(pair, &nested);
    }
    // The output node is in both lists and no node of its own.
    const bool is_output_equal =
        diff.changes.empty() || diff.changes.back().a != a_.graph(g).output;
    if (is_output_equal && diff.num_equal > 0) --diff.num_equal;
    if (!diff.changes.empty() || g == Program::kRoot) {
      out_.push_back(std::move(diff));
    }
    for (const auto& [x, y] : nested) Align(x, y);
  }

  void PairByHistory(const std::vector<NodeId>& xs,
                     const std::vector<NodeId>& ys) {
    std::unordered_map<Digest, std::vector<NodeId>, DigestHash> waiting;
    for (size_t i = ys.size(); i-- > 0;) {
      waiting[prints_b_.history(ys[i])].push_back(ys[i]);
    }
    for (const NodeId x : xs) {
      const auto it = waiting.find(prints_a_.history(x));
      if (it == waiting.end() || it->second.empty()) continue;
      Pair(x, it->second.back());
      it->second.pop_back();
    }
  }

  // Rounds 2 and 3, in the order of the edit script.
  std::vector<NodeChange> PairTheRest(const std::vector<NodeId>& xs,
                                      const std::vector<NodeId>& ys) {
    std::vector<uint64_t> keys_a, keys_b;
    for (const NodeId n : xs) keys_a.push_back(prints_a_.content(n));
    for (const NodeId n : ys) keys_b.push_back(prints_b_.content(n));
    std::vector<NodeChange> out;
    std::vector<NodeId> removed, added;
    const auto flush = [&] {
      PairByOperator(removed, added, &out);
      removed.clear();
      added.clear();
    };
    for (const Edit& edit : DiffSequences(keys_a, keys_b)) {
      switch (edit.kind) {
        case Edit::Kind::kRemove:
          removed.push_back(xs[edit.a]);
          break;
        case Edit::Kind::kAdd:
          added.push_back(ys[edit.b]);
          break;
        case Edit::Kind::kKeep:
          flush();
          Pair(xs[edit.a], ys[edit.b]);
          out.push_back({xs[edit.a], ys[edit.b]});
          break;
      }
    }
    flush();
    return out;
  }

  // As many removed as added nodes, with the same results: each replaces the
  // other. Else only nodes of one operator are paired.
  void PairByOperator(const std::vector<NodeId>& removed,
                      const std::vector<NodeId>& added,
                      std::vector<NodeChange>* out) {
    const bool are_replaced =
        std::equal(removed.begin(), removed.end(), added.begin(), added.end(),
                   [&](NodeId x, NodeId y) { return HasSameResults(x, y); });
    size_t next = 0;
    for (const NodeId x : removed) {
      size_t j = next;
      while (!are_replaced && j < added.size() &&
             !IsSameOperator(x, added[j])) {
        ++j;
      }
      if (j == added.size()) {
        out->push_back({x, NodeId()});
        continue;
      }
      for (; next < j; ++next) out->push_back({NodeId(), added[next]});
      Pair(x, added[next]);
      out->push_back({x, added[next++]});
    }
    for (; next < added.size(); ++next) {
      out->push_back({NodeId(), added[next]});
    }
  }

  bool IsSameOperator(NodeId x, NodeId y) const {
    const Node& m = a_.node(x);
    const Node& n = b_.node(y);
    return m.kind == n.kind && m.op == n.op;
  }

  bool HasSameResults(NodeId x, NodeId y) const {
    const ValueRange xs = a_.node(x).results, ys = b_.node(y).results;
    if (xs.count != ys.count || a_.node(x).kind != b_.node(y).kind) {
      return false;
    }
    for (uint32_t i = 0; i < xs.count; ++i) {
      if (a_.value(xs[i]).type != b_.value(ys[i]).type) return false;
    }
    return true;
  }

  bool ArePartners(GraphId g, GraphId h, ValueId x, ValueId y) const {
    const Value& v = a_.value(x);
    const Value& w = b_.value(y);
    if (v.index != w.index || v.def.valid() != w.def.valid()) {
      // Inputs may stand at other positions and be the same state.
      if (v.def.valid() || w.def.valid() || g != Program::kRoot) return false;
    }
    if (v.def.valid()) return partner_[v.def.index] == w.def;
    return g != Program::kRoot || h != Program::kRoot ||
           IsSameInput(v.index, w.index);
  }

  bool IsSameInput(uint32_t i, uint32_t j) const {
    const auto fqn = [](const Program& p, uint32_t at) {
      if (at >= p.signature.inputs.size()) return StringId();
      const StateId state = p.signature.inputs[at].state;
      return state.index < p.state.entries.size() ? p.state.get(state).fqn
                                                  : StringId();
    };
    const auto position = [](const Program& p, uint32_t at) {
      uint32_t out = 0;
      for (uint32_t k = 0; k < at && k < p.signature.inputs.size(); ++k) {
        if (p.signature.inputs[k].kind == InputKind::kUserInput) ++out;
      }
      return out;
    };
    const StringId x = fqn(a_, i), y = fqn(b_, j);
    if (x.valid() || y.valid()) return x == y;
    return position(a_, i) == position(b_, j);
  }

  bool IsChanged(GraphId g, GraphId h, const NodeChange& pair) const {
    if (prints_a_.content(pair.a) != prints_b_.content(pair.b)) return true;
    std::vector<ValueId> xs, ys;
    a_.ForEachOperand(pair.a, [&](ValueId v) { xs.push_back(v); });
    b_.ForEachOperand(pair.b, [&](ValueId v) { ys.push_back(v); });
    return !std::equal(
        xs.begin(), xs.end(), ys.begin(), ys.end(),
        [&](ValueId x, ValueId y) { return ArePartners(g, h, x, y); });
  }

  void AddNested(const NodeChange& pair,
                 std::vector<std::pair<GraphId, GraphId>>* nested) const {
    std::vector<GraphId> xs, ys;
    a_.ForEachNestedGraph(pair.a, [&](GraphId g) { xs.push_back(g); });
    b_.ForEachNestedGraph(pair.b, [&](GraphId g) { ys.push_back(g); });
    for (size_t i = 0; i < std::min(xs.size(), ys.size()); ++i) {
      nested->emplace_back(xs[i], ys[i]);
    }
  }

  const Program& a_;
  const Program& b_;
  Fingerprints prints_a_, prints_b_;
  std::vector<NodeId> partner_;  // of A's nodes, in B
  std::vector<bool> is_taken_;   // B's nodes
  std::vector<bool> seen_;       // A's graphs
  std::vector<GraphDiff> out_;
};

}  // namespace

std::vector<GraphDiff> DiffPrograms(const Program& a, const Program& b) {
  return Differ(a, b).Run();
}

}  // namespace tenon::tools
