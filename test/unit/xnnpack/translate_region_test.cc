// What regions become: which nodes are taken in by others, how images lie, what
// is refused. Whether the numbers are right the stock runtime says
// (test/oracle/pte.sh).
#include "xnnpack/translate_region.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "text/text.h"
#include "xnnpack/xnn_payload.h"
#include "xnnpack/xnnpack_backend.h"

namespace tenon::xnnpack {
namespace {

Program Parse(const std::string& text) {
  Diagnostics diags;
  auto program = ParseProgram(text, "test", std::make_shared<Context>(),
                              PayloadSource(), diags);
  EXPECT_TRUE(program) << diags.ToString();
  return std::move(*program);
}

// A region whose inputs but the first are known: their elements count from 0.
Expected<TranslatedRegion> Translate(const std::string& graph,
                                     Diagnostics& diags) {
  static std::vector<Program> kept;
  kept.push_back(Parse("tenon 1\n" + graph));
  const Program& region = kept.back();
  std::vector<RegionConstant> constants;
  const auto& inputs = region.root().inputs;
  for (uint32_t i = 1; i < inputs.size(); ++i) {
    Sizes sizes;
    for (const SymInt& s : region.type(inputs[i]).sizes)
      sizes.push_back(s.value);
    Tensor t = Tensor::Empty(DType::kFloat32, sizes);
    for (int64_t k = 0; k < t.numel(); ++k) {
      t.mutable_data<float>()[k] = static_cast<float>(k);
    }
    constants.push_back({i, t});
  }
  return TranslateRegion(region, constants, false, diags);
}

std::vector<NodeKind> Kinds(const Graph& graph) {
  std::vector<NodeKind> kinds;
  for (const Node& n : graph.nodes) kinds.push_back(n.kind);
  return kinds;
}

TEST(TranslateRegion, AConvolutionTakesInBatchNormAndActivation) {
  Diagnostics diags;
  const auto out = Translate(R"(graph @main(
    %x : f32[1, 2, 4, 4], %w : f32[3, 2, 3, 3], %g : f32[3], %b : f32[3],
    %m : f32[3], %v : f32[3]) {
  %c : f32[1, 3, 4, 4] = aten.convolution.default(%x, %w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
  %n : f32[1, 3, 4, 4], %s1 : f32[0], %s2 : f32[0] = aten._native_batch_norm_legit_no_training.default(%c, %g, %b, %m, %v, 0.1, 1e-05)
  %r : f32[1, 3, 4, 4] = aten.relu.default(%n)
  return (%r)
}
)",
                             diags);
  ASSERT_TRUE(out) << diags.ToString();
  EXPECT_EQ(Kinds(out->graph),
            (std::vector<NodeKind>{NodeKind::kTranspose, NodeKind::kConv2d,
                                   NodeKind::kTranspose}));
  const Node& conv = out->graph.nodes[1];
  ASSERT_TRUE(conv.range);
  EXPECT_EQ(conv.range->min, 0);
  EXPECT_EQ(conv.range->max, std::numeric_limits<float>::infinity());
  // Filter and bias, the batch norm in them.
  ASSERT_EQ(out->data.size(), 2u);
  // The filter is [out, height, width, in]; channel 1 is scaled by
  // 1 / sqrt(1 + 1e-5).
  std::vector<float> filter(54);
  ASSERT_EQ(out->data[1].bytes.size(), 54 * sizeof(float));
  std::memcpy(filter.data(), out->data[1].bytes.data(), 54 * sizeof(float));
  EXPECT_NEAR(filter[18], 18 / std::sqrt(1.00001), 1e-4);
  EXPECT_NEAR(filter[19], 27 / std::sqrt(1.00001), 1e-4);
}

TEST(TranslateRegion, ImagesKeepTheirChannelsLastBetweenNodes) {
  Diagnostics diags;
  const auto out = Translate(R"(graph @main(
    %x : f32[1, 2, 4, 4], %w : f32[2, 2, 1, 1], %d : f32[2, 1, 3, 3]) {
  %a : f32[1, 2, 4, 4] = aten.convolution.default(%x, %w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
  %h : f32[1, 2, 4, 4] = aten.hardtanh.default(%a, 0.0, 6.0)
  %c : f32[1, 2, 4, 4] = aten.convolution.default(%h, %d, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 2)
  %s : f32[1, 2, 4, 4] = aten.add.Tensor(%c, %h)
  %j : f32[1, 4, 4, 4] = aten.cat.default([%s, %c], 1)
  %p : f32[1, 4, 1, 1] = aten.mean.dim(%j, [-1, -2], True)
  return (%p)
}
)",
                             diags);
  ASSERT_TRUE(out) << diags.ToString();
  EXPECT_EQ(
      Kinds(out->graph),
      (std::vector<NodeKind>{
          NodeKind::kTranspose, NodeKind::kConv2d, NodeKind::kDepthwiseConv2d,
          NodeKind::kAdd, NodeKind::kConcatenate2,
          NodeKind::kGlobalAvgPooling2d, NodeKind::kTranspose}));
  EXPECT_EQ(std::get<Concatenate>(out->graph.nodes[4].op).axis, 3u);
  const auto& depthwise = std::get<Convolution>(out->graph.nodes[2].op);
  EXPECT_EQ(out->graph.values[depthwise.filter].dims,
            (std::vector<uint32_t>{1, 3, 3, 2}));
}

