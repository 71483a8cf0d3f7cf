// Which of a region's quantised nodes become one, and what XNNPACK is told of
// their integers. Whether the numbers are right the stock runtime says
// (test/oracle/export_pte.sh).
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "text/text.h"
#include "xnnpack/translate_region.h"
#include "xnnpack/xnnpack_backend.h"

namespace tenon::xnnpack {
namespace {

Program Parse(const std::string& text) {
  Diagnostics diags;
  auto program =
      ParseProgram("tenon 1\n" + text, "test", std::make_shared<Context>(),
                   PayloadSource(), diags);
  EXPECT_TRUE(program) << diags.ToString();
  return std::move(*program);
}

// Elements of a constant, by position.
double Element(DType dtype, int64_t i) {
  switch (dtype) {
    case DType::kInt8:
      return static_cast<double>(i % 16 - 8);  // -8 .. 7
    case DType::kFloat32:
      return 0.01 * static_cast<double>(i + 1);
    default:
      return 0;  // zero points
  }
}

Tensor Filled(const Type& type) {
  Sizes sizes;
  for (const SymInt& s : type.sizes) sizes.push_back(s.value);
  Tensor t = Tensor::Zeros(type.dtype, sizes);
  for (int64_t i = 0; i < t.numel(); ++i) {
    if (type.dtype == DType::kInt8) {
      t.mutable_data<int8_t>()[i] = static_cast<int8_t>(Element(type.dtype, i));
    } else if (type.dtype == DType::kFloat32) {
      t.mutable_data<float>()[i] = static_cast<float>(Element(type.dtype, i));
    }
  }
  return t;
}

// A region whose inputs but the first are known.
TranslatedRegion Translate(const std::string& graph, bool rounds = false) {
  static std::vector<std::unique_ptr<Program>> kept;
  kept.push_back(std::make_unique<Program>(Parse(graph)));
  const Program& region = *kept.back();
  std::vector<RegionConstant> constants;
  const auto& inputs = region.root().inputs;
  for (uint32_t i = 1; i < inputs.size(); ++i) {
    constants.push_back({i, Filled(region.type(inputs[i]))});
  }
  Diagnostics diags;
  auto out = TranslateRegion(region, constants, rounds, diags);
  EXPECT_TRUE(out) << diags.ToString();
  return out ? std::move(*out) : TranslatedRegion();
}

std::vector<NodeKind> Kinds(const Graph& graph) {
  std::vector<NodeKind> kinds;
  for (const Node& n : graph.nodes) kinds.push_back(n.kind);
  return kinds;
}

const FullyConnected& Product(const TranslatedRegion& region, size_t i) {
  return std::get<FullyConnected>(region.graph.nodes[i].op);
}

Bytes DataOf(const TranslatedRegion& region, uint32_t constant) {
  for (const NamedBytes& d : region.data) {
    if (d.key == region.graph.constants[constant].key) return d.bytes;
  }
  ADD_FAILURE() << "no such data";
  return {};
}

// %d is what is left of %x when its rows are quantised.
std::string Rows(const std::string& columns) {
  return "  %s : f64[3, 1], %z : i64[3, 1] = "
         "quantized_decomposed.choose_qparams_per_token_asymmetric.default("
         "%x, torch.int8)\n  %q : i8[3, " +
         columns +
         "] = quantized_decomposed.quantize_per_token.default(%x, %s, %z, "
         "-128, 127, torch.int8)\n  %d : f32[3, " +
         columns +
         "] = quantized_decomposed.dequantize_per_token.default(%q, %s, %z, "
         "-128, 127, torch.int8, torch.float32)\n";
}

TEST(Quantization, RowsAtRunTimeAndStoredIntegersAreOneProduct) {
  const auto out = Translate(
      "graph @main(%x : f32[3, 8], %w : i8[4, 8], %ws : f32[4], %wz : i64[4], "
      "%b : f32[4]) {\n" +
      Rows("8") +
      R"(  %n : f32[4, 8] = quantized_decomposed.dequantize_per_channel.default(%w, %ws, %wz, 0, -128, 127, torch.int8)
  %y : f32[3, 4] = aten.linear.default(%d, %n, %b)
  return (%y)
}
)");
  ASSERT_EQ(
      Kinds(out.graph),
      (std::vector<NodeKind>{NodeKind::kConvert, NodeKind::kFullyConnected}));
  const FullyConnected& node = Product(out, 1);
  EXPECT_EQ(out.graph.values[node.input].datatype, Datatype::kQdint8);
  const TensorValue& filter = out.graph.values[node.filter];
  EXPECT_EQ(filter.datatype, Datatype::kQcint8);
  EXPECT_EQ(DataOf(out, filter.constant).size(), 32u);
  const auto& quant = std::get<PerChannelQuant>(*filter.quant);
  EXPECT_EQ(quant.channel_dim, 0);
  float scales[4];
  std::memcpy(scales, DataOf(out, quant.scales).data(), sizeof(scales));
  EXPECT_EQ(scales[3], 0.04f);
  EXPECT_EQ(out.graph.values[node.bias].datatype, Datatype::kFp32);
}

TEST(Quantization, FourBitsLieTwoToAByteTheEvenColumnLow) {
  const auto out = Translate(
      "graph @main(%x : f32[3, 4], %w : i8[2, 4], %ws : f32[2]) {\n" +
      Rows("4") +
      R"(  %n : f32[2, 4] = quantized_decomposed.dequantize_per_channel.default(%w, %ws, None, 0, -8, 7, torch.int8)
  %y : f32[3, 2] = aten.linear.default(%d, %n)
  return (%y)
}
)");
  const TensorValue& filter = out.graph.values[Product(out, 1).filter];
  EXPECT_EQ(filter.datatype, Datatype::kQcint4);
  // -8, -7, -6, -5 and -4, -3, -2, -1, with 8 for 0.
  const std::vector<std::byte> want = {std::byte{0x10}, std::byte{0x32},
                                       std::byte{0x54}, std::byte{0x76}};
  const Bytes got = DataOf(out, filter.constant);
  EXPECT_EQ(std::vector<std::byte>(got.begin(), got.end()), want);
}

