#include "analysis/dependencies.h"

#include <algorithm>
#include <utility>

#include "analysis/effects.h"

namespace tenon {
namespace {

constexpr uint32_t kNone = 0xFFFFFFFFu;

// Per alias class: who wrote it last, and who read it since. So two regions
// that write one buffer are ordered as their writes are (M-4).
struct ClassState {
  uint32_t last_write = kNone;
  std::vector<uint32_t> reads;
};

}  // namespace

Dependencies::Dependencies(const Program& program, GraphId graph)
    : positions_(program.num_nodes(), kNone) {
  const NodeId output = program.graph(graph).output;
  for (const NodeId n : program.nodes(graph)) {
    if (n == output) break;
    positions_[n.index] = size();
    nodes_.push_back(n);
  }
  touches_written_.resize(nodes_.size(), false);

  // Of the nodes that have some, which are few.
  std::vector<std::pair<uint32_t, NodeEffects>> effects;
  EffectAnalysis analysis(program);
  bool any_write = false;
  size_t num_args = 0;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    num_args += program.node(nodes_[i]).args.count;
    NodeEffects e = analysis.Of(nodes_[i]);
    any_write = any_write || !e.writes.empty();
    if (e.any()) effects.emplace_back(i, std::move(e));
  }
  // Alias classes matter only where something is written.
  std::vector<ClassState> classes;
  std::vector<bool> written;
  std::vector<uint32_t> class_of(any_write ? program.num_values() : 0, kNone);
  if (any_write) {
    const AliasClasses aliases(program, graph);
    uint32_t num_classes = 0;
    for (uint32_t v = 0; v < class_of.size(); ++v) {
      class_of[v] = aliases.class_of(ValueId(v));
      if (class_of[v] != kNone) {
        num_classes = std::max(num_classes, class_of[v] + 1);
      }
    }
    classes.resize(num_classes);
    written.resize(num_classes, false);
    for (const auto& [i, e] : effects) {
      for (const ValueId v : e.writes) {
        if (class_of[v.index] != kNone) written[class_of[v.index]] = true;
      }
    }
  }

  uint32_t last_random = kNone, last_opaque = kNone;
  starts_.reserve(nodes_.size() + 1);
  starts_.push_back(0);
  edges_.reserve(num_args);
  auto next_effects = effects.begin();
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const auto add = [&](uint32_t before) {
      if (before != kNone && before != i) edges_.push_back(before);
    };
    const auto chain = [&](bool applies, uint32_t* last) {
      if (!applies) return;
      add(*last);
      *last = i;
    };
    const auto touch = [&](ValueId v, bool writes) {
      const uint32_t c = class_of[v.index];
      if (c == kNone || !written[c]) return;
      touches_written_[i] = true;
      ClassState& state = classes[c];
      add(state.last_write);
      if (!writes) {
        state.reads.push_back(i);
        return;
      }
      for (const uint32_t reader : state.reads) add(reader);
      state.reads.clear();
      state.last_write = i;
    };
    program.ForEachOperand(nodes_[i], [&](ValueId v) {
      const NodeId def = program.value(v).def;
      if (def.valid()) add(positions_[def.index]);
    });
    if (any_write) {
      program.ForEachOperand(nodes_[i], [&](ValueId v) { touch(v, false); });
      const ValueRange results = program.node(nodes_[i]).results;
      for (uint32_t r = 0; r < results.count; ++r) touch(results[r], false);
    }
    if (next_effects != effects.end() && next_effects->first == i) {
      const NodeEffects& e = next_effects++->second;
      for (const ValueId v : e.writes) touch(v, true);
      chain(e.is_random, &last_random);
      chain(e.is_opaque, &last_opaque);
    }
    starts_.push_back(static_cast<uint32_t>(edges_.size()));
  }
}

}  // namespace tenon