TEST(TranslateRegion, AnActivationThatOthersReadIsANodeOfItsOwn) {
  Diagnostics diags;
  const auto out =
      Translate(R"(graph @main(%x : f32[2, 3], %w : f32[4, 3], %b : f32[4]) {
  %y : f32[2, 4] = aten.linear.default(%x, %w, %b)
  %r : f32[2, 4] = aten.relu.default(%y)
  %z : f32[2, 4] = aten.mul.Tensor(%y, %r)
  return (%z, %r)
}
)",
                diags);
  ASSERT_TRUE(out) << diags.ToString();
  EXPECT_EQ(Kinds(out->graph),
            (std::vector<NodeKind>{NodeKind::kFullyConnected, NodeKind::kClamp,
                                   NodeKind::kMultiply}));
  // Externals have the first ids: one input, two outputs.
  EXPECT_EQ(out->graph.inputs, std::vector<uint32_t>{0});
  EXPECT_EQ(out->graph.outputs, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(std::get<Unary>(out->graph.nodes[1].op).output, 2u);
}

TEST(TranslateRegion, WithoutInputsNothingWouldBeComputed) {
  const Program region = Parse(
      "tenon 1\ngraph @main(%w : f32[2]) {\n"
      "  %y : f32[2] = aten.abs.default(%w)\n  return (%y)\n}\n");
  Diagnostics diags;
  const RegionConstant w{0, Tensor::Zeros(DType::kFloat32, {2})};
  EXPECT_FALSE(TranslateRegion(region, {w}, false, diags));
}

// The delegate frees what it packs.
TEST(TranslateRegion, WhatIsPackedIsNoOperandToo) {
  Diagnostics diags;
  const auto out = Translate(
      R"(graph @main(%x : f32[3, 3], %w : f32[3, 3], %b : f32[3]) {
  %y : f32[3, 3] = aten.linear.default(%x, %w, %b)
  %z : f32[3, 3] = aten.add.Tensor(%y, %b)
  %a : f32[3, 3] = aten.mul.Tensor(%z, %w)
  return (%a)
}
)",
      diags);
  ASSERT_TRUE(out) << diags.ToString();
  const auto& product = std::get<FullyConnected>(out->graph.nodes[0].op);
  for (size_t i : {1, 2}) {
    const auto& node = std::get<Binary>(out->graph.nodes[i].op);
    EXPECT_NE(node.input2, product.bias);
    EXPECT_NE(node.input2, product.filter);
  }
  EXPECT_EQ(out->data.size(), 2u) << "both are named once";
}

TEST(TranslateRegion, EqualNumbersAreNamedOnce) {
  Diagnostics diags;
  const auto out =
      Translate(R"(graph @main(%x : f32[2, 3], %a : f32[3, 3], %b : f32[3, 3]) {
  %y : f32[2, 3] = aten.linear.default(%x, %a)
  %z : f32[2, 3] = aten.linear.default(%y, %b)
  return (%z)
}
)",
                diags);
  ASSERT_TRUE(out) << diags.ToString();
  EXPECT_EQ(out->data.size(), 1u);
  EXPECT_EQ(out->graph.constants.size(), 2u);
}

std::vector<uint32_t> DimsOf(const Graph& graph, uint32_t value) {
  return graph.values[value].dims;
}