const std::string kGroups =
    "graph @main(%x : f32[3, 64], %w : i8[2, 64], %ws : f32[2, 2]) {\n" +
    Rows("64") +
    R"(  %n : f32[2, 64] = quantized_decomposed.dequantize_per_channel_group.default(%w, %ws, None, -8, 7, torch.int8, 32, torch.float32)
  %y : f32[3, 2] = aten.linear.default(%d, %n)
  return (%y)
}
)";

float ScaleOfGroup(const TranslatedRegion& region, const TensorValue& filter,
                   size_t i) {
  EXPECT_EQ(filter.datatype, Datatype::kQbint4);
  const auto& quant = std::get<PerChannelGroupQuant>(*filter.quant);
  EXPECT_EQ(quant.group_size, 32);
  uint16_t bits = 0;
  std::memcpy(&bits, DataOf(region, quant.scales).data() + 2 * i, 2);
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

TEST(Quantization, ScalesOfGroupsThatBfloat16LacksAreSums) {
  const auto out = Translate(kGroups);
  std::vector<const TensorValue*> filters;
  for (const Node& node : out.graph.nodes) {
    if (node.kind != NodeKind::kFullyConnected) continue;
    const auto& product = std::get<FullyConnected>(node.op);
    filters.push_back(&out.graph.values[product.filter]);
    EXPECT_EQ(filters.back()->constant, filters[0]->constant)
        << "the integers are stored once";
  }
  ASSERT_EQ(filters.size(), 3u);
  for (size_t i = 0; i < 4; ++i) {
    double sum = 0;
    for (const TensorValue* filter : filters) {
      const float scale = ScaleOfGroup(out, *filter, i);
      EXPECT_GT(scale, 0) << "XNNPACK takes positive scales only";
      sum += double{scale};
    }
    EXPECT_FLOAT_EQ(
        static_cast<float>(sum),
        static_cast<float>(Element(DType::kFloat32, static_cast<int64_t>(i))));
  }
}

TEST(Quantization, WhoRoundsHasTheNearestScales) {
  const auto out = Translate(kGroups, true);
  ASSERT_EQ(
      Kinds(out.graph),
      (std::vector<NodeKind>{NodeKind::kConvert, NodeKind::kFullyConnected}));
  const TensorValue& filter = out.graph.values[Product(out, 1).filter];
  for (size_t i = 0; i < 4; ++i) {
    const double want = Element(DType::kFloat32, static_cast<int64_t>(i));
    EXPECT_NEAR(ScaleOfGroup(out, filter, i), want, want / 512);
  }
}

TEST(Quantization, NumbersTimesIntegersGetTheirBiasAfterwards) {
  const auto out = Translate(
      R"(graph @main(%x : f32[3, 8], %w : i8[4, 8], %b : f32[4]) {
  %n : f32[4, 8] = quantized_decomposed.dequantize_per_tensor.default(%w, 0.5, 0, -128, 127, torch.int8)
  %y : f32[3, 4] = aten.linear.default(%x, %n, %b)
  %r : f32[3, 4] = aten.relu.default(%y)
  return (%r)
}
)");
  ASSERT_EQ(Kinds(out.graph),
            (std::vector<NodeKind>{NodeKind::kFullyConnected, NodeKind::kAdd}));
  EXPECT_EQ(Product(out, 0).bias, kNoId);
  EXPECT_FALSE(out.graph.nodes[0].range);
  EXPECT_TRUE(out.graph.nodes[1].range);
}

