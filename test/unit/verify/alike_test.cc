// Nodes that look alike: what makes two calls differ, and that no mistake hides
// behind a call that was right.
#include "verify/alike.h"

#include <gtest/gtest.h>

#include "../analysis/builder.h"
#include "verify/verify.h"

namespace tenon {
namespace {

struct Pair : Builder {
  TypeId type = F32({2});
  ValueId x = Input(type, "x");

  // Whether the second looks like the first.
  bool IsAlike(NodeId first, NodeId second) {
    AlikeNodes alike(program);
    EXPECT_FALSE(alike.Contains(first));
    alike.Add(first);
    EXPECT_TRUE(alike.Contains(first));
    return alike.Contains(second);
  }
};

TEST(AlikeNodes, OtherOperandsOfTheSameTypeAreAlike) {
  Pair p;
  const NodeId a = p.Op("aten.add.Tensor", {p.x, p.x}, {p.type});
  const ValueId sum = p.program.node(a).results[0];
  const NodeId b = p.Op("aten.add.Tensor", {sum, p.x}, {p.type});
  EXPECT_TRUE(p.IsAlike(a, b));
}

TEST(AlikeNodes, EverythingElseTellsApart) {
  Pair p;
  const TypeId other = p.F32({3});
  const ValueId y = p.Input(other, "y");
  const NodeId sum = p.Op("aten.add.Tensor", {p.x, Arg::Int(1)}, {p.type});
  // The operator, an operand's type, a result's type, a literal, its kind.
  EXPECT_FALSE(
      p.IsAlike(sum, p.Op("aten.sub.Tensor", {p.x, Arg::Int(1)}, {p.type})));
  EXPECT_FALSE(
      p.IsAlike(sum, p.Op("aten.add.Tensor", {y, Arg::Int(1)}, {p.type})));
  EXPECT_FALSE(
      p.IsAlike(sum, p.Op("aten.add.Tensor", {p.x, Arg::Int(1)}, {other})));
  EXPECT_FALSE(
      p.IsAlike(sum, p.Op("aten.add.Tensor", {p.x, Arg::Int(2)}, {p.type})));
  EXPECT_FALSE(p.IsAlike(
      sum, p.Op("aten.add.Tensor", {p.x, Arg::Bool(true)}, {p.type})));
  EXPECT_FALSE(p.IsAlike(sum, p.Op("aten.add.Tensor", {p.x}, {p.type})));
  // An argument's name, and how it is passed.
  const NodeId same = p.Op("aten.add.Tensor", {p.x, Arg::Int(1)}, {p.type});
  EXPECT_TRUE(p.IsAlike(sum, same));
  const ArgId second = p.program.node(same).args[1];
  const StringId name = p.program.arg(second).name;
  p.program.SetArgLabel(second, name, PassKind::kKeyword);
  EXPECT_FALSE(p.IsAlike(sum, same));
  p.program.SetArgLabel(second, p.context->Intern("alpha"),
                        p.program.arg(p.program.node(sum).args[1]).pass);
  EXPECT_FALSE(p.IsAlike(sum, same));
}

TEST(AlikeNodes, ItemsOfListsTellApart) {
  Pair p;
  const auto cat = [&](const std::vector<Builder::Item>& items) {
    return p.Op("aten.cat.default", {Builder::Item(items)}, {p.F32({4})});
  };
  const NodeId two = cat({p.x, p.x});
  EXPECT_TRUE(p.IsAlike(two, cat({p.x, p.x})));
  EXPECT_FALSE(p.IsAlike(two, cat({p.x, p.x, p.x})));
  EXPECT_FALSE(p.IsAlike(two, cat({p.x, p.Input(p.F32({3}), "z")})));
}

// Right, wrong, right, wrong: both that are wrong are told.
TEST(AlikeNodes, EveryMistakeIsReported) {
  Pair p;
  ValueId last = p.x;
  for (int i = 0; i < 4; ++i) {
    const TypeId stated = i % 2 == 0 ? p.type : p.Literals(DType::kInt64, {2});
    p.Op("aten.sin.default", {p.x}, {stated});
    last = p.Value("aten.sin.default", {last}, p.type);
  }
  p.Return({last});
  Diagnostics diags;
  EXPECT_FALSE(Verify(p.program, VerifyOptions(), diags));
  EXPECT_EQ(diags.num_errors(), 2u) << diags.ToString();
}

}  // namespace
}  // namespace tenon