TEST(TranslateRegion, ARowIsConvolvedAsAnImageOfHeight1) {
  Diagnostics diags;
  const auto out = Translate(R"(graph @main(
    %x : f32[1, 4, 9], %w : f32[6, 2, 3], %d : f32[6, 1, 2], %g : f32[6],
    %b : f32[6], %m : f32[6], %v : f32[6]) {
  %c : f32[1, 6, 4] = aten.convolution.default(%x, %w, None, [2], [1], [2], False, [0], 2)
  %n : f32[1, 6, 4], %s1 : f32[0], %s2 : f32[0] = aten._native_batch_norm_legit_no_training.default(%c, %g, %b, %m, %v, 0.1, 1e-05)
  %r : f32[1, 6, 4] = aten.relu.default(%n)
  %e : f32[1, 6, 3] = aten.convolution.default(%r, %d, None, [1], [0], [1], False, [0], 6)
  %h : f32[1, 6, 3] = aten.gelu.default(%e)
  return (%h)
}
)",
                             diags);
  ASSERT_TRUE(out) << diags.ToString();
  const Graph& graph = out->graph;
  EXPECT_EQ(Kinds(graph),
            (std::vector<NodeKind>{NodeKind::kTranspose, NodeKind::kReshape,
                                   NodeKind::kConv2d,
                                   NodeKind::kDepthwiseConv2d, NodeKind::kGelu,
                                   NodeKind::kReshape, NodeKind::kTranspose}));
  const auto& conv = std::get<Convolution>(graph.nodes[2].op);
  EXPECT_EQ(DimsOf(graph, conv.input), (std::vector<uint32_t>{1, 1, 9, 4}));
  EXPECT_EQ(DimsOf(graph, conv.filter), (std::vector<uint32_t>{6, 1, 3, 2}));
  EXPECT_EQ(DimsOf(graph, conv.output), (std::vector<uint32_t>{1, 1, 4, 6}));
  EXPECT_EQ(conv.padding.top, 0u);
  EXPECT_EQ(conv.padding.bottom, 0u);
  EXPECT_EQ(conv.padding.left, 1u);
  EXPECT_EQ(conv.padding.right, 1u);
  const auto along_width = [](const uint32_t(&of)[2], uint32_t width) {
    return of[0] == 1 && of[1] == width;
  };
  EXPECT_TRUE(along_width(conv.kernel, 3));
  EXPECT_TRUE(along_width(conv.stride, 2));
  EXPECT_TRUE(along_width(conv.dilation, 2));
  EXPECT_EQ(conv.groups, 2u);
  EXPECT_TRUE(graph.nodes[2].range) << "the activation is part of it";
  const auto& depthwise = std::get<Convolution>(graph.nodes[3].op);
  EXPECT_EQ(DimsOf(graph, depthwise.filter),
            (std::vector<uint32_t>{1, 1, 2, 6}));
}

// [batch, width, channels] has the elements in the order that is convolved.
TEST(TranslateRegion,
     WidthAndChannelsAreExchangedByReshapesAroundAConvolution) {
  Diagnostics diags;
  const auto out =
      Translate(R"(graph @main(%x : f32[1, 9, 4], %w : f32[4, 6, 2]) {
  %t : f32[1, 4, 9] = aten.permute_copy.default(%x, [0, 2, 1])
  %c : f32[1, 6, 19] = aten.convolution.default(%t, %w, None, [2], [0], [1], True, [1], 1)
  %y : f32[1, 19, 6] = aten.transpose_copy.int(%c, -1, 1)
  return (%y)
}
)",
                diags);
  ASSERT_TRUE(out) << diags.ToString();
  EXPECT_EQ(
      Kinds(out->graph),
      (std::vector<NodeKind>{NodeKind::kReshape, NodeKind::kConvTranspose2d,
                             NodeKind::kReshape}));
  const auto& conv = std::get<Convolution>(out->graph.nodes[1].op);
  EXPECT_EQ(conv.adjustment[0], 0u);
  EXPECT_EQ(conv.adjustment[1], 1u);
}

TEST(TranslateRegion, AWidthThatVariesIsInferredByReshapes) {
  Diagnostics diags;
  const auto out = Translate(R"(
symbol s0 (positive=True, integer=True) hint 9
range s0 in [2, 64]
graph @main(%x : f32[1, 4, s0], %w : f32[6, 4, 1]) {
  %c : f32[1, 6, s0] = aten.convolution.default(%x, %w, None, [1], [0], [1], False, [0], 1)
  return (%c)
}
)",
                             diags);
  ASSERT_TRUE(out) << diags.ToString();
  ASSERT_EQ(Kinds(out->graph)[1], NodeKind::kReshape);
  EXPECT_EQ(std::get<Reshape>(out->graph.nodes[1].op).shape,
            (std::vector<uint32_t>{1, 1, 0, 4}));
}

TEST(TranslateRegion, SlopesLieAlongTheChannels) {
  Diagnostics diags;
  const auto out = Translate(R"(graph @main(%x : f32[1, 3, 2, 2], %w : f32[3]) {
  %y : f32[1, 3, 2, 2] = aten.prelu.default(%x, %w)
  return (%y)
}
)",
                             diags);
  ASSERT_TRUE(out) << diags.ToString();
  EXPECT_EQ(Kinds(out->graph),
            (std::vector<NodeKind>{NodeKind::kTranspose, NodeKind::kPReLU,
                                   NodeKind::kTranspose}));
  const auto& node = std::get<Binary>(out->graph.nodes[1].op);
  EXPECT_EQ(DimsOf(out->graph, node.input2), std::vector<uint32_t>{3});
}

