// May-alias classes, by union of what views, writes, calls and shared state
// connect.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "analysis/effects.h"

namespace tenon {
namespace {

// Operators that may return an argument, or a view of it, although their
// schemas declare new tensors (seen in eager PyTorch).
constexpr std::string_view kUndeclaredViews[] = {
    "aten._unsafe_view.default",
    "aten.alpha_dropout.default",
    "aten.atleast_1d.Sequence",
    "aten.atleast_1d.default",
    "aten.atleast_2d.Sequence",
    "aten.atleast_2d.default",
    "aten.atleast_3d.Sequence",
    "aten.atleast_3d.default",
    "aten.broadcast_tensors.default",
    "aten.cartesian_prod.default",
    "aten.conj_physical.default",
    "aten.dropout.default",
    "aten.einsum.default",
    "aten.feature_alpha_dropout.default",
    "aten.feature_dropout.default",
    "aten.meshgrid.default",
    "aten.meshgrid.indexing",
    "aten.native_dropout.default",
    "aten.sum_to_size.default",
    "aten.type_as.default",
    "aten.unsafe_chunk.default",
    "aten.unsafe_split.Tensor",
    "aten.unsafe_split_with_sizes.default",
};

class Union {
 public:
  explicit Union(size_t size) : parent_(size) {
    for (uint32_t i = 0; i < size; ++i) parent_[i] = i;
  }
  uint32_t Find(uint32_t i) {
    while (parent_[i] != i) {
      parent_[i] = parent_[parent_[i]];
      i = parent_[i];
    }
    return i;
  }
  // The smaller index stays the root.
  void Join(uint32_t a, uint32_t b) {
    a = Find(a);
    b = Find(b);
    if (a == b) return;
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<uint32_t> parent_;
};

// How an operator's results alias its arguments.
enum class Sharing : uint8_t { kUnknown, kNever, kBySchema, kAll };

class Builder {
 public:
  // Inside of a delegate's source, other delegates aren't looked into.
  Builder(const Program& program, GraphId graph, bool is_source = false)
      : program_(program),
        graph_(graph),
        is_source_(is_source),
        binder_(program),
        range_(RangeOf(program, graph)),
        sets_(range_.count) {}

  uint32_t first() const { return range_.begin; }

  std::vector<uint32_t> Build() {
    for (const NodeId n : program_.nodes(graph_)) AddNode(n);
    if (graph_ == Program::kRoot) JoinSharedState();
    std::vector<uint32_t> classes(range_.count, AliasClasses::kNoClass);
    std::vector<uint32_t> by_root(range_.count, AliasClasses::kNoClass);
    uint32_t next = 0;
    ForEachValue(program_, graph_, [&](ValueId v) {
      if (!CanAlias(v)) return;
      uint32_t& c = by_root[sets_.Find(v.index - first())];
      if (c == AliasClasses::kNoClass) c = next++;
      classes[v.index - first()] = c;
    });
    return classes;
  }

 private:
  template <typename Visit>
  static void ForEachValue(const Program& program, GraphId graph,
                           Visit&& visit) {
    for (const ValueId v : program.graph(graph).inputs) visit(v);
    for (const NodeId n : program.nodes(graph)) {
      const ValueRange results = program.node(n).results;
      for (uint32_t i = 0; i < results.count; ++i) visit(results[i]);
    }
  }

  static ValueRange RangeOf(const Program& program, GraphId graph) {
    uint32_t first = ValueId::kNone, end = 0;
    ForEachValue(program, graph, [&](ValueId v) {
      first = std::min(first, v.index);
      end = std::max(end, v.index + 1);
    });
    return end == 0 ? ValueRange{0, 0} : ValueRange{first, end - first};
  }

  void Join(ValueId a, ValueId b) {
    sets_.Join(a.index - first(), b.index - first());
  }

  // Lifted inputs and references to state that lie in one storage.
  void JoinSharedState() {
    std::vector<ValueId> by_storage(program_.state.storages.size());
    const auto add = [&](StateId state, ValueId v) {
      if (state.index >= program_.state.entries.size()) return;
      const StorageId storage = program_.state.get(state).storage;
      if (storage.index >= by_storage.size() || !CanAlias(v)) return;
      ValueId& other = by_storage[storage.index];
      if (other.valid()) Join(other, v);
      other = v;
    };
    const Graph& root = program_.graph(graph_);
    const std::vector<InputSpec>& specs = program_.signature.inputs;
    for (size_t i = 0; i < root.inputs.size() && i < specs.size(); ++i) {
      add(specs[i].state, root.inputs[i]);
    }
    for (const NodeId n : program_.nodes(graph_)) {
      const Node& node = program_.node(n);
      if (node.kind == NodeKind::kGetState && node.results.count == 1) {
        add(node.state, node.results[0]);
      }
    }
  }

  bool CanAlias(ValueId v) const {
    const TypeId type = program_.value(v).type;
    if (!type.valid()) return false;
    const TypeKind kind = program_.type(type).kind;
    return kind == TypeKind::kTensor || kind == TypeKind::kObject;
  }

  Sharing SharingOf(OpId op) {
    if (op.index >= by_op_.size()) {
      by_op_.resize(op.index + 1, Sharing::kUnknown);
    }
    Sharing& sharing = by_op_[op.index];
    if (sharing != Sharing::kUnknown) return sharing;
    const OpInfo& info = program_.context().op(op);
    const std::string_view name = program_.view(info.name);
    const auto returns_alias = [](const SchemaReturn& r) {
      return !r.alias_set.empty();
    };
    if (info.schema == nullptr ||
        std::find(std::begin(kUndeclaredViews), std::end(kUndeclaredViews),
                  name) != std::end(kUndeclaredViews)) {
      sharing = Sharing::kAll;
    } else if (std::any_of(info.schema->returns.begin(),
                           info.schema->returns.end(), returns_alias)) {
      sharing = Sharing::kBySchema;
    } else {
      sharing = Sharing::kNever;
    }
    return sharing;
  }