std::string BetweenQuantisations(const std::string& bias) {
  return R"(graph @main(%x : f32[1, 2, 4, 4], %w : i8[3, 2, 1, 1], %ws : f32[3], %b : f32[3]) {
  %n : f32[3, 2, 1, 1] = quantized_decomposed.dequantize_per_channel.default(%w, %ws, None, 0, -127, 127, torch.int8)
  %q : i8[1, 2, 4, 4] = quantized_decomposed.quantize_per_tensor.default(%x, 0.013, 3, -128, 127, torch.int8)
  %d : f32[1, 2, 4, 4] = quantized_decomposed.dequantize_per_tensor.default(%q, 0.013, 3, -128, 127, torch.int8)
  %c : f32[1, 3, 4, 4] = aten.convolution.default(%d, %n, )" +
         bias + R"(, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
  %r : f32[1, 3, 4, 4] = aten.relu.default(%c)
  %p : i8[1, 3, 4, 4] = quantized_decomposed.quantize_per_tensor.default(%r, 0.02, -128, -128, 127, torch.int8)
  %y : f32[1, 3, 4, 4] = quantized_decomposed.dequantize_per_tensor.default(%p, 0.02, -128, -128, 127, torch.int8)
  return (%y)
}
)";
}

TEST(Quantization, AConvolutionBetweenTwoWorksOnIntegers) {
  const auto out = Translate(BetweenQuantisations("None"));
  ASSERT_EQ(Kinds(out.graph),
            (std::vector<NodeKind>{NodeKind::kConvert, NodeKind::kTranspose,
                                   NodeKind::kConv2d, NodeKind::kConvert,
                                   NodeKind::kTranspose}));
  const auto& node = std::get<Convolution>(out.graph.nodes[2].op);
  const auto type_of = [&](uint32_t id) {
    return out.graph.values[id].datatype;
  };
  EXPECT_EQ(type_of(node.input), Datatype::kQint8);
  EXPECT_EQ(type_of(node.filter), Datatype::kQcint8);
  EXPECT_EQ(type_of(node.bias), Datatype::kQcint32);
  EXPECT_EQ(type_of(node.output), Datatype::kQint8);
  const auto& quant =
      std::get<PerTensorQuant>(*out.graph.values[node.output].quant);
  EXPECT_EQ(quant.scale, 0.02f);
  EXPECT_EQ(quant.zero_point, -128);
  ASSERT_TRUE(out.graph.nodes[2].range) << "the activation is part of it";
}

