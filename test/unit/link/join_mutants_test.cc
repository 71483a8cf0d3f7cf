// Joining calls of many shapes, and what may be cut out (J-1 to J-12, P-1).
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "../../one_line.h"
#include "analysis/digest.h"
#include "build.h"
#include "link/join.h"
#include "link/outline.h"
#include "programs.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon {
namespace {

constexpr GraphId kRoot = Program::kRoot;

Program ParseGraphs(std::string_view text) {
  return Parse("tenon 1\n" + std::string(text));
}

std::string Printed(const Program& program) { return PrintOnOneLine(program); }

// Joined and sound.
std::string Joined(Program* program) {
  Diagnostics diags;
  const Digest before = WiringDigest(*program);
  EXPECT_TRUE(JoinAll(program, diags)) << diags.ToString();
  EXPECT_TRUE(Verify(*program, VerifyOptions(), diags)) << diags.ToString();
  EXPECT_EQ(WiringDigest(*program), before);
  return Printed(*program);
}

NodeId Def(const Build& b, ValueId v) { return b.program.value(v).def; }

// --- calls ---

TEST(Join, J1KeywordsBehindPositionalArguments) {
  Build b;
  const ValueId x = b.Input(kRoot, "x"), y = b.Input(kRoot, "y");
  const ValueId z = b.Input(kRoot, "z");
  const GraphId child = b.program.AddGraph("child");
  const ValueId p = b.Input(child, "p"), q = b.Input(child, "q");
  const ValueId r = b.Input(child, "r");
  b.program.mutable_graph(child).parameters = {{b.context().Intern("a")},
                                               {b.context().Intern("b")},
                                               {b.context().Intern("c")}};
  b.Return(child, {b.Op(child, "aten.sub.Tensor",
                        {p, b.Op(child, "aten.mul.Tensor", {q, r})})});
  const NodeId call = b.Call(kRoot, child, {x, y, z}, 1);
  const ArgRange args = b.program.node(call).args;
  b.program.SetArgLabel(args[1], b.context().Intern("c"), PassKind::kKeyword);
  b.program.SetArgLabel(args[2], b.context().Intern("b"), PassKind::kKeyword);
  b.Return(kRoot, {b.Result(call)});
  Diagnostics diags;
  ASSERT_TRUE(JoinAll(&b.program, diags)) << diags.ToString();
  EXPECT_EQ(b.Output(0), "sub(x,mul(z,y))");
}

// A parameter that is declared, but has no input behind it.
TEST(Join, J1AParameterWithoutAnInputTakesNothing) {
  Build b;
  const ValueId x = b.Input(kRoot, "x");
  const GraphId child = b.program.AddGraph("child");
  b.Return(child, {b.Input(child, "p")});
  b.program.mutable_graph(child).parameters = {{b.context().Intern("a")},
                                               {b.context().Intern("b")}};
  const NodeId call = b.Call(kRoot, child, {x}, 1);
  b.program.SetArgLabel(b.program.node(call).args[0], b.context().Intern("b"),
                        PassKind::kKeyword);
  b.Return(kRoot, {b.Result(call)});
  Diagnostics diags;
  EXPECT_FALSE(JoinAll(&b.program, diags));
  EXPECT_TRUE(Has(diags.ToString(), "[J-1]")) << diags.ToString();
}

// Parameters may be declared for the first inputs only.
TEST(Join, J1AMissingArgumentWithoutAParametersName) {
  Build b;
  const ValueId x = b.Input(kRoot, "x");
  const GraphId child = b.program.AddGraph("child");
  const ValueId p = b.Input(child, "p"), q = b.Input(child, "q");
  b.Return(child, {b.Op(child, "aten.sub.Tensor", {p, q})});
  b.program.mutable_graph(child).parameters = {{b.context().Intern("a")}};
  b.Return(kRoot, {b.Result(b.Call(kRoot, child, {x}, 1))});
  Diagnostics diags;
  EXPECT_FALSE(JoinAll(&b.program, diags));
  EXPECT_EQ(diags.FirstError(), "input 1 of the child isn't bound");
}

TEST(Join, OneCallOfTwoIsJoinedByACopy) {
  Build b;
  const ValueId x = b.Input(kRoot, "x"), y = b.Input(kRoot, "y");
  const GraphId child = b.program.AddGraph("child");
  const ValueId p = b.Input(child, "p");
  b.Return(child, {b.Op(child, "aten.neg.default", {p})});
  const NodeId first = b.Call(kRoot, child, {x}, 1);
  const NodeId second = b.Call(kRoot, child, {y}, 1);
  b.Return(kRoot, {b.Result(first), b.Result(second)});
  Diagnostics diags;
  ASSERT_TRUE(JoinCall(&b.program, kRoot, first, JoinMode::kCopy, diags));
  EXPECT_EQ(b.Output(0), "neg(x)");
  EXPECT_FALSE(b.program.graph(child).is_erased);
  ASSERT_TRUE(JoinCall(&b.program, kRoot, second, JoinMode::kMove, diags));
  EXPECT_EQ(b.Output(1), "neg(y)");
  EXPECT_TRUE(b.program.graph(child).is_erased);
}

// A list as an argument: each use in the child gets one of its own.
TEST(Join, J3AListIsPassedWhole) {
  Build b;
  const ValueId x = b.Input(kRoot, "x"), y = b.Input(kRoot, "y");
  const GraphId child = b.program.AddGraph("child");
  const ValueId list = b.Input(child, "list");
  b.Return(child, {b.Op(child, "aten.cat.default", {list}),
                   b.Op(child, "aten.stack.default", {list})});
  const NodeId call = b.Call(kRoot, child, {x}, 2);
  const ArgRange items = b.program.NewArgs(2);
  b.program.SetValueArg(items[0], call, x);
  b.program.SetValueArg(items[1], call, y);
  b.program.SetArg(b.program.node(call).args[0],
                   Arg::OfList(ListTag::kTensors, items), true);
  b.Return(kRoot, {b.Result(call, 0), b.Result(call, 1)});
  Diagnostics diags;
  ASSERT_TRUE(JoinAll(&b.program, diags)) << diags.ToString();
  EXPECT_EQ(b.Output(0), "cat(x,y)");
  EXPECT_EQ(b.Output(1), "stack(x,y)");
  for (const NodeId n : b.program.nodes(kRoot)) {
    if (n == b.program.root().output) break;
    EXPECT_EQ(b.program.args(n)[0].kind, ArgKind::kList);
  }
  // The call's own uses are gone: one of each input per list.
  EXPECT_EQ(b.program.value(x).num_uses, 2u);
  EXPECT_EQ(b.program.value(y).num_uses, 2u);
}

// A child that is also a branch stays; its call gets a copy.
TEST(Join, J7AGraphThatControlFlowHoldsStays) {
  Program program = ParseGraphs(R"(
graph @main(%p : bool[], %x : f32[2]) {
  %y : f32[2] = call @child(%x)
  %z : f32[2] = higher_order.cond(%p, @child, @other, [%y]) single_return False
  return (%z)
}
graph @child(%a : f32[2]) {
  %s : f32[2] = call @inner(%a)
  %t : f32[2] = call @inner(%s)
  return (%t)
}
graph @other(%a : f32[2]) {
  %s : f32[2] = aten.neg.default(%a)
  return (%s)
}
graph @inner(%a : f32[2]) {
  %s : f32[2] = aten.sin.default(%a)
  return (%s)
}
)");
  const std::string text = Joined(&program);
  EXPECT_FALSE(Has(text, "call @")) << text;
  EXPECT_TRUE(Has(text, "graph @child(")) << text;
  EXPECT_FALSE(Has(text, "graph @inner(")) << text;
}

TEST(Join, J7SourcesOfDelegatesAreJoinedAndStay) {
  Program program = ParseGraphs(R"(
delegate @r backend "cpu" source @source
  inputs (f32[2])
  outputs (f32[2])
graph @main(%x : f32[2]) {
  %y : f32[2] = delegate @r(%x)
  %z : f32[2] = call @source(%y)
  return (%z)
}
graph @source(%a : f32[2]) {
  %s : f32[2] = call @inner(%a)
  return (%s)
}
graph @inner(%a : f32[2]) {
  %s : f32[2] = aten.sin.default(%a)
  return (%s)
}
)");
  const std::string text = Joined(&program);
  EXPECT_FALSE(Has(text, "call @")) << text;
  EXPECT_TRUE(Has(text, "graph @source(")) << text;
  EXPECT_TRUE(Has(text, "delegate @r(%x)")) << text;
}

TEST(Join, J7ADelegateCompiledFromItsCallerIsACycle) {
  Program program = ParseGraphs(R"(
delegate @r backend "cpu" source @source
  inputs (f32[2])
  outputs (f32[2])
graph @main(%x : f32[2]) {
  %y : f32[2] = call @source(%x)
  return (%y)
}
graph @source(%a : f32[2]) {
  %s : f32[2] = delegate @r(%a)
  return (%s)
}
)");
  Diagnostics diags;
  EXPECT_FALSE(JoinAll(&program, diags));
  EXPECT_TRUE(Has(diags.ToString(), "[J-7]")) << diags.ToString();
}

// Each level calls the next twice: joined, more nodes than any memory holds,
// at last more than a number holds.
TEST(Join, J12CallsThatMultiplyAreRefused) {
  for (const uint32_t levels : {3u, 30u, 70u}) {
    Build b;
    const ValueId x = b.Input(kRoot, "x");
    std::vector<GraphId> graphs;
    for (uint32_t i = 0; i < levels; ++i) {
      graphs.push_back(b.program.AddGraph("level" + std::to_string(i)));
    }
    for (uint32_t i = 0; i < levels; ++i) {
      const ValueId p = b.Input(graphs[i], "p");
      if (i + 1 == levels) {
        b.Return(graphs[i], {b.Op(graphs[i], "aten.neg.default", {p})});
        continue;
      }
      const NodeId once = b.Call(graphs[i], graphs[i + 1], {p}, 1);
      b.Return(
          graphs[i],
          {b.Result(b.Call(graphs[i], graphs[i + 1], {b.Result(once)}, 1))});
    }
    const NodeId call = b.Call(kRoot, graphs[0], {x}, 1);
    b.Return(kRoot, {b.Result(call)});
    Diagnostics diags;
    EXPECT_EQ(JoinAll(&b.program, diags).ok(), levels == 3) << levels;
    if (levels == 3) {
      EXPECT_EQ(b.program.CountNodes(kRoot), 4u);
      continue;
    }
    EXPECT_TRUE(Has(diags.ToString(), "more than 250000000 nodes"))
        << diags.ToString();
    // The first graph that is too large is named, not one that calls it.
    EXPECT_TRUE(Has(diags.ToString(), levels == 30 ? "error: main" : "level"))
        << diags.ToString();
    EXPECT_EQ(b.program.CountNodes(kRoot), 1u);
  }
}

// --- delegates back to calls ---

TEST(ExpandDelegates, CallsWhatTheyWereCompiledFrom) {
  Program program = ParseGraphs(R"(
delegate @r backend "cpu" source @one
  inputs (f32[2])
  outputs (f32[2])
delegate @s backend "cpu" source @two
  inputs (f32[2])
  outputs (f32[2])
graph @main(%x : f32[2]) {
  %y : f32[2] = delegate @s(%x)
  %z : f32[2] = delegate @r(%y)
  %u : f32[2] = aten.neg.default(%z)
  return (%u)
}
graph @one(%a : f32[2]) {
  %s : f32[2] = aten.sin.default(%a)
  return (%s)
}
graph @two(%a : f32[2]) {
  %s : f32[2] = aten.cos.default(%a)
  return (%s)
}
)");
  Diagnostics diags;
  ASSERT_TRUE(ExpandDelegates(&program, diags)) << diags.ToString();
  EXPECT_TRUE(Verify(program, VerifyOptions(), diags)) << diags.ToString();
  const std::string text = Printed(program);
  EXPECT_TRUE(Has(text, "%y : f32[2] = call @two(%x)")) << text;
  EXPECT_TRUE(Has(text, "%z : f32[2] = call @one(%y)")) << text;
  EXPECT_FALSE(Has(text, "delegate")) << text;
}

TEST(ExpandDelegates, OneWithoutASourceIsAnError) {
  Program program = ParseGraphs(R"(
delegate @r backend "cpu" source @one
  inputs (f32[2])
  outputs (f32[2])
delegate @opaque backend "cpu"
  inputs (f32[2])
  outputs (f32[2])
graph @main(%x : f32[2]) {
  %y : f32[2] = delegate @r(%x)
  %z : f32[2] = delegate @opaque(%y)
  return (%z)
}
graph @one(%a : f32[2]) {
  %s : f32[2] = aten.sin.default(%a)
  return (%s)
}
)");
  const std::string before = Printed(program);
  Diagnostics diags;
  EXPECT_FALSE(ExpandDelegates(&program, diags));
  EXPECT_TRUE(Has(diags.ToString(), "opaque")) << diags.ToString();
  EXPECT_EQ(diags.num_errors(), 1u);
  EXPECT_EQ(Printed(program), before);
}

// --- cutting out ---

TEST(Outline, P1RegionsHoldNodesOfTheirGraphOnce) {
  Build b;
  const ValueId x = b.Input(kRoot, "x");
  const ValueId y = b.Op(kRoot, "aten.neg.default", {x}, "y");
  const GraphId child = b.program.AddGraph("child");
  const ValueId p = b.Input(child, "p");
  const ValueId q = b.Op(child, "aten.neg.default", {p}, "q");
  b.Return(child, {q});
  const NodeId call = b.Call(kRoot, child, {y}, 1);
  b.Return(kRoot, {b.Result(call)});
  const NodeId beyond(static_cast<uint32_t>(b.program.num_nodes()));
  const auto refused = [&](const std::vector<RegionNodes>& regions) {
    Diagnostics diags;
    const bool ok = OutlineRegions(&b.program, kRoot, regions, diags).ok();
    return ok ? "" : diags.FirstError();
  };
  EXPECT_TRUE(Has(refused({{"r", "", {Def(b, q)}}}), "of another graph"));
  EXPECT_TRUE(Has(refused({{"r", "", {beyond}}}), "of another graph"));
  EXPECT_TRUE(Has(refused({{"r", "", {Def(b, y)}}, {"s", "", {Def(b, y)}}}),
                  "in two regions, 'r' and 's'"));
  EXPECT_EQ(b.program.CountNodes(kRoot), 2u);
  EXPECT_EQ(b.program.num_graphs(), 2u);
}

TEST(Outline, P1ARegionWithoutNodesIsACallOfAnEmptyChild) {
  Build b;
  const ValueId x = b.Input(kRoot, "x");
  const ValueId y = b.Op(kRoot, "aten.neg.default", {x}, "y");
  b.Return(kRoot, {y});
  Diagnostics diags;
  const auto out = OutlineRegions(
      &b.program, kRoot, {{"empty", "cpu", {}}, {"r", "", {Def(b, y)}}}, diags);
  ASSERT_TRUE(out) << diags.ToString();
  ASSERT_EQ(out->size(), 2u);
  EXPECT_EQ(b.program.CountNodes((*out)[0].child), 0u);
  EXPECT_EQ(b.program.args((*out)[0].call).size(), 0u);
  EXPECT_EQ(b.program.CountNodes((*out)[1].child), 1u);
  EXPECT_TRUE(Verify(b.program, VerifyOptions(), diags)) << diags.ToString();
}

// In which order regions are listed says nothing about the order of nodes.
TEST(Outline, P4RegionsMayBeListedInAnyOrder) {
  Build b;
  const ValueId x = b.Input(kRoot, "x");
  const ValueId y = b.Op(kRoot, "aten.neg.default", {x}, "y");
  const ValueId z = b.Op(kRoot, "aten.sin.default", {y}, "z");
  const ValueId u = b.Op(kRoot, "aten.cos.default", {z}, "u");
  b.Return(kRoot, {u});
  const Digest before = WiringDigest(b.program);
  Diagnostics diags;
  const auto out = OutlineRegions(
      &b.program, kRoot,
      {{"3", "", {Def(b, u)}}, {"2", "", {Def(b, z)}}, {"1", "", {Def(b, y)}}},
      diags);
  ASSERT_TRUE(out) << diags.ToString();
  EXPECT_TRUE(Verify(b.program, VerifyOptions(), diags)) << diags.ToString();
  EXPECT_EQ(WiringDigest(b.program), before);
  std::vector<NodeId> order;
  for (const NodeId n : b.program.nodes(kRoot)) order.push_back(n);
  EXPECT_EQ(order,
            (std::vector<NodeId>{(*out)[2].call, (*out)[1].call, (*out)[0].call,
                                 b.program.root().output}));
}

// What no region needs moved keeps its place.
TEST(Outline, P1NodesOutsideStayInOrder) {
  Build b;
  const ValueId x = b.Input(kRoot, "x");
  const ValueId a = b.Op(kRoot, "aten.neg.default", {x}, "a");
  const ValueId between = b.Op(kRoot, "aten.sin.default", {x}, "between");
  const ValueId c = b.Op(kRoot, "aten.cos.default", {a}, "c");
  const ValueId later = b.Op(kRoot, "aten.abs.default", {x}, "later");
  b.Return(kRoot, {c, between, later});
  Diagnostics diags;
  const auto positions = NodePositions(b.program, kRoot);
  const auto out = OutlineRegions(&b.program, kRoot,
                                  {{"r", "", {Def(b, a), Def(b, c)}}}, diags);
  ASSERT_TRUE(out) << diags.ToString();
  std::vector<NodeId> order;
  for (const NodeId n : b.program.nodes(kRoot)) order.push_back(n);
  EXPECT_EQ(order,
            (std::vector<NodeId>{(*out)[0].call, Def(b, between), Def(b, later),
                                 b.program.root().output}));
  ASSERT_TRUE(JoinAll(&b.program, diags)) << diags.ToString();
  RestoreOrder(&b.program, kRoot, positions);
  order.clear();
  for (const NodeId n : b.program.nodes(kRoot)) order.push_back(n);
  EXPECT_EQ(order,
            (std::vector<NodeId>{Def(b, a), Def(b, between), Def(b, c),
                                 Def(b, later), b.program.root().output}));
}

// The error names a region that is in the way, not one that could be cut.
TEST(Outline, P1TheErrorNamesTheRegionThatIsNotConvex) {
  Build b;
  const ValueId x = b.Input(kRoot, "x");
  const ValueId lone = b.Op(kRoot, "aten.abs.default", {x}, "lone");
  const ValueId a = b.Op(kRoot, "aten.neg.default", {lone}, "a");
  const ValueId between = b.Op(kRoot, "aten.sin.default", {a}, "between");
  const ValueId c = b.Op(kRoot, "aten.add.Tensor", {between, a}, "c");
  b.Return(kRoot, {c});
  Diagnostics diags;
  EXPECT_FALSE(OutlineRegions(
      &b.program, kRoot,
      {{"fine", "", {Def(b, lone)}}, {"torn", "", {Def(b, a), Def(b, c)}}},
      diags));
  EXPECT_TRUE(Has(diags.FirstError(), "region 'torn'")) << diags.FirstError();
}

}  // namespace
}  // namespace tenon
