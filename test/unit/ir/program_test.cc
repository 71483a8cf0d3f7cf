#include "ir/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "../analysis/builder.h"
#include "ir/clone.h"
#include "ir/naming.h"

namespace tenon {
namespace {

// Who uses what, counted from the arguments alone.
std::multiset<std::pair<uint32_t, uint32_t>> UsesByArgs(const Program& p) {
  std::multiset<std::pair<uint32_t, uint32_t>> out;
  for (uint32_t g = 0; g < p.num_graphs(); ++g) {
    if (p.graph(GraphId(g)).is_erased) continue;
    for (const NodeId n : p.nodes(GraphId(g))) {
      p.ForEachOperand(n, [&](ValueId v) { out.emplace(v.index, n.index); });
    }
  }
  return out;
}

std::multiset<std::pair<uint32_t, uint32_t>> UsesByLists(const Program& p) {
  std::multiset<std::pair<uint32_t, uint32_t>> out;
  for (uint32_t v = 0; v < p.num_values(); ++v) {
    uint32_t count = 0;
    p.ForEachUse(ValueId(v), [&](UseId u) {
      ++count;
      out.emplace(v, p.use(u).user.index);
      EXPECT_EQ(p.arg(p.use(u).arg).value(), ValueId(v));
    });
    EXPECT_EQ(count, p.value(ValueId(v)).num_uses);
  }
  return out;
}

TEST(Uses, FollowRandomEdits) {
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    Builder b;
    Program& p = b.program;
    const TypeId type = b.F32({2});
    std::vector<ValueId> values = {b.Input(type, "x"), b.Input(type, "y")};
    std::vector<NodeId> nodes;
    const auto any = [&] { return values[random() % values.size()]; };
    for (int edit = 0; edit < 300; ++edit) {
      switch (nodes.empty() ? 0 : random() % 8) {
        case 0:
        case 1:
          nodes.push_back(
              b.Op("aten.cat.default",
                   {std::vector<Builder::Item>{any(), any()}, any()}, {type}));
          values.push_back(p.node(nodes.back()).results[0]);
          break;
        case 2: {
          const NodeId n = nodes[random() % nodes.size()];
          p.SetValueArg(p.node(n).args[1], n, any());
          break;
        }
        case 3: {
          const NodeId n = nodes[random() % nodes.size()];
          p.SetArg(p.node(n).args[1], Arg::Int(3), true);
          break;
        }
        case 4:
          p.ReplaceAllUses(any(), any());
          break;
        case 5: {
          const ValueId v = any();
          if (p.value(v).num_uses > 0) {
            p.ReplaceUse(p.value(v).first_use, any());
          }
          break;
        }
        case 6: {
          const ValueId v = any();
          if (p.value(v).num_uses > 0) {
            p.ReplaceUse(p.value(v).first_use, Arg::Bool(true));
          }
          break;
        }
        case 7: {
          const size_t i = random() % nodes.size();
          const ValueId v = p.node(nodes[i]).results[0];
          if (p.value(v).num_uses > 0) break;
          p.Erase(Program::kRoot, nodes[i]);
          nodes.erase(nodes.begin() + static_cast<long>(i));
          values.erase(std::find(values.begin(), values.end(), v));
          break;
        }
      }
    }
    b.Return({any(), any()});
    EXPECT_EQ(UsesByArgs(p), UsesByLists(p));
    EXPECT_EQ(p.CountNodes(Program::kRoot), nodes.size());
    const Program copy = p.Clone();
    EXPECT_EQ(UsesByLists(copy), UsesByLists(p));
  }
}

TEST(Lists, SpliceMovesAllNodes) {
  Builder b;
  Program& p = b.program;
  const TypeId type = b.F32({2});
  const ValueId x = b.Input(type, "x");
  const GraphId other = p.AddGraph("other");
  std::vector<NodeId> expected;
  expected.push_back(b.Op("aten.neg.default", {x}, {type}));
  const NodeId anchor = b.Op("aten.neg.default", {x}, {type});
  expected.push_back(b.Op("aten.neg.default", {x}, {type}, other));
  expected.push_back(b.Op("aten.neg.default", {x}, {type}, other));
  expected.push_back(anchor);
  p.SpliceBefore(Program::kRoot, anchor, other);
  p.SpliceBefore(Program::kRoot, anchor, other);  // empty now: no change
  std::vector<NodeId> found;
  for (const NodeId n : p.nodes(Program::kRoot)) found.push_back(n);
  expected.push_back(p.root().output);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(p.CountNodes(other), 0u);
  // Backwards, too.
  for (size_t i = found.size(); i-- > 1;) {
    EXPECT_EQ(p.node(found[i]).prev, found[i - 1]);
  }
  EXPECT_FALSE(p.node(found[0]).prev.valid());
}

TEST(Lists, ErasingInsideTheLoopIsAllowed) {
  Builder b;
  const TypeId type = b.F32({2});
  const ValueId x = b.Input(type, "x");
  for (int i = 0; i < 5; ++i) b.Op("aten.neg.default", {x}, {type});
  for (const NodeId n : b.program.nodes(Program::kRoot)) {
    if (n != b.program.root().output) b.program.Erase(Program::kRoot, n);
  }
  EXPECT_EQ(b.program.CountNodes(Program::kRoot), 0u);
  EXPECT_EQ(b.program.value(x).num_uses, 0u);
}

TEST(Lists, EraseGraphDropsItsUses) {
  Builder b;
  const TypeId type = b.F32({2});
  const GraphId g = b.program.AddGraph("g");
  const ValueId p = b.Input(type, "p", g);
  b.Return({b.Value("aten.add.Tensor", {p, p}, type, g), p}, g);
  b.program.EraseGraph(g);
  EXPECT_TRUE(b.program.graph(g).is_erased);
  EXPECT_EQ(b.program.value(p).num_uses, 0u);
}

// The nodes that a graph's list of callers has to hold, found by a walk.
std::vector<NodeId> CallersByWalk(const Program& p, GraphId g) {
  std::vector<NodeId> out;
  for (const NodeId n : p.nodes(g)) {
    const Node& node = p.node(n);
    if (node.kind == NodeKind::kChildCall ||
        node.kind == NodeKind::kDelegateCall ||
        (node.kind == NodeKind::kOp &&
         p.context().op(node.op).may_hold_graphs())) {
      out.push_back(n);
    }
  }
  return out;
}

std::vector<NodeId> CallersByList(const Program& p, GraphId g) {
  std::vector<NodeId> out;
  p.ForEachCaller(g, [&](NodeId n) { out.push_back(n); });
  return out;
}

TEST(Callers, AreInTheOrderOfAppending) {
  Builder b;
  Program& p = b.program;
  const GraphId child = p.AddGraph("child");
  b.Return({1}, child);
  const auto call = [&](NodeKind kind) {
    const NodeId n = p.NewNode(kind);
    p.mutable_node(n).child = child;
    p.Append(Program::kRoot, n);
    return n;
  };
  const NodeId first = call(NodeKind::kChildCall);
  b.Op("aten.relu.default", {}, {});
  const NodeId opaque = b.Op("my.custom.default", {}, {});
  const NodeId nested = b.Op("higher_order.cond", {Arg::OfGraph(child)}, {});
  const NodeId last = call(NodeKind::kDelegateCall);
  EXPECT_EQ(CallersByList(p, Program::kRoot),
            (std::vector<NodeId>{first, opaque, nested, last}));
  EXPECT_TRUE(CallersByList(p, child).empty());
  // One before a caller is before it in the list as well.
  p.Unlink(Program::kRoot, last);
  p.InsertBefore(Program::kRoot, opaque, last);
  EXPECT_EQ(CallersByList(p, Program::kRoot),
            (std::vector<NodeId>{first, last, opaque, nested}));
}

TEST(Callers, FollowRandomMoves) {
  std::mt19937 random(5);
  for (int round = 0; round < 40; ++round) {
    Builder b;
    Program& p = b.program;
    std::vector<GraphId> graphs = {Program::kRoot, p.AddGraph("a"),
                                   p.AddGraph("b")};
    // Where each node is; invalid when it is in none.
    std::map<NodeId, GraphId> places;
    const auto any_node = [&] {
      return std::next(places.begin(),
                       static_cast<long>(random() % places.size()));
    };
    const auto any_graph = [&] { return graphs[random() % graphs.size()]; };
    const auto insert = [&](NodeId n, GraphId g) {
      std::vector<NodeId> anchors;
      for (const NodeId at : p.nodes(g)) anchors.push_back(at);
      p.InsertBefore(g, anchors[random() % anchors.size()], n);
      places[n] = g;
    };
    for (int edit = 0; edit < 300; ++edit) {
      switch (places.empty() ? 0 : random() % 5) {
        case 0:
          insert(p.NewOp(p.context().InternOp("aten.relu.default"), StringId()),
                 any_graph());
          break;
        case 1:
          insert(p.NewNode(random() % 2 == 0 ? NodeKind::kChildCall
                                             : NodeKind::kDelegateCall),
                 any_graph());
          break;
        case 2: {  // elsewhere
          const auto [n, g] = *any_node();
          p.Unlink(g, n);
          insert(n, any_graph());
          break;
        }
        case 3: {
          const auto [n, g] = *any_node();
          p.Erase(g, n);
          places.erase(n);
          break;
        }
        case 4: {
          const auto [anchor, to] = *any_node();
          const GraphId from = any_graph();
          if (from == to) break;
          p.SpliceBefore(to, anchor, from);
          for (auto& [n, g] : places) {
            if (g == from) g = to;
          }
          break;
        }
      }
      for (const GraphId g : graphs) {
        std::vector<NodeId> walked = CallersByWalk(p, g);
        std::vector<NodeId> listed = CallersByList(p, g);
        std::sort(walked.begin(), walked.end());
        std::sort(listed.begin(), listed.end());
        ASSERT_EQ(listed, walked);
        const auto num_nodes = std::count_if(
            places.begin(), places.end(),
            [&, at = g](const auto& place) { return place.second == at; });
        ASSERT_EQ(p.CountNodes(g), static_cast<size_t>(num_nodes));
      }
    }
    const Program copy = p.Clone();
    for (const GraphId g : graphs) {
      EXPECT_EQ(CallersByList(copy, g), CallersByList(p, g));
    }
  }
}

TEST(Clone, TakesNestedGraphsAlong) {
  Builder b;
  Program& p = b.program;
  const TypeId type = b.F32({2});
  const GraphId inner = p.AddGraph("inner");
  const ValueId i = b.Input(type, "i", inner);
  b.Return({b.Value("aten.neg.default", {i}, type, inner)}, inner);
  const GraphId outer = p.AddGraph("outer");
  const ValueId o = b.Input(type, "o", outer);
  const NodeId call =
      b.Op("higher_order.invoke_subgraph",
           {Arg::OfGraph(inner), Arg::None(), o}, {type}, outer);
  b.Return({p.node(call).results[0], 3}, outer);

  CloneMap map;
  const GraphId copy = CloneGraph(p, outer, &p, &map);
  EXPECT_NE(copy, outer);
  EXPECT_EQ(p.CountNodes(copy), 1u);
  EXPECT_EQ(p.graph(copy).inputs[0], map.value(o));
  const NodeId copied = p.graph(copy).first;
  const GraphId copied_inner = p.args(copied)[0].graph;
  EXPECT_NE(copied_inner, inner);
  EXPECT_EQ(p.CountNodes(copied_inner), 1u);
  EXPECT_EQ(p.args(copied)[2].value(), map.value(o));
  EXPECT_EQ(p.outputs(copy)[1].i, 3);
  EXPECT_EQ(UsesByArgs(p), UsesByLists(p));

  const Program alone = ExtractGraph(p, outer);
  EXPECT_EQ(alone.CountNodes(Program::kRoot), 1u);
  EXPECT_EQ(alone.signature.inputs.size(), 1u);
  EXPECT_EQ(alone.signature.outputs.size(), 2u);
  EXPECT_EQ(UsesByArgs(alone), UsesByLists(alone));
}

TEST(Naming, KeepsFreeLabelsAndSuffixesOthers) {
  Builder b;
  const TypeId type = b.F32({2});
  const ValueId x = b.Input(type, "add");
  std::vector<ValueId> v;
  for (const char* label : {"add", "add_1", "add", "", "class"}) {
    v.push_back(b.Value("aten.add.Tensor", {x, x}, type));
    b.program.mutable_value(v.back()).name = b.context->Intern(label);
  }
  b.Return({v[0]});
  const NameTable names(b.program, NameTable::Rule::kPythonIdentifier);
  std::set<std::string_view> seen = {names.value(x)};
  EXPECT_EQ(names.value(x), "add");
  EXPECT_EQ(names.value(v[1]), "add_1");  // bears it: keeps it
  for (const ValueId value : v) {
    EXPECT_TRUE(seen.insert(names.value(value)).second) << names.value(value);
    EXPECT_TRUE(IsPythonIdentifier(names.value(value)));
  }
}

TEST(Context, InternsOnce) {
  Context c;
  EXPECT_EQ(c.InternOp("aten.add.Tensor"), c.InternOp("aten.add.Tensor"));
  EXPECT_NE(c.op(c.InternOp("aten.add.Tensor")).schema, nullptr);
  EXPECT_TRUE(c.op(c.InternOp("higher_order.cond")).is_higher_order);
  EXPECT_TRUE(c.op(c.InternOp("_operator.add")).is_python_function);
  for (const char* target :
       {"torch.ops.aten.add.Tensor", "_operator.mul", "torch.sym_max",
        "torch.ops.higher_order.cond", "#ext:op", "odd thing", "math.trunc"}) {
    EXPECT_EQ(Pt2Target(OpNameOfPt2Target(target)), target);
  }
  Form plain(2), list = {{FormItem::Kind::kList, 3}};
  EXPECT_FALSE(c.InternForm(plain).valid());
  EXPECT_EQ(c.InternForm(list), c.InternForm(list));
}

}  // namespace
}  // namespace tenon