TEST(Quantization, ABiasThatRoundingWouldShiftKeepsNumbers) {
  // 0.01 is no multiple of 0.013 * 0.01, and the rest is more than 2^-12 of
  // 0.02.
  const std::string text = BetweenQuantisations("%b");
  const auto exact = Translate(text);
  // One place of the image at a time: a product of numbers and integers.
  using enum NodeKind;
  EXPECT_EQ(
      Kinds(exact.graph),
      (std::vector<NodeKind>{kConvert, kConvert, kTranspose, kFullyConnected,
                             kAdd, kConvert, kConvert, kTranspose}));
  const FullyConnected& product = Product(exact, 3);
  EXPECT_EQ(exact.graph.values[product.input].datatype, Datatype::kFp32);
  EXPECT_EQ(exact.graph.values[product.filter].datatype, Datatype::kQcint8);
  const auto rounded = Translate(text, true);
  EXPECT_EQ(Kinds(rounded.graph),
            Kinds(Translate(BetweenQuantisations("None")).graph));
}

TEST(Quantization, IntegersMoveAsTheyAreWhereTheirScaleStays) {
  const auto moved = [](const std::string& scale) {
    return Kinds(Translate(
                     R"(graph @main(%x : f32[2, 6]) {
  %q : i8[2, 6] = quantized_decomposed.quantize_per_tensor.default(%x, 0.5, 0, -128, 127, torch.int8)
  %d : f32[2, 6] = quantized_decomposed.dequantize_per_tensor.default(%q, 0.5, 0, -128, 127, torch.int8)
  %v : f32[3, 4] = aten.view.default(%d, [3, 4])
  %p : i8[3, 4] = quantized_decomposed.quantize_per_tensor.default(%v, )" +
                     scale + R"(, 0, -128, 127, torch.int8)
  %y : f32[3, 4] = quantized_decomposed.dequantize_per_tensor.default(%p, )" +
                     scale + R"(, 0, -128, 127, torch.int8)
  return (%y)
}
)")
                     .graph);
  };
  using enum NodeKind;
  EXPECT_EQ(moved("0.5"),
            (std::vector<NodeKind>{kConvert, kReshape, kConvert}));
  EXPECT_EQ(moved("0.25"), (std::vector<NodeKind>{kConvert, kConvert, kReshape,
                                                  kConvert, kConvert}));
}

// What is said of the node that gives %y, in a program whose only state is the
// matrix %w.
std::string WhyRefused(const std::string& nodes) {
  const Program program = Parse(
      "storage @0 = 16 bytes zeros\nbuffer \"w\" : i8[4, 4] = @0\n"
      "in_spec ((*,), {})\nout_spec *\ngraph @main(%w : i8[4, 4] = buffer "
      "\"w\", %x : f32[4, 4]) {\n" +
      nodes + "  return (%y)\n}\n");
  const NodeId node =
      program.value(program.outputs(Program::kRoot)[0].value()).def;
  const auto refusal = XnnpackBackend().Refuses(program, node);
  return refusal ? refusal->detail : "";
}

TEST(Quantization, WhatXnnpackWouldComputeOtherwiseIsRefused) {
  EXPECT_EQ(WhyRefused("  %y : i8[4, 4] = quantized_decomposed."
                       "quantize_per_tensor.default(%x, 0.5, 0, -127, 127, "
                       "torch.int8)\n"),
            "a quantisation to other than the whole of int8");
  EXPECT_EQ(WhyRefused("  %y : u8[4, 4] = quantized_decomposed."
                       "quantize_per_tensor.default(%x, 0.5, 0, 0, 255, "
                       "torch.uint8)\n"),
            "a quantisation to other than the whole of int8");
  EXPECT_EQ(WhyRefused("  %y : f32[4, 4] = quantized_decomposed."
                       "dequantize_per_tensor.default(%w, 0.5, 3, -128, 127, "
                       "torch.int8)\n"),
            "integers other than int8, or a zero point of weights");
  EXPECT_EQ(WhyRefused("  %y : f32[4, 4] = quantized_decomposed."
                       "dequantize_per_tensor.default(%w, 0.5, 0, -128, 127, "
                       "torch.int8)\n"),
            "stored integers that aren't the weight of one node");
  // The caller reads what is left of the rows.
  std::string rows = Rows("4");
  for (size_t at; (at = rows.find("[3,")) != std::string::npos;) {
    rows.replace(at, 3, "[4,");
  }
  rows.replace(rows.find("%d"), 2, "%y");
  EXPECT_EQ(WhyRefused(rows),
            "rows quantised at run time for other than products with stored "
            "integers");
}

}  // namespace
}  // namespace tenon::xnnpack