  void AddNode(NodeId n) {
    const Node& node = program_.node(n);
    if (node.results.empty()) return;
    if (node.kind == NodeKind::kGetState) return;
    if (node.kind == NodeKind::kDelegateCall) {
      JoinWrites(n);
      JoinAsSource(n);
      return;
    }
    const Sharing sharing = node.kind == NodeKind::kOp && node.op.valid()
                                ? SharingOf(node.op)
                                : Sharing::kAll;
    if (sharing == Sharing::kAll) JoinAll(n);
    if (sharing == Sharing::kBySchema) JoinBySchema(n);
  }

  void JoinAll(NodeId n) {
    const ValueRange results = program_.node(n).results;
    ValueId anchor;
    for (uint32_t i = 0; i < results.count; ++i) {
      if (!CanAlias(results[i])) continue;
      if (!anchor.valid()) anchor = results[i];
      Join(anchor, results[i]);
    }
    if (!anchor.valid()) return;
    program_.ForEachOperand(n, [&](ValueId v) {
      if (CanAlias(v)) Join(anchor, v);
    });
  }

  void JoinBySchema(NodeId n) {
    BoundArgs bound;
    if (!binder_.Bind(n, &bound)) return JoinAll(n);
    const std::vector<SchemaReturn>& returns = bound.schema->returns;
    const ValueRange results = program_.node(n).results;
    for (size_t r = 0; r < returns.size(); ++r) {
      if (returns[r].alias_set.empty()) continue;
      for (size_t i = 0; i < bound.schema->args.size(); ++i) {
        const std::string& set = bound.schema->args[i].alias_set;
        if (bound[i] == nullptr || !Intersects(set, returns[r].alias_set)) {
          continue;
        }
        if (returns.size() == 1) {  // one result, or a list of them
          for (uint32_t k = 0; k < results.count; ++k) {
            Join(*bound[i], results[k]);
          }
        } else if (r < results.count && !program_.node(n).form.valid()) {
          Join(*bound[i], results[r]);
        } else {
          return JoinAll(n);
        }
      }
    }
  }

  void JoinWrites(NodeId n) {
    const Node& node = program_.node(n);
    const auto args = program_.args(n);
    for (const DeclaredWrite& w :
         program_.delegates[node.delegate.index].writes) {
      if (w.input < args.size() && w.output < node.results.count) {
        Join(args[w.input], node.results[w.output]);
      }
    }
  }

  // A backend may give views of what it is given, as the graph does that its
  // payload was compiled from.
  void JoinAsSource(NodeId n) {
    const Node& node = program_.node(n);
    const GraphId source = program_.delegates[node.delegate.index].source;
    if (!source.valid()) return;
    if (is_source_) return JoinAll(n);
    const std::vector<uint32_t>& classes = SourceClasses(node.delegate, source);
    const auto args = program_.args(n);
    const size_t num_inputs = program_.graph(source).inputs.size();
    std::unordered_map<uint32_t, ValueId> by_class;
    const auto join = [&](uint32_t c, ValueId v) {
      if (c == AliasClasses::kNoClass || !CanAlias(v)) return;
      const auto [at, is_new] = by_class.emplace(c, v);
      if (!is_new) Join(at->second, v);
    };
    for (size_t i = 0; i < classes.size(); ++i) {
      const size_t r = i - num_inputs;
      if (i < num_inputs) {
        if (i < args.size() && args[i].is_value()) {
          join(classes[i], args[i].value());
        }
      } else if (r < node.results.count) {
        join(classes[i], node.results[static_cast<uint32_t>(r)]);
      }
    }
  }

  // The classes that a source's inputs and outputs have there, in order.
  const std::vector<uint32_t>& SourceClasses(DelegateId delegate,
                                             GraphId source) {
    const auto [at, is_new] = by_delegate_.try_emplace(delegate.index);
    std::vector<uint32_t>& out = at->second;
    if (!is_new) return out;
    Builder builder(program_, source, true);
    const std::vector<uint32_t> classes = builder.Build();
    const auto add = [&](ValueId v) {
      const uint32_t i = v.index - builder.first();  // wraps around
      out.push_back(i < classes.size() ? classes[i] : AliasClasses::kNoClass);
    };
    for (const ValueId v : program_.graph(source).inputs) add(v);
    for (const Arg& arg : program_.outputs(source)) {
      add(arg.is_value() ? arg.value() : ValueId());
    }
    return out;
  }

  static bool Intersects(const std::string& a, const std::string& b) {
    return a.find_first_of(b) != std::string::npos;
  }

  void Join(const Arg& a, ValueId result) {
    if (a.is_value() && CanAlias(a.v.value)) {
      Join(a.v.value, result);
    }
    if (!a.has_items()) return;
    for (const Arg& item : program_.args(a.list)) Join(item, result);
  }

  const Program& program_;
  GraphId graph_;
  bool is_source_;
  ArgBinder binder_;
  ValueRange range_;
  Union sets_;  // by value, from first() on
  std::vector<Sharing> by_op_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> by_delegate_;
};

}  // namespace

AliasClasses::AliasClasses(const Program& program, GraphId graph) {
  Builder builder(program, graph);
  first_ = builder.first();
  classes_ = builder.Build();
}

}  // namespace tenon
