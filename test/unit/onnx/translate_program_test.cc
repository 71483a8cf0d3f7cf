// The form of models: names, ports, where weights lie, what is refused. Whether
// the numbers are right ONNX Runtime says (test/oracle/onnx.sh).
#include "onnx/translate_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "formats/onnx/onnx.h"
#include "text/text.h"

namespace tenon::onnx {
namespace {

Program Parse(const std::string& text) {
  Diagnostics diags;
  auto program =
      ParseProgram("tenon 1\n" + text, "test", std::make_shared<Context>(),
                   PayloadSource(), diags);
  EXPECT_TRUE(program) << diags.ToString();
  return std::move(*program);
}

Expected<Translated> Translate(const std::string& text, Diagnostics& diags) {
  return TranslateProgram(Parse(text), {}, TranslateOptions(), diags);
}

const std::string kCache =
    R"(storage @0 = 16 bytes hex"0000803f000000400000404000008040"
buffer "k" : f32[4] = @0
graph @main(%k : f32[4] = buffer "k", %x : f32[4]) {
  %new : f32[4] = aten.add.Tensor(%k, %x)
  %y : f32[4] = aten.mul.Scalar(%new, 2)
  return (%new as buffer_mutation "k", %y)
}
)";

TEST(TranslateProgram, ChangedStateIsAnInputAndAnOutputThatReplacesIt) {
  Diagnostics diags;
  const auto out = Translate(kCache, diags);
  ASSERT_TRUE(out) << diags.ToString();
  ASSERT_EQ(out->inputs.size(), 2u);
  EXPECT_EQ(out->inputs[0].fqn, "k");
  EXPECT_FALSE(out->inputs[0].user);
  EXPECT_EQ(out->inputs[1].user, 0u);
  ASSERT_EQ(out->outputs.size(), 2u);
  EXPECT_EQ(out->outputs[0].replaces, "input_0");
  EXPECT_EQ(out->outputs[1].user, 0u);
  using Entries = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(out->model.metadata,
            (Entries{{"tenon.input_0", "state k"},
                     {"tenon.input_1", "user 0"},
                     {"tenon.output_0", "state k replaces input_0"},
                     {"tenon.output_1", "user 0"}}));
}

// J-2, J-3: names are labels.
TEST(TranslateProgram, TheSameProgramUnderOtherNamesIsTheSameModel) {
  std::string renamed = kCache;
  const auto rename = [&](const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = renamed.find(from, at)) != std::string::npos;) {
      renamed.replace(at, from.size(), to);
      at += to.size();
    }
  };
  rename("%new", "%input_0");
  rename("%x", "%output_1");
  rename("%y", "%t0");
  ASSERT_NE(renamed, kCache);
  Diagnostics diags;
  const auto a = Translate(kCache, diags), b = Translate(kCache, diags),
             c = Translate(renamed, diags);
  ASSERT_TRUE(a && b && c) << diags.ToString();
  EXPECT_EQ(WriteModel(a->model), WriteModel(b->model));
  EXPECT_EQ(WriteModel(a->model), WriteModel(c->model));
}

TEST(TranslateProgram, SizesThatVaryKeepTheirNames) {
  Diagnostics diags;
  const auto out = Translate(R"(symbol s0 (positive=True, integer=True) hint 4
range s0 in [2, 16]
graph @main(%x : f32[s0, 3]) {
  %y : f32[2*s0, 3] = aten.cat.default([%x, %x], 0)
  return (%y)
}
)",
                             diags);
  ASSERT_TRUE(out) << diags.ToString();
  EXPECT_EQ(out->model.graph.inputs[0].dims,
            (std::vector<Dimension>{{std::nullopt, "s0"}, {3, ""}}));
  EXPECT_EQ(out->model.graph.outputs[0].dims,
            (std::vector<Dimension>{{std::nullopt, "2*s0"}, {3, ""}}));
}

TEST(TranslateProgram, WeightsLieOutsideOnceAndAreNotCopied) {
  Diagnostics diags;
  const Program program =
      Parse("storage @0 = 4096 bytes hex\"" + std::string(8192, '0') + R"("
parameter "a" : f32[32, 32] = @0
parameter "b" : f32[32, 32] = @0
graph @main(%a : f32[32, 32] = parameter "a", %b : f32[32, 32] = parameter "b", %x : f32[2, 32]) {
  %y : f32[2, 32] = aten.linear.default(%x, %a)
  %z : f32[2, 32] = aten.linear.default(%y, %b)
  return (%z)
}
)");
  TranslateOptions options;
  options.data_name = "m.data";
  const auto out = TranslateProgram(program, {}, options, diags);
  ASSERT_TRUE(out) << diags.ToString();
  ASSERT_EQ(out->data.size(), 1u);
  EXPECT_EQ(out->data[0].bytes.data(), program.state.storages[0].bytes.data());
  ASSERT_EQ(out->model.graph.initializers.size(), 2u);
  for (const TensorValue& t : out->model.graph.initializers) {
    EXPECT_TRUE(t.bytes.empty());
    EXPECT_EQ(t.external, (ExternalData{"m.data", 0, 4096}));
  }
}

// What is folded becomes an input in front of them.
TEST(TranslateProgram, KnownInputsAreCountedAmongTheRegionsOwn) {
  Diagnostics diags;
  const Program region = Parse(R"(graph @main(%w : f32[3], %x : f32[3]) {
  %i : i64[3] = aten.arange.default(3)
  %a : f32[3] = aten.add.Tensor(%x, %i)
  %y : f32[3] = aten.mul.Tensor(%a, %w)
  return (%y)
}
)");
  const Tensor w = Tensor::Zeros(DType::kFloat32, {3});
  const auto out = TranslateProgram(region, {{0, w}}, {}, diags);
  ASSERT_TRUE(out) << diags.ToString();
  ASSERT_EQ(out->inputs.size(), 1u);
  EXPECT_EQ(out->inputs[0].user, 1u);
}

TEST(TranslateProgram, NodesWithoutTranslationAreNamedAllTogether) {
  Diagnostics diags;
  EXPECT_FALSE(Translate(R"(graph @main(%x : f32[4]) {
  %a : f32[4] = aten.lgamma.default(%x)
  %b : f32[4] = aten.digamma.default(%a)
  return (%b)
}
)",
                         diags));
  ASSERT_EQ(diags.num_errors(), 1u);
  const std::string text = diags.ToString();
  EXPECT_NE(text.find("aten.lgamma.default"), std::string::npos) << text;
  EXPECT_NE(text.find("aten.digamma.default"), std::string::npos) << text;
}

TEST(TranslateProgram, NoNodeThatNothingReadsIsWritten) {
  Diagnostics diags;
  const auto out = Translate(R"(graph @main(%x : f32[4, 3]) {
  %v : f32[4], %i : i64[4] = aten.max.dim(%x, 1)
  return (%i)
}
)",
                             diags);
  ASSERT_TRUE(out) << diags.ToString();
  std::vector<std::string> read;
  for (const Node& n : out->model.graph.nodes) {
    read.insert(read.end(), n.inputs.begin(), n.inputs.end());
  }
  read.push_back("output_0");
  for (const Node& n : out->model.graph.nodes) {
    EXPECT_NE(std::find(read.begin(), read.end(), n.outputs[0]), read.end())
        << n.op;
  }
}

}  // namespace
}  // namespace tenon::onnx
