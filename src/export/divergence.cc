#include "export/divergence.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/digest.h"
#include "export/expression_text.h"
#include "export/report.h"
#include "link/join.h"
#include "text/text.h"

namespace tenon {
namespace {

constexpr int kShownDepth = 3;

// Everything in one graph, as far as that is known.
Program Flatten(const Program& program) {
  Diagnostics unused;
  Program flat = program.Clone();
  if (!ExpandDelegates(&flat, unused) || !JoinAll(&flat, unused)) {
    return program.Clone();
  }
  return flat;
}

struct Side {
  Program program;
  Wiring wiring;
  std::vector<Digest> digests;  // by value

  explicit Side(const Program& original)
      : program(Flatten(original)),
        wiring(ComputeWiring(program)),
        digests(ComputeValueDigests(program)) {}

  const Digest& digest(ValueId v) const { return digests[v.index]; }
  const Node& node(ValueId v) const {
    return program.node(program.value(v).def);
  }
};

// All values that a node takes and, in the same order, how they are passed.
std::vector<ValueId> Operands(const Program& program, NodeId node) {
  std::vector<ValueId> out;
  program.ForEachOperand(node, [&](ValueId v) { out.push_back(v); });
  return out;
}

// A node's own part: operator and literals, without its operands' histories.
std::string OwnText(const Program& program, NodeId node) {
  std::string out;
  if (program.node(node).op.valid()) out = program.op_name(node);
  program.ForEachArg(program.node(node).args, [&](const Arg& a, ArgId) {
    // Lists follow item by item. Values and graphs would show their labels,
    // which mean nothing; the digests compare them.
    const bool has_label = a.is_value() || a.kind == ArgKind::kGraph;
    out += "|";
    if (!has_label && !a.has_items()) out += ExpressionText(program, a, 0);
  });
  const ValueRange results = program.node(node).results;
  for (uint32_t i = 0; i < results.count; ++i) {
    out += "|" + PrintType(program, program.value(results[i]).type);
  }
  return out;
}

// Follows the first differing operand down from a differing pair.
std::pair<ValueId, ValueId> Descend(const Side& a, const Side& b, ValueId x,
                                    ValueId y) {
  while (true) {
    const NodeId m = a.program.value(x).def;
    const NodeId n = b.program.value(y).def;
    if (!m.valid() || !n.valid()) return {x, y};
    if (a.program.value(x).index != b.program.value(y).index) return {x, y};
    if (OwnText(a.program, m) != OwnText(b.program, n)) return {x, y};
    const std::vector<ValueId> xs = Operands(a.program, m);
    const std::vector<ValueId> ys = Operands(b.program, n);
    size_t i = 0;
    while (i < xs.size() && a.digest(xs[i]) == b.digest(ys[i])) ++i;
    if (i == xs.size()) return {x, y};
    x = xs[i];
    y = ys[i];
  }
}

std::string ValueText(const Side& side, ValueId v) {
  return ExpressionText(side.program, v, kShownDepth) + " : " +
         PrintType(side.program, side.program.value(v).type);
}

std::string ValueLine(const Side& side, ValueId v) {
  const NodeId def = side.program.value(v).def;
  return def.valid() ? SourceLine(side.program, def) : "";
}

void ShowValues(const Side& a, const Side& b, ValueId x, ValueId y,
                Divergence* out) {
  const auto [u, v] = Descend(a, b, x, y);
  out->source = ValueText(a, u);
  out->result = ValueText(b, v);
  out->source_line = ValueLine(a, u);
  out->result_line = ValueLine(b, v);
}

std::string RootText(const Side& side, const WiringRoot& root) {
  if (root.value.valid()) return ValueText(side, root.value);
  if (root.node.valid()) {
    return ExpressionText(side.program, root.node, kShownDepth);
  }
  const auto outputs = side.program.outputs(Program::kRoot);
  if (root.kind == WiringRoot::Kind::kOutput && root.index < outputs.size()) {
    return ExpressionText(side.program, outputs[root.index], kShownDepth);
  }
  return "a literal";
}

std::string RootName(const Program& program, const WiringRoot& root) {
  if (root.kind == WiringRoot::Kind::kEffect) return "effect";
  std::string out = "output " + std::to_string(root.index);
  if (root.index < program.signature.outputs.size()) {
    const OutputSpec& spec = program.signature.outputs[root.index];
    if (spec.state.valid()) {
      out += " (" + std::string(Name(spec.kind)) + " " +
             std::string(program.view(program.state.get(spec.state).fqn)) + ")";
    }
  }
  return out;
}

std::string SpecText(const std::optional<TreeSpec>& spec) {
  if (!spec) return "none";
  std::vector<std::string> paths;
  CollectLeafPaths(*spec, "", &paths);
  std::string out = std::to_string(paths.size()) + " leaves:";
  for (const std::string& path : paths) out += " " + path;
  return out;
}

std::vector<std::string> RangeLines(const Program& program) {
  std::vector<std::string> out;
  for (const SymbolRange& r : program.ranges) {
    out.push_back("range " + r.key + " in [" +
                  (r.min ? std::to_string(*r.min) : "-oo") + ", " +
                  (r.max ? std::to_string(*r.max) : "oo") + "]");
  }
  std::sort(out.begin(), out.end());
  return out;
}

void ShowConvention(const Program& a, const Program& b, Divergence* out) {
  out->root = "calling convention";
  const auto show_first = [&](const std::vector<std::string>& xs,
                              const std::vector<std::string>& ys) {
    for (size_t i = 0; i < std::max(xs.size(), ys.size()); ++i) {
      const std::string x = i < xs.size() ? xs[i] : "nothing";
      const std::string y = i < ys.size() ? ys[i] : "nothing";
      if (x == y) continue;
      out->source = x;
      out->result = y;
      return true;
    }
    return false;
  };
  if (show_first(DescribeSignature(a), DescribeSignature(b))) return;
  if (show_first(RangeLines(a), RangeLines(b))) return;
  if (a.in_spec != b.in_spec) {
    out->source = "in_spec with " + SpecText(a.in_spec);
    out->result = "in_spec with " + SpecText(b.in_spec);
  } else if (a.out_spec != b.out_spec) {
    out->source = "out_spec with " + SpecText(a.out_spec);
    out->result = "out_spec with " + SpecText(b.out_spec);
  } else {
    out->source = out->result = "another detail of signature or state";
  }
}

struct DigestHash {
  size_t operator()(const Digest& d) const { return d.low; }
};

// The first root of `side` of its kind that the other side lacks.
const WiringRoot* FirstMissing(const Wiring& side, const Wiring& other,
                               WiringRoot::Kind kind) {
  std::unordered_set<Digest, DigestHash> known;
  for (const WiringRoot& root : other.roots) {
    if (root.kind == kind) known.insert(root.digest);
  }
  for (const WiringRoot& root : side.roots) {
    if (root.kind == kind && !known.contains(root.digest)) return &root;
  }
  return nullptr;
}

}  // namespace

std::optional<Divergence> FindDivergence(const Program& source,
                                         const Program& result) {
  if (WiringDigest(source) == WiringDigest(result)) return std::nullopt;
  const Side a(source), b(result);
  Divergence out;
  if (!(a.wiring.calling_convention == b.wiring.calling_convention)) {
    ShowConvention(a.program, b.program, &out);
    return out;
  }
  constexpr auto kOutput = WiringRoot::Kind::kOutput;
  const size_t count = std::min(a.wiring.roots.size(), b.wiring.roots.size());
  for (size_t i = 0; i < count; ++i) {
    const WiringRoot& x = a.wiring.roots[i];
    const WiringRoot& y = b.wiring.roots[i];
    if (x.kind != kOutput || y.kind != kOutput) break;
    if (x.digest == y.digest) continue;
    out.root = RootName(a.program, x);
    if (x.value.valid() && y.value.valid()) {
      ShowValues(a, b, x.value, y.value, &out);
    } else {
      out.source = RootText(a, x);
      out.result = RootText(b, y);
    }
    return out;
  }
  // Effects have no fixed order; show what one side has and the other lacks.
  constexpr auto kEffect = WiringRoot::Kind::kEffect;
  const WiringRoot* x = FirstMissing(a.wiring, b.wiring, kEffect);
  const WiringRoot* y = FirstMissing(b.wiring, a.wiring, kEffect);
  out.root = "effect";
  out.source = x != nullptr ? RootText(a, *x) : "nothing";
  out.result = y != nullptr ? RootText(b, *y) : "nothing";
  if (x != nullptr && x->node.valid()) {
    out.source_line = SourceLine(a.program, x->node);
  }
  if (y != nullptr && y->node.valid()) {
    out.result_line = SourceLine(b.program, y->node);
  }
  return out;
}

}  // namespace tenon
