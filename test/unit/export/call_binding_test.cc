// J-1: whatever looks into a called graph (the interpreter, the digest, the
// join, the effects) binds a call's arguments in one way.
#include "ir/call_binding.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/digest.h"
#include "analysis/effects.h"
#include "ir/clone.h"
#include "link/join.h"
#include "runtime/session.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon {
namespace {

Program Parse(std::string_view text) {
  Diagnostics diags;
  auto program = ParseProgram(text, "test", std::make_shared<Context>(),
                              PayloadSource(), diags);
  EXPECT_TRUE(program) << diags.ToString();
  return program ? std::move(*program) : Program(std::make_shared<Context>());
}

// A program that calls a * 10 + b * 100 + c * 1000, where c is 7 unless passed,
// with (%x, %y) = (1, 2) and `call` for the call's arguments.
Program Calling(const std::string& call) {
  return Parse(
      "tenon 1\nsymbol s0 (integer=True)\nin_spec ((*, *), {})\nout_spec *\n"
      "graph @main(%x : f32[], %y : f32[]) {\n"
      "  %r : f32[] = call @weigh(" +
      call +
      ")\n  return (%r)\n}\n"
      R"(graph @weigh(%p : f32[], %q : f32[], %r : SymInt(s0))
    parameters ["a", "b", "c" = 7] {
  %t : f32[] = aten.mul.Tensor(%p, 10)
  %h : f32[] = aten.mul.Tensor(%q, 100)
  %k : f32[] = aten.add.Tensor(%t, %h)
  %m : i64[] = aten.full.default([], %r)
  %n : i64[] = aten.mul.Tensor(%m, 1000)
  %s : f32[] = aten.add.Tensor(%k, %n)
  return (%s)
}
)");
}

PyTree Scalar(float value) {
  Tensor t = Tensor::Empty(DType::kFloat32, {});
  *t.mutable_data<float>() = value;
  return PyTree::Leaf(t);
}

int Call(const Program& program) {
  Diagnostics diags;
  auto session = Session::Load(std::make_shared<const Program>(program.Clone()),
                               SessionOptions(), diags);
  EXPECT_TRUE(session) << diags.ToString();
  if (!session) return -1;
  CallArguments call;
  call.args = {Scalar(1), Scalar(2)};
  const auto results = (*session)->Run(call, diags);
  EXPECT_TRUE(results) << diags.ToString();
  if (!results) return -1;
  return static_cast<int>(*results->leaves[0].tensor().data<float>());
}

struct Case {
  const char* arguments;
  int result;
};
constexpr Case kCases[] = {
    {"%x, %y, 3", 3210},       {"%x, %y", 7210},       {"b=%y, a=%x", 7210},
    {"c=3, b=%x, a=%y", 3120}, {"%x, c=0, b=%y", 210}, {"%y, b=%y", 7220},
};

TEST(CallBinding, J_1_UnjoinedRunsAsJoined) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.arguments);
    const Program hybrid = Calling(c.arguments);
    Diagnostics problems;
    EXPECT_TRUE(Verify(hybrid, VerifyOptions(), problems))
        << problems.ToString();
    EXPECT_EQ(Call(hybrid), c.result);
    Program joined = hybrid.Clone();
    Diagnostics diags;
    ASSERT_TRUE(JoinAll(&joined, diags)) << diags.ToString();
    EXPECT_EQ(Call(joined), c.result);
    EXPECT_EQ(WiringDigest(joined), WiringDigest(hybrid));
  }
}

TEST(CallBinding, J_1_ADefaultIsPartOfTheDigest) {
  Program program = Calling("%x, %y");
  const Digest before = WiringDigest(program);
  const ArgId value = program.graph(GraphId(1u)).parameters[2].value;
  program.SetArg(value, Arg::Int(8));
  EXPECT_NE(WiringDigest(program), before);
  EXPECT_EQ(WiringDigest(program), WiringDigest(Calling("%x, %y, 8")));
}

TEST(CallBinding, J_1_CopiesOfAGraphKeepTheirDefaults) {
  Program program = Calling("%x, %y");
  CloneMap map;
  const GraphId copy = CloneGraph(program, GraphId(1u), &program, &map);
  const auto& from = program.graph(GraphId(1u)).parameters;
  const auto& to = program.graph(copy).parameters;
  ASSERT_EQ(to.size(), 3u);
  EXPECT_EQ(to[2].name, from[2].name);
  EXPECT_NE(to[2].value, from[2].value);
  EXPECT_EQ(program.arg(to[2].value).i, 7);
  EXPECT_FALSE(to[0].value.valid());
}

// The child writes its input b, which the call passes first.
TEST(CallBinding, J_1_EffectsFollowTheBinding) {
  const Program program = Parse(R"(tenon 1
graph @main(%x : f32[], %y : f32[]) {
  %r : f32[] = call @child(b=%y, a=%x)
  return (%r)
}
graph @child(%a : f32[], %b : f32[]) parameters ["a", "b"] {
  %w : f32[] = aten.add_.Tensor(%b, %a)
  return (%w)
}
)");
  EffectAnalysis effects(program);
  const NodeEffects of = effects.Of(program.root().first);
  ASSERT_EQ(of.writes.size(), 1u);
  EXPECT_EQ(of.writes[0], program.root().inputs[1]);
}

TEST(CallBinding, V_GRAPH_13_ADefaultIsALiteral) {
  Program program = Calling("%x, %y");
  Graph& child = program.mutable_graph(GraphId(1u));
  const ArgId value = child.parameters[2].value;
  program.SetArg(value, Arg::OfGraph(Program::kRoot));
  Diagnostics diags;
  EXPECT_FALSE(Verify(program, VerifyOptions(), diags));
  ASSERT_EQ(diags.num_errors(), 1u) << diags.ToString();
  EXPECT_EQ(diags.all()[0].rule, Rule::kGraph13);
}

}  // namespace
}  // namespace tenon
