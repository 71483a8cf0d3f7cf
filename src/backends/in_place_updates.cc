#include "backends/in_place_updates.h"

#include <algorithm>
#include <string_view>

#include "analysis/origins.h"

namespace tenon {
namespace {

// An operator that gives a copy of parameter `self` with a part replaced.
struct Update {
  std::string_view name;
  // The view that is the replaced part, of parameters after `self` that have
  // the same names; empty when there is none.
  std::string_view view;
  std::string_view source;  // the parameter that is the part's new content
};
constexpr Update kUpdates[] = {
    {"aten.copy.default", "", "src"},
    {"aten.index_copy.default", "", ""},
    {"aten.index_put.default", "", ""},
    {"aten.select_scatter.default", "aten.select.int", "src"},
    {"aten.slice_scatter.default", "aten.slice.Tensor", "src"},
};

// Views of views are followed this far.
constexpr int kMaxViews = 64;

class Finder {
 public:
  explicit Finder(const Program& region)
      : region_(region),
        origins_(region, Program::kRoot),
        position_(region.num_nodes(), 0),
        is_update_(region.num_nodes(), false) {
    uint32_t next = 0;
    for (const NodeId n : region.nodes(Program::kRoot)) {
      position_[n.index] = next++;
    }
  }

  void Follow(const DeclaredWrite& write) {
    const ValueId input = region_.root().inputs[write.input];
    const ValueId output =
        region_.outputs(Program::kRoot)[write.output].value();
    // From the output back to the input, one update after the other.
    std::vector<NodeId> chain;
    ValueId v = output;
    while (v != input) {
      const NodeId n = region_.value(v).def;
      if (FindUpdate(n) == nullptr) return;
      chain.push_back(n);
      v = Operand(n, "self");
      if (!v.valid()) return;
    }
    // A link that can't be done in place makes a copy, which those after it
    // may change as they like: but that would be no saving, so all must.
    std::vector<NodeId> writers;
    for (const NodeId n : chain) {
      std::vector<NodeId> some = WritersOf(n);
      if (!IsLastReader(some)) return;
      writers.insert(writers.end(), some.begin(), some.end());
    }
    for (const NodeId n : writers) is_update_[n.index] = true;
  }

  std::vector<bool> Take() { return std::move(is_update_); }

 private:
  const Update* FindUpdate(NodeId n) const {
    if (!n.valid() || region_.node(n).kind != NodeKind::kOp) return nullptr;
    const auto at = std::find_if(
        std::begin(kUpdates), std::end(kUpdates),
        [&](const Update& u) { return u.name == region_.op_name(n); });
    return at == std::end(kUpdates) ? nullptr : at;
  }

  ValueId Operand(NodeId n, std::string_view parameter) const {
    const Arg* arg = region_.FindArg(n, parameter);
    return arg != nullptr && arg->is_value() ? arg->value() : ValueId();
  }

  // The updates that together put a new part into `n`'s operand: n itself,
  // last, and before it the one that changed the part, if that is a view of the
  // operand.
  std::vector<NodeId> WritersOf(NodeId n) const {
    std::vector<NodeId> out = {n};
    for (;;) {
      const NodeId outer = out.back();
      const Update* update = FindUpdate(outer);
      if (update->view.empty()) break;
      const ValueId part = Operand(outer, update->source);
      if (!part.valid()) break;
      const NodeId inner = region_.value(part).def;
      if (FindUpdate(inner) == nullptr || !IsOnlyUsedBy(part, outer)) break;
      const ValueId view = Operand(inner, "self");
      if (!view.valid() || !IsViewFor(view, outer, *update)) break;
      out.push_back(inner);
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

  bool IsOnlyUsedBy(ValueId v, NodeId user) const {
    bool is_only = true;
    region_.ForEachUse(
        v, [&](UseId u) { is_only = is_only && region_.use(u).user == user; });
    return is_only;
  }

  // Whether `view` is the part of the scatter's operand that it replaces.
  bool IsViewFor(ValueId view, NodeId scatter, const Update& update) const {
    const NodeId def = region_.value(view).def;
    if (!def.valid() || region_.node(def).kind != NodeKind::kOp ||
        region_.op_name(def) != update.view) {
      return false;
    }
    return HaveSameArgs(def, scatter, kMaxViews);
  }

  // The same arguments for each parameter of `view`'s operator.
  bool HaveSameArgs(NodeId view, NodeId other, int depth) const {
    const OpSchema* schema = region_.schema(view);
    return schema != nullptr &&
           std::all_of(schema->args.begin(), schema->args.end(),
                       [&](const SchemaArg& a) {
                         return AreAlike(region_.FindArg(view, a.name),
                                         region_.FindArg(other, a.name), depth);
                       });
  }

  // What views take: integers, and tensors that are one value or the same view
  // of one. Left out is left out.
  bool AreAlike(const Arg* a, const Arg* b, int depth) const {
    if (a == nullptr || b == nullptr) return a == b;
    if (a->kind != b->kind) return false;
    switch (a->kind) {
      case ArgKind::kNone:
        return true;
      case ArgKind::kInt:
        return a->i == b->i;
      case ArgKind::kValue:
        return AreSameView(a->value(), b->value(), depth);
      default:
        return false;
    }
  }

  bool AreSameView(ValueId a, ValueId b, int depth) const {
    if (a == b) return true;
    const NodeId x = region_.value(a).def, y = region_.value(b).def;
    return depth > 0 && IsView(x) && IsView(y) &&
           region_.op_name(x) == region_.op_name(y) &&
           HaveSameArgs(x, y, depth - 1);
  }

  bool IsView(NodeId n) const {
    return n.valid() && region_.node(n).kind == NodeKind::kOp &&
           std::any_of(
               std::begin(kUpdates), std::end(kUpdates),
               [&](const Update& u) { return u.view == region_.op_name(n); });
  }

  // Whether nobody reads what the last writer's operand held, once the first of
  // them has begun.
  bool IsLastReader(const std::vector<NodeId>& writers) const {
    const ValueId base = origins_.of(Operand(writers.back(), "self")).value;
    const uint32_t first = position_[writers.front().index];
    const auto reads_later = [&](NodeId n) {
      if (position_[n.index] < first ||
          std::find(writers.begin(), writers.end(), n) != writers.end()) {
        return false;
      }
      if (n == region_.root().output) return true;
      const OpSchema* schema = region_.schema(n);
      bool reads = schema == nullptr || schema->is_mutating();
      const ValueRange results = region_.node(n).results;
      for (uint32_t r = 0; r < results.count && !reads; ++r) {
        reads = origins_.of(results[r]).value != base;
      }
      return reads || results.count == 0;
    };
    bool is_read = false;
    for (const NodeId n : region_.nodes(Program::kRoot)) {
      if (is_read || !reads_later(n)) continue;
      region_.ForEachOperand(n, [&](ValueId v) {
        is_read = is_read || origins_.of(v).value == base;
      });
    }
    return !is_read;
  }

  const Program& region_;
  const Origins origins_;
  std::vector<uint32_t> position_;  // by node index
  std::vector<bool> is_update_;
};

}  // namespace

std::vector<bool> FindInPlaceUpdates(const Program& region,
                                     std::span<const DeclaredWrite> replaced) {
  Finder finder(region);
  for (const DeclaredWrite& write : replaced) finder.Follow(write);
  return finder.Take();
}

}  // namespace tenon