// elu(x) = b / c * ELU(c x) with a node whose alpha is a c.
TEST(TranslateRegion, ScalesOfAnEluAreProducts) {
  Diagnostics diags;
  const auto out = Translate(R"(graph @main(%x : f32[4]) {
  %y : f32[4] = aten.elu.default(%x, 1.5, 3.0, 0.5)
  return (%y)
}
)",
                             diags);
  ASSERT_TRUE(out) << diags.ToString();
  EXPECT_EQ(Kinds(out->graph),
            (std::vector<NodeKind>{NodeKind::kMultiply, NodeKind::kELU,
                                   NodeKind::kMultiply}));
  EXPECT_EQ(std::get<ELU>(out->graph.nodes[1].op).alpha, 0.75f);
}

struct Refused {
  const char* node;
  const char* why;
};

TEST(XnnpackBackend, RefusesWhatItsRuntimeWouldGetWrong) {
  const std::vector<Refused> cases = {
      {"%y : f32[4, 4] = aten.add.Tensor(%x, %x, alpha=2)",
       "alpha other than 1"},
      {"%y : f32[4, 4] = aten._softmax.default(%x, 0, False)",
       "softmax over other than the last dimension"},
      {"%y : f32[4, 4] = aten.linear.default(%x, %x)",
       "a matrix that isn't known when the file is written"},
      {"%y : f32[2, 4] = aten.slice.Tensor(%x, 0, 0, 4, 2)",
       "a slice with steps, or with bounds that aren't known"},
      {"%y : f32[4, 4] = aten.hardtanh.default(%x, 1.0, 1.0)",
       "bounds that are no numbers, or no range"},
      {"%y : f32[4, 4] = aten.gelu.default(%x, approximate=\"tanh\")",
       "an approximated gelu"},
      {"%y : f32[4, 4] = aten.erf.default(%x)", "aten.erf.default"},
      {"%i : f32[1, 1, 4, 4] = aten.view_copy.default(%x, [1, 1, 4, 4])\n"
       "  %y : f32[1, 1, 6, 6] = aten.upsample_bilinear2d.vec(%i, None, "
       "False, [1.6, 1.6])",
       "a factor other than the ratio of the sizes"},
      {"%y : i64[4, 4] = aten._to_copy.default(%x, dtype=torch.int64)",
       "aten._to_copy.default"},
      {"%y : f32[4, 4] = aten.elu.default(%x, -1.0)",
       "an elu by other than positive numbers"},
      {"%y : f32[4, 4] = aten._prelu_kernel.default(%x, %x)",
       "a slope that isn't known when the file is written"},
      {"%y : f32[3, 4] = aten.constant_pad_nd.default(%x, [0, 0, -1, 0])",
       "padding that takes away, or isn't known"},
  };
  for (const Refused& c : cases) {
    const Program program = Parse(
        "tenon 1\nin_spec ((*,), {})\nout_spec *\ngraph @main(%x : f32[4, 4]) "
        "{\n  " +
        std::string(c.node) + "\n  return (%y)\n}\n");
    const NodeId node =
        program.value(program.outputs(Program::kRoot)[0].value()).def;
    const auto refusal = XnnpackBackend().Refuses(program, node);
    ASSERT_TRUE(refusal) << c.node;
    EXPECT_EQ(refusal->detail, c.why) << c.node;
  }
}

TEST(XnnPayload, HasItsHeader) {
  Diagnostics diags;
  const auto out = Translate(
      "graph @main(%x : f32[2, 3]) {\n"
      "  %y : f32[2, 3] = aten.abs.default(%x)\n  return (%y)\n}\n",
      diags);
  ASSERT_TRUE(out) << diags.ToString();
  const std::vector<std::byte> payload = WritePayload(out->graph);
  ASSERT_GT(payload.size(), 40u);
  const std::string_view text(reinterpret_cast<const char*>(payload.data()),
                              payload.size());
  EXPECT_EQ(text.substr(0, 4), std::string_view("\0\0\0\0", 4));
  EXPECT_EQ(text.substr(4, 4), "XH00");
  EXPECT_EQ(text.substr(36, 4), "XN01");
  uint32_t begin = 0, size = 0, end = 0;
  std::memcpy(&begin, payload.data() + 10, 4);
  std::memcpy(&size, payload.data() + 14, 4);
  std::memcpy(&end, payload.data() + 18, 4);
  EXPECT_EQ(begin, 32u);
  EXPECT_LE(begin + size, end);
  EXPECT_EQ(end, payload.size());
}

}  // namespace
}  // namespace tenon::xnnpack
