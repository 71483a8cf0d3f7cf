#include "analysis/effects.h"

#include <gtest/gtest.h>

#include "analysis/order.h"
#include "builder.h"

namespace tenon {
namespace {

using List = std::vector<Builder::Item>;

class EffectsTest : public testing::Test, public Builder {
 protected:
  EffectsTest() : type(F32({2, 2})), x(Input(type, "x")), y(Input(type, "y")) {}
  NodeEffects Of(std::string_view op, const std::vector<Item>& args) {
    return ComputeEffects(program, Op(op, args, {type}));
  }
  TypeId type;
  ValueId x, y;
};

TEST_F(EffectsTest, OperatorsDoWhatTheirSchemasSay) {
  EXPECT_FALSE(Of("aten.add.Tensor", {x, y}).any());
  EXPECT_EQ(Of("aten.add_.Tensor", {x, y}).writes, std::vector<ValueId>{x});
  EXPECT_TRUE(Of("aten.rand_like.default", {x}).is_random);
  EXPECT_TRUE(Of("aten._assert_async.msg", {x}).is_assertion);
  EXPECT_TRUE(Of("my_ops.thing.default", {x}).is_opaque);
  EXPECT_FALSE(Of("_operator.add", {1, 2}).any());
  EXPECT_TRUE(Of("torch._functorch.predispatch._vmap_increment_nesting", {2})
                  .is_opaque);
}

TEST_F(EffectsTest, DropoutDrawsInTrainingOnly) {
  EXPECT_TRUE(Of("aten.dropout.default", {x, 0.5, true}).is_random);
  EXPECT_FALSE(Of("aten.dropout.default", {x, 0.5, false}).any());
  EXPECT_FALSE(
      Of("aten.scaled_dot_product_attention.default", {x, x, x}).any());
}

// The schema of batch_norm doesn't say so.
TEST_F(EffectsTest, BatchNormWritesItsStatisticsInTraining) {
  const ValueId mean = Input(F32({2}), "mean");
  const ValueId variance = Input(F32({2}), "variance");
  const Item none = Arg::None();
  EXPECT_EQ(Of("aten.batch_norm.default",
               {x, none, none, mean, variance, true, 0.1, 1e-5, false})
                .writes,
            (std::vector<ValueId>{mean, variance}));
  EXPECT_FALSE(Of("aten.batch_norm.default",
                  {x, none, none, mean, variance, false, 0.1, 1e-5, false})
                   .any());
}

// A write to a view of an input is a write to the operand.
TEST_F(EffectsTest, CallsWriteWhatTheirGraphsWrite) {
  const GraphId child = program.AddGraph("child");
  const ValueId p = Input(type, "p", child);
  const ValueId q = Input(type, "q", child);
  const ValueId row = Value("aten.select.int", {q, 0, 0}, F32({2}), child);
  Value("aten.add_.Tensor", {row, 1}, F32({2}), child);
  Return({p}, child);
  const NodeId call = program.NewNode(NodeKind::kChildCall);
  program.mutable_node(call).child = child;
  Node(call, {x, y}, {type}, Program::kRoot);
  EXPECT_EQ(ComputeEffects(program, call).writes, std::vector<ValueId>{y});
  const ValueId p0 = Input(Literals(DType::kBool, {}), "p0");
  const NodeId cond =
      Op("higher_order.cond",
         {p0, Arg::OfGraph(child), Arg::OfGraph(child), List{y, x}}, {type});
  EXPECT_EQ(ComputeEffects(program, cond).writes, std::vector<ValueId>{x});
}

TEST_F(EffectsTest, DelegatesWriteWhatTheyDeclare) {
  Delegate d;
  d.inputs = {type, type};
  d.outputs = {type};
  d.writes = {{1, 0, WriteKind::kUser}};
  program.delegates.push_back(d);
  const NodeId call = program.NewNode(NodeKind::kDelegateCall);
  program.mutable_node(call).delegate = DelegateId(0u);
  Node(call, {x, y}, {type}, Program::kRoot);
  EXPECT_EQ(ComputeEffects(program, call).writes, std::vector<ValueId>{y});
  const AliasClasses aliases(program, Program::kRoot);
  EXPECT_TRUE(aliases.MayAlias(y, program.node(call).results[0]));
  EXPECT_FALSE(aliases.MayAlias(x, program.node(call).results[0]));
}

TEST_F(EffectsTest, RecursionIsOpaqueAndEnds) {
  const GraphId child = program.AddGraph("child");
  const NodeId self = program.NewNode(NodeKind::kChildCall);
  program.mutable_node(self).child = child;
  Node(self, {}, {type}, child);
  Return({program.node(self).results[0]}, child);
  EXPECT_TRUE(ComputeEffects(program, self).is_opaque);
}

TEST_F(EffectsTest, ViewsJoinTheirBase) {
  const ValueId t = Value("aten.t.default", {x}, type);
  const ValueId sum = Value("aten.add.Tensor", {t, y}, type);
  const NodeId split =
      Op("aten.split.Tensor", {y, 1}, {F32({1, 2}), F32({1, 2})});
  const ValueId dropped =
      Value("aten.dropout.default", {sum, 0.5, false}, type);
  const AliasClasses aliases(program, Program::kRoot);
  EXPECT_TRUE(aliases.MayAlias(x, t));
  EXPECT_FALSE(aliases.MayAlias(x, y));
  EXPECT_FALSE(aliases.MayAlias(t, sum));
  EXPECT_TRUE(aliases.MayAlias(y, program.node(split).results[1]));
  EXPECT_TRUE(aliases.MayAlias(sum, dropped));
}

// Tied weights: a write to one is seen through the other.
TEST_F(EffectsTest, StateThatSharesAStorageAliases) {
  StateEntry e;
  e.fqn = context->Intern("a");
  e.type = type;
  e.storage = program.state.AddStorage({});
  program.signature.inputs[0] = {InputKind::kBuffer, program.state.Add(e),
                                 false};
  program.signature.inputs[1] = {InputKind::kBuffer, program.state.Add(e),
                                 false};
  const AliasClasses aliases(program, Program::kRoot);
  EXPECT_TRUE(aliases.MayAlias(x, y));
}

TEST_F(EffectsTest, OrderIsThatOfTheList) {
  const NodeId a = Op("aten.neg.default", {x}, {type});
  const NodeId b = Op("aten.neg.default", {y}, {type});
  const NodeOrder order(program, Program::kRoot);
  EXPECT_EQ(order.size(), 3u);
  EXPECT_TRUE(order.Before(a, b));
  EXPECT_EQ(order.at(2), program.root().output);
  EXPECT_FALSE(order.contains(NodeId(99u)));
}

}  // namespace
}  // namespace tenon
