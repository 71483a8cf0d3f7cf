// The five classic ways to join a graph wrongly. Each test runs the right pass
// and, on the same program, the mistake (testing/wrong_joins.h): the right
// value and exactly the wrong one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "export/export.h"
#include "export/join_program.h"
#include "formats/hybrid/hybrid.h"
#include "runtime/session.h"
#include "testing/wrong_joins.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon {
namespace {

using Mistake = void (*)(Program*);

Program ReadSeed(const std::string& name) {
  Diagnostics diags;
  auto program =
      ReadHybrid("test/data/hybrid/" + name + ".json",
                 std::make_shared<Context>(), HybridReadOptions(), diags);
  EXPECT_TRUE(program) << diags.ToString();
  return program ? std::move(*program) : Program(std::make_shared<Context>());
}

Program Parse(std::string_view text) {
  Diagnostics diags;
  auto program = ParseProgram(text, "test", std::make_shared<Context>(),
                              PayloadSource(), diags);
  EXPECT_TRUE(program) << diags.ToString();
  return program ? std::move(*program) : Program(std::make_shared<Context>());
}

// Joined, lifted, proved; `mistake` may come first.
Program Joined(const Program& hybrid, Mistake mistake = nullptr) {
  Program program = hybrid.Clone();
  if (mistake != nullptr) mistake(&program);
  JoinProgramOptions options;
  options.inline_delegates = true;
  Diagnostics diags;
  EXPECT_TRUE(JoinProgram(&program, options, diags)) << diags.ToString();
  return program;
}

// Every element `value`.
Tensor Filled(Sizes sizes, float value) {
  Tensor t = Tensor::Empty(DType::kFloat32, std::move(sizes));
  for (int64_t i = 0; i < t.numel(); ++i) t.mutable_data<float>()[i] = value;
  return t;
}

PyTree Leaf(float value, Sizes sizes = {}) {
  return PyTree::Leaf(Filled(std::move(sizes), value));
}

// The first element of each result, as text; or the first error.
std::string Call(const Program& program, const CallArguments& call) {
  Diagnostics diags;
  auto session = Session::Load(std::make_shared<const Program>(program.Clone()),
                               SessionOptions(), diags);
  if (!session) return diags.FirstError();
  const auto results = (*session)->Run(call, diags);
  if (!results) return diags.FirstError();
  std::string out;
  for (const RuntimeValue& leaf : results->leaves) {
    const Tensor t = leaf.tensor().Contiguous();
    out += (out.empty() ? "" : " ") +
           std::to_string(static_cast<int>(t.data<float>()[0]));
  }
  return out;
}

// --- 1: a child's input is named like an unrelated producer ---

// The child computes other - getitem of what it is passed: (9 + 10) - 2 * 1.
TEST(Classic, J2AnInputNamedLikeAnUnrelatedProducer) {
  CallArguments call;
  call.args = {Leaf(1, {2, 3}), Leaf(9, {2, 3})};
  for (const char* seed : {"seed_collision", "mirror_collision_swapped"}) {
    const Program hybrid = ReadSeed(seed);
    EXPECT_EQ(Call(Joined(hybrid), call), "17 2") << seed;
    EXPECT_EQ(Call(Joined(hybrid, testing::BindByName), call), "-17 2") << seed;
  }
}

// --- 2: all outputs of a multi-output child, under that collision ---

// Sum 11 and difference 7 feed an engine that multiplies them.
TEST(Classic, J5AllOutputsOfAChildUnderACollision) {
  const Program hybrid = ReadSeed("seed_multi_output_collision");
  CallArguments call;
  call.args = {Leaf(9, {2, 3}), Leaf(2, {2, 3})};
  EXPECT_EQ(Call(Joined(hybrid), call), "77 11");
  EXPECT_EQ(Call(Joined(hybrid, testing::BindByName), call), "-77 11");
  EXPECT_EQ(Call(Joined(hybrid, testing::PruneOutputs), call), "121 11");
}

// --- 3: reversed keyword arguments of a - b ---

// Of the program: the example call wrote b before a.
TEST(Classic, S2ReversedKeywordsOfTheProgram) {
  const Program joined = Joined(ReadSeed("seed_kwargs_reversed"));
  CallArguments call;
  call.kwargs = {{"b", Leaf(2)}, {"a", Leaf(9)}};
  EXPECT_EQ(Call(joined, call), "7");
  Program wrong = joined.Clone();
  testing::OrderKeywordsAsWritten(&wrong);
  EXPECT_EQ(Call(wrong, call), "-7");
}

TEST(Classic, S2ReversedKeywordsInsideAnArgument) {
  const Program program = Parse(R"(tenon 1
in_spec ((), {d: {a: *, b: *}})
out_spec *
graph @main(%a : f32[], %b : f32[]) {
  %s : f32[] = aten.sub.Tensor(%a, %b)
  return (%s)
}
)");
  PyTree nested;
  nested.spec = TreeSpec::Dict({"b", "a"}, {TreeSpec(), TreeSpec()});
  nested.leaves = {Filled({}, 2), Filled({}, 9)};
  CallArguments call;
  call.kwargs = {{"d", std::move(nested)}};
  EXPECT_EQ(Call(program, call), "7");
  Program wrong = program.Clone();
  testing::OrderKeywordsAsWritten(&wrong);
  EXPECT_EQ(Call(wrong, call), "-7");
}

// Of a child, and of a child in a child.
TEST(Classic, J1ReversedKeywordsOfNestedChildren) {
  const Program hybrid = Parse(R"(tenon 1
in_spec ((*, *), {})
out_spec (*, *)
graph @main(%x : f32[], %y : f32[]) {
  %d : f32[] = call @sub(b=%y, a=%x)
  %e : f32[] = call @outer(second=%y, first=%x)
  return (%d, %e)
}
graph @outer(%p : f32[], %q : f32[]) parameters ["first", "second"] {
  %s : f32[] = call @sub(%p, b=%q)
  return (%s)
}
graph @sub(%p : f32[], %q : f32[]) parameters ["a", "b"] {
  %s : f32[] = aten.sub.Tensor(%p, %q)
  return (%s)
}
)");
  CallArguments call;
  call.args = {Leaf(9), Leaf(2)};
  EXPECT_EQ(Call(Joined(hybrid), call), "7 7");
  EXPECT_EQ(Call(Joined(hybrid, testing::BindKeywordsByInsertionOrder), call),
            "-7 -7");
}

// --- 4: `persistent` on lifted buffers ---

std::string StateDict(const Program& program) {
  std::string out;
  for (const StateEntry& entry : program.state.entries) {
    if (entry.in_state_dict()) {
      out += std::string(program.view(entry.fqn)) + "\n";
    }
  }
  return out;
}

// Through a file, where the two kinds are stored in different places.
Program WrittenAndRead(const Program& program) {
  const std::string path =
      ::testing::TempDir() + "/classic_joins_" + std::to_string(getpid());
  Diagnostics diags;
  EXPECT_TRUE(WriteProved(program, path, Pt2WriteOptions(), diags))
      << diags.ToString();
  auto back =
      ReadPt2(path, std::make_shared<Context>(), Pt2ReadOptions(), diags);
  EXPECT_TRUE(back) << diags.ToString();
  std::remove(path.c_str());
  return back ? std::move(*back) : Program(std::make_shared<Context>());
}

TEST(Classic, L4ALiftedBufferStaysPersistent) {
  const Program hybrid = ReadSeed("seed_persistent_buffer");
  EXPECT_EQ(StateDict(WrittenAndRead(Joined(hybrid))),
            "_run_on_gpu_0.running\n");
  EXPECT_EQ(StateDict(WrittenAndRead(Joined(hybrid, testing::LosePersistence))),
            "");
}

// --- 5: an in_spec without example inputs, and none rebuilt ---

// The seed without the calls that it records, which would serve as an example.
Program ReadWithoutExample(const std::string& name) {
  std::ifstream file("test/data/hybrid/" + name + ".json");
  std::string text((std::istreambuf_iterator<char>(file)),
                   std::istreambuf_iterator<char>());
  const size_t runs = text.find(",\n\"runs\"");
  EXPECT_NE(runs, std::string::npos);
  text = text.substr(0, runs) + "}";
  Diagnostics diags;
  auto program =
      ReadHybrid(AsBytes(text), Safetensors(), name,
                 std::make_shared<Context>(), HybridReadOptions(), diags);
  EXPECT_TRUE(program) << diags.ToString();
  return program ? std::move(*program) : Program(std::make_shared<Context>());
}

TEST(Classic, S2AnInSpecWithoutExampleInputs) {
  const Program hybrid = ReadWithoutExample("seed_no_example_inputs");
  CallArguments call;
  call.args = {Leaf(9), Leaf(2)};
  EXPECT_EQ(Call(Joined(hybrid), call), "7");
  Program wrong = Joined(hybrid);
  testing::ForgetInSpec(&wrong);
  Diagnostics diags;
  EXPECT_FALSE(Verify(wrong, VerifyOptions(), diags));
  EXPECT_NE(diags.ToString().find("V-SPEC-02"), std::string::npos);
  EXPECT_NE(Call(wrong, call), "7");
}

// A known structure isn't taken apart: the nested call is refused by the flat
// convention, and the flat call by the right one.
TEST(Classic, S1AKnownInSpecIsNotRebuilt) {
  const Program joined = Joined(ReadSeed("spec_nested_kwargs_reordered"));
  Program flat = joined.Clone();
  testing::RebuildSpecsFlat(&flat);
  PyTree pair, dict;
  pair.spec = TreeSpec::Tuple({TreeSpec(), TreeSpec()});
  pair.leaves = {Filled({2, 3}, 9), Filled({2, 3}, 2)};
  dict.spec = TreeSpec::Dict({"v", "u"}, {TreeSpec(), TreeSpec()});
  dict.leaves = {Filled({2, 3}, 3), Filled({2, 3}, 5)};
  CallArguments nested, plain;
  nested.kwargs = {{"d", dict}, {"pair", pair}};
  for (const float value : {9.f, 2.f, 5.f, 3.f}) {
    plain.args.push_back(Leaf(value, {2, 3}));
  }
  EXPECT_EQ(Call(joined, nested), "7 15");
  EXPECT_NE(Call(joined, plain), "7 15");
  EXPECT_NE(Call(flat, nested), "7 15");
  EXPECT_EQ(Call(flat, plain), "7 15");
}

}  // namespace
}  // namespace tenon
