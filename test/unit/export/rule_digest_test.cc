// T-1: one operand, one constant, one operator or one output position changed
// in a random program is another program.
#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/digest.h"
#include "export/export.h"
#include "property.h"
#include "testing/choices.h"

namespace tenon {
namespace {

using testing::Choices;

// Nodes of the root that an output needs. Not followed through nodes with
// graphs of their own: a branch may ignore its operand.
std::vector<NodeId> LiveNodes(const Program& program) {
  std::vector<bool> is_live(program.num_nodes(), false);
  std::vector<NodeId> open, live;
  const auto reach = [&](ValueId v) {
    const NodeId n = program.value(v).def;
    if (!n.valid() || is_live[n.index]) return;
    is_live[n.index] = true;
    open.push_back(n);
  };
  for (const Arg& output : program.outputs(Program::kRoot)) {
    if (output.is_value()) reach(output.value());
  }
  while (!open.empty()) {
    const NodeId n = open.back();
    open.pop_back();
    bool has_graphs = program.node(n).kind != NodeKind::kOp;
    program.ForEachNestedGraph(n, [&](GraphId) { has_graphs = true; });
    if (has_graphs) continue;
    live.push_back(n);
    program.ForEachOperand(n, reach);
  }
  return live;
}

// Values of the root before `n`.
std::vector<ValueId> ValuesBefore(const Program& program, NodeId n) {
  std::vector<ValueId> values = program.root().inputs;
  for (const NodeId before : program.nodes(Program::kRoot)) {
    if (before == n) break;
    const ValueRange results = program.node(before).results;
    for (uint32_t i = 0; i < results.count; ++i) values.push_back(results[i]);
  }
  return values;
}

// --- the edits; false when the node has nothing of the kind ---

// Another value of the same type, which isn't the same expression.
bool ChangeOperand(Program* program, NodeId n, Choices* choices) {
  const std::vector<Digest> digests = ComputeValueDigests(*program);
  const std::vector<ValueId> values = ValuesBefore(*program, n);
  std::vector<std::pair<ArgId, ValueId>> ways;
  program->ForEachArg(program->node(n).args, [&](const Arg& arg, ArgId at) {
    if (!arg.is_value()) return;
    for (const ValueId v : values) {
      if (program->value(v).type == program->value(arg.value()).type &&
          digests[v.index] != digests[arg.value().index]) {
        ways.emplace_back(at, v);
      }
    }
  });
  if (ways.empty()) return false;
  const auto [at, v] = choices->PickFrom(ways);
  program->SetValueArg(at, n, v);
  return true;
}

bool ChangeConstant(Program* program, NodeId n, Choices* choices) {
  std::vector<ArgId> ways;
  program->ForEachArg(program->node(n).args, [&](const Arg& arg, ArgId at) {
    if (arg.kind == ArgKind::kInt || arg.kind == ArgKind::kFloat ||
        arg.kind == ArgKind::kBool) {
      ways.push_back(at);
    }
  });
  if (ways.empty()) return false;
  const ArgId at = choices->PickFrom(ways);
  const Arg old = program->arg(at);
  program->SetArg(at,
                  old.kind == ArgKind::kInt     ? Arg::Int(old.i + 1)
                  : old.kind == ArgKind::kFloat ? Arg::Float(old.f + 1)
                                                : Arg::Bool(old.i == 0),
                  /*keep_label=*/true);
  return true;
}

constexpr std::string_view kAlike[][2] = {
    {"aten.add.Tensor", "aten.sub.Tensor"},
    {"aten.mul.Tensor", "aten.div.Tensor"},
    {"aten.maximum.default", "aten.minimum.default"},
    {"aten.relu.default", "aten.neg.default"},
    {"aten.tanh.default", "aten.sigmoid.default"},
    {"aten.sin.default", "aten.cos.default"},
    {"aten.gt.Scalar", "aten.ge.Scalar"},
    {"aten.gt.Tensor", "aten.lt.Tensor"}};

bool ChangeOperator(Program* program, NodeId n, Choices*) {
  if (program->node(n).kind != NodeKind::kOp) return false;
  for (const auto& [a, b] : kAlike) {
    const std::string_view name = program->op_name(n);
    if (name != a && name != b) continue;
    program->mutable_node(n).op =
        program->context().InternOp(name == a ? b : a);
    return true;
  }
  return false;
}

// Two operands of the node, or of the output node, exchanged.
bool ChangePosition(Program* program, NodeId n, Choices* choices) {
  const std::vector<Digest> digests = ComputeValueDigests(*program);
  std::vector<std::pair<ArgId, ValueId>> operands;
  program->ForEachArg(program->node(n).args, [&](const Arg& arg, ArgId at) {
    if (arg.is_value()) operands.emplace_back(at, arg.value());
  });
  if (operands.size() < 2) return false;
  const auto a = choices->PickFrom(operands), b = choices->PickFrom(operands);
  if (digests[a.second.index] == digests[b.second.index]) return false;
  program->SetValueArg(a.first, n, b.second);
  program->SetValueArg(b.first, n, a.second);
  return true;
}

using Edit = bool (*)(Program*, NodeId, Choices*);

// Tries `edit` on live nodes of each program, and wants to see it found each
// time. Returns how often there was something to edit.
size_t CountFound(Edit edit) {
  size_t num_found = 0;
  for (uint64_t seed = 0; seed < NumSeeds(100); ++seed) {
    const Program source = RandomProgram(seed);
    std::vector<NodeId> nodes = LiveNodes(source);
    nodes.push_back(source.root().output);
    const Digest before = WiringDigest(source);
    Choices choices(seed);
    for (int i = 0; i < 5; ++i) {
      Program changed = source.Clone();
      const NodeId n = choices.PickFrom(nodes);
      if (!edit(&changed, n, &choices)) continue;
      if (!WhyRefused(changed).empty())
        continue;  // digests need a valid program
      EXPECT_FALSE(WiringDigest(changed) == before)
          << "seed " << seed << ", node " << PrintNode(changed, n) << "\n"
          << TextOf(source);
      Diagnostics diags;
      EXPECT_FALSE(ProveEqual(source, changed, diags)) << "seed " << seed;
      EXPECT_TRUE(diags.has_errors()) << "seed " << seed;
      ++num_found;
      if (::testing::Test::HasFailure()) return num_found;
    }
  }
  return num_found;
}

TEST(OneChange, T1AnotherOperand) { EXPECT_GT(CountFound(ChangeOperand), 50u); }
TEST(OneChange, T1AnotherConstant) {
  EXPECT_GT(CountFound(ChangeConstant), 20u);
}
TEST(OneChange, T1AnotherOperator) {
  EXPECT_GT(CountFound(ChangeOperator), 20u);
}
TEST(OneChange, T1AnotherPosition) {
  EXPECT_GT(CountFound(ChangePosition), 20u);
}

}  // namespace
}  // namespace tenon
