#include "link/join.h"

#include <gtest/gtest.h>

#include "analysis/digest.h"
#include "build.h"

namespace tenon {
namespace {

constexpr GraphId kRoot = Program::kRoot;

// sub(a, b) as a child with declared parameters.
GraphId SubChild(Build* b) {
  const GraphId child = b->program.AddGraph("child");
  const ValueId x = b->Input(child, "p"), y = b->Input(child, "q");
  b->program.mutable_graph(child).parameters = {{b->context().Intern("a")},
                                                {b->context().Intern("b")}};
  b->Return(child, {b->Op(child, "aten.sub.Tensor", {x, y}, "sub")});
  return child;
}

TEST(Join, J1BindsPositionalArgumentsByPosition) {
  Build b;
  const ValueId x = b.Input(kRoot, "x"), y = b.Input(kRoot, "y");
  const NodeId call = b.Call(kRoot, SubChild(&b), {y, x}, 1);
  b.Return(kRoot, {b.Result(call)});
  Diagnostics diags;
  ASSERT_TRUE(JoinAll(&b.program, diags)) << diags.ToString();
  EXPECT_EQ(b.Output(0), "sub(y,x)");
}

TEST(Join, J1BindsKeywordsByDeclaredParameterWhateverTheOrder) {
  Build b;
  const ValueId x = b.Input(kRoot, "x"), y = b.Input(kRoot, "y");
  const NodeId call = b.Call(kRoot, SubChild(&b), {y, x}, 1);
  const ArgRange args = b.program.node(call).args;
  b.program.SetArgLabel(args[0], b.context().Intern("b"), PassKind::kKeyword);
  b.program.SetArgLabel(args[1], b.context().Intern("a"), PassKind::kKeyword);
  b.Return(kRoot, {b.Result(call)});
  Diagnostics diags;
  ASSERT_TRUE(JoinAll(&b.program, diags)) << diags.ToString();
  EXPECT_EQ(b.Output(0), "sub(x,y)");
}

TEST(Join, J1ReportsUnknownMissingAndDoubledArguments) {
  Build b;
  const ValueId x = b.Input(kRoot, "x");
  const GraphId child = SubChild(&b);
  const NodeId unknown = b.Call(kRoot, child, {x, x}, 1);
  b.program.SetArgLabel(b.program.node(unknown).args[1],
                        b.context().Intern("c"), PassKind::kKeyword);
  const NodeId missing = b.Call(kRoot, child, {x}, 1);
  const NodeId doubled = b.Call(kRoot, child, {x, x}, 1);
  b.program.SetArgLabel(b.program.node(doubled).args[1],
                        b.context().Intern("a"), PassKind::kKeyword);
  const NodeId surplus = b.Call(kRoot, child, {x, x, x}, 1);
  b.Return(kRoot, {b.Result(unknown), b.Result(missing), b.Result(doubled),
                   b.Result(surplus)});
  const size_t nodes = b.program.CountNodes(kRoot);
  Diagnostics diags;
  EXPECT_FALSE(JoinAll(&b.program, diags));
  const std::string text = diags.ToString();
  EXPECT_NE(text.find("declares no parameter 'c'"), std::string::npos) << text;
  EXPECT_NE(text.find("input 1 ('b') of the child isn't bound"),
            std::string::npos);
  EXPECT_NE(text.find("input 0 ('a') of the child is bound twice"),
            std::string::npos);
  EXPECT_NE(text.find("is one too many: the child has 2 inputs"),
            std::string::npos);
  // J-11: nothing was changed.
  EXPECT_EQ(b.program.CountNodes(kRoot), nodes);
  EXPECT_EQ(b.program.node(unknown).kind, NodeKind::kChildCall);
}

TEST(Join, J2ANameSharedWithAnUnrelatedProducerChangesNothing) {
  // The parent's producer "mul" and the child's input "mul" are two things; a
  // tool that matches by name computes sub(mul(x,y), ...) here.
  Build b;
  const ValueId x = b.Input(kRoot, "x"), y = b.Input(kRoot, "y");
  const ValueId product = b.Op(kRoot, "aten.mul.Tensor", {x, y}, "mul");
  const GraphId child = b.program.AddGraph("child");
  const ValueId p = b.Input(child, "mul"), q = b.Input(child, "x");
  b.Return(child, {b.Op(child, "aten.sub.Tensor", {p, q}, "mul")});
  const NodeId call = b.Call(kRoot, child, {y, product}, 1);
  b.Return(kRoot, {b.Result(call)});
  Diagnostics diags;
  ASSERT_TRUE(JoinAll(&b.program, diags)) << diags.ToString();
  EXPECT_EQ(b.Output(0), "sub(y,mul(x,y))");
}

TEST(Join, J3ReturnsInputsTwiceValuesAndLiterals) {
  Build b;
  const ValueId x = b.Input(kRoot, "x"), y = b.Input(kRoot, "y");
  const GraphId child = b.program.AddGraph("child");
  const ValueId p = b.Input(child, "p"), q = b.Input(child, "q");
  const ValueId sum = b.Op(child, "aten.add.Tensor", {p, q}, "add");
  b.Return(child, {q, sum, sum, p, p});
  b.program.SetArg(b.program.node(b.program.graph(child).output).args[4],
                   Arg::Int(7));
  const NodeId call = b.Call(kRoot, child, {x, y}, 5);
  b.Return(kRoot, {b.Result(call, 0), b.Result(call, 1), b.Result(call, 2),
                   b.Result(call, 3), b.Result(call, 4)});
  Diagnostics diags;
  ASSERT_TRUE(JoinAll(&b.program, diags)) << diags.ToString();
  EXPECT_EQ(b.Output(0), "y");
  EXPECT_EQ(b.Output(1), "add(x,y)");
  EXPECT_EQ(b.Output(2), "add(x,y)");
  EXPECT_EQ(b.Output(3), "x");
  EXPECT_EQ(b.program.outputs(kRoot)[4].kind, ArgKind::kInt);
  EXPECT_EQ(b.program.outputs(kRoot)[4].i, 7);
  EXPECT_EQ(b.program.CountNodes(kRoot), 1u);
}

TEST(Join, J3ALiteralArgumentStandsWhereTheInputStood) {
  Build b;
  const ValueId x = b.Input(kRoot, "x");
  const NodeId call = b.Call(kRoot, SubChild(&b), {x, x}, 1);
  b.program.SetArg(b.program.node(call).args[1], Arg::Float(0.5), true);
  b.Return(kRoot, {b.Result(call)});
  Diagnostics diags;
  ASSERT_TRUE(JoinAll(&b.program, diags)) << diags.ToString();
  const NodeId sub = b.program.root().first;
  const Arg& other = b.program.args(sub)[1];
  EXPECT_EQ(other.kind, ArgKind::kFloat);
  EXPECT_EQ(b.program.view(other.name), "other");
}

TEST(Join, J4ReportsAResultThatTheChildDoesNotReturn) {
  Build b;
  const ValueId x = b.Input(kRoot, "x");
  const NodeId call = b.Call(kRoot, SubChild(&b), {x, x}, 2);
  b.Return(kRoot, {b.Result(call, 1)});
  Diagnostics diags;
  EXPECT_FALSE(JoinAll(&b.program, diags));
  EXPECT_NE(diags.FirstError().find("returns 1 values, the call has 2"),
            std::string::npos);
}

TEST(Join, J7ExpandsAChildOncePerCall) {
  Build b;
  const ValueId x = b.Input(kRoot, "x"), y = b.Input(kRoot, "y");
  const GraphId child = SubChild(&b);
  const NodeId first = b.Call(kRoot, child, {x, y}, 1);
  const NodeId second = b.Call(kRoot, child, {b.Result(first), x}, 1);
  b.Return(kRoot, {b.Result(second)});
  Diagnostics diags;
  ASSERT_TRUE(JoinAll(&b.program, diags)) << diags.ToString();
  EXPECT_EQ(b.Output(0), "sub(sub(x,y),x)");
  EXPECT_EQ(b.program.CountNodes(kRoot), 2u);
}

TEST(Join, J7JoinsChildrenInChildren) {
  Build b;
  const ValueId x = b.Input(kRoot, "x"), y = b.Input(kRoot, "y");
  const GraphId inner = SubChild(&b);
  const GraphId outer = b.program.AddGraph("outer");
  const ValueId p = b.Input(outer, "x"), q = b.Input(outer, "y");
  const NodeId once = b.Call(outer, inner, {q, p}, 1);
  const NodeId twice = b.Call(outer, inner, {b.Result(once), p}, 1);
  b.Return(outer, {b.Result(twice)});
  const NodeId call = b.Call(kRoot, outer, {x, y}, 1);
  b.Return(kRoot, {b.Result(call)});
  Diagnostics diags;
  ASSERT_TRUE(JoinAll(&b.program, diags)) << diags.ToString();
  EXPECT_EQ(b.Output(0), "sub(sub(y,x),x)");
}

TEST(Join, J7ReportsAChildThatReachesItself) {
  Build b;
  const ValueId x = b.Input(kRoot, "x");
  const GraphId child = b.program.AddGraph("child");
  const ValueId p = b.Input(child, "p");
  b.Return(child, {b.Result(b.Call(child, child, {p}, 1))});
  b.Return(kRoot, {b.Result(b.Call(kRoot, child, {x}, 1))});
  Diagnostics diags;
  EXPECT_FALSE(JoinAll(&b.program, diags));
  EXPECT_EQ(diags.FirstError(), "the child reaches itself");
}

TEST(Join, J5KeepsEffectsThatNothingUses) {
  Build b;
  const ValueId x = b.Input(kRoot, "x"), y = b.Input(kRoot, "y");
  const GraphId child = b.program.AddGraph("child");
  const ValueId p = b.Input(child, "p"), q = b.Input(child, "q");
  b.Op(child, "aten.add_.Tensor", {p, q}, "add_");
  b.Return(child, {});
  b.Call(kRoot, child, {x, y}, 0);
  b.Return(kRoot, {x});
  Diagnostics diags;
  const Digest before = WiringDigest(b.program);
  ASSERT_TRUE(JoinAll(&b.program, diags)) << diags.ToString();
  EXPECT_EQ(b.program.CountNodes(kRoot), 1u);
  EXPECT_EQ(WiringDigest(b.program), before);
}

TEST(Join, J12MovesNodesOfASingleCall) {
  Build b;
  const ValueId x = b.Input(kRoot, "x"), y = b.Input(kRoot, "y");
  const NodeId call = b.Call(kRoot, SubChild(&b), {x, y}, 1);
  b.Return(kRoot, {b.Result(call)});
  const size_t nodes = b.program.num_nodes();
  Diagnostics diags;
  ASSERT_TRUE(JoinAll(&b.program, diags)) << diags.ToString();
  EXPECT_EQ(b.program.num_nodes(), nodes);
}

}  // namespace
}  // namespace tenon
