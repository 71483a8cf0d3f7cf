// Quantised operators of backend cpu, products that read weights as they are
// stored, and weights that are computed once.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cpu/executable.h"
#include "backends/cpu/loops/loops.h"
#include "region_comparison.h"

namespace tenon {
namespace {

constexpr DType kBytes[] = {DType::kInt8, DType::kUInt8};
constexpr DType kHalves[] = {DType::kBFloat16, DType::kFloat16};

Tensor ReadOnly(const Tensor& t) {
  const Bytes bytes(t.storage()->data(), t.storage()->size_bytes());
  return Tensor(Storage::BorrowConst(bytes, t.storage()), t.dtype(), t.sizes(),
                t.strides(), t.offset());
}

TEST(CpuQuantizedTest, QuantizesAndDequantizes) {
  RandomTensors random;
  const Tensor x = random.Floats({6, 64}, -3, 3);
  for (const DType dtype : kBytes) {
    const int64_t low = dtype == DType::kInt8 ? -128 : 0, high = low + 255;
    const std::string name = std::string(Name(dtype));
    for (const DType input : {DType::kFloat32, DType::kBFloat16}) {
      CheckOperator("per tensor", [&](RegionBuilder& b) {
        const ValueId q =
            b.Op("quantized_decomposed.quantize_per_tensor.default",
                 {{"input", b.Input(Cast(x, input))},
                  {"scale", 0.0234},
                  {"zero_point", low + 100},
                  {"quant_min", low},
                  {"quant_max", high},
                  {"dtype", dtype}});
        return std::vector<ValueId>{
            q, b.Op("quantized_decomposed.dequantize_per_tensor.default",
                    {{"input", q},
                     {"scale", 0.0234},
                     {"zero_point", low + 100},
                     {"quant_min", low},
                     {"quant_max", high},
                     {"dtype", dtype},
                     {"out_dtype", input}})};
      });
    }
    CheckOperator("per tensor, chosen", [&](RegionBuilder& b) {
      const ValueId v = b.Input(x);
      std::vector<ValueId> all =
          b.Ops("quantized_decomposed.choose_qparams.tensor",
                {{"input", v},
                 {"quant_min", low},
                 {"quant_max", high},
                 {"eps", 0.000244140625},
                 {"dtype", dtype}});
      std::vector<TestArg> args = {{"input", v},           {"scale", all[0]},
                                   {"zero_point", all[1]}, {"quant_min", low},
                                   {"quant_max", high},    {"dtype", dtype}};
      all.push_back(
          b.Op("quantized_decomposed.quantize_per_tensor.tensor", args));
      args[0] = {"input", all.back()};
      all.push_back(
          b.Op("quantized_decomposed.dequantize_per_tensor.tensor", args));
      return all;
    });
  }
  for (const char* op :
       {"choose_qparams_per_token", "choose_qparams_per_token_asymmetric"}) {
    CheckOperator(op, [&](RegionBuilder& b) {
      const ValueId v = b.Input(x);
      std::vector<ValueId> all =
          b.Ops("quantized_decomposed." + std::string(op) + ".default",
                {{"input", v}, {"dtype", DType::kInt8}});
      std::vector<TestArg> args = {
          {"input", v},        {"scales", all[0]}, {"zero_points", all[1]},
          {"quant_min", -128}, {"quant_max", 127}, {"dtype", DType::kInt8}};
      all.push_back(
          b.Op("quantized_decomposed.quantize_per_token.default", args));
      args[0] = {"input", all.back()};
      args.push_back({"output_dtype", DType::kFloat32});
      all.push_back(
          b.Op("quantized_decomposed.dequantize_per_token.default", args));
      return all;
    });
  }
  CheckOperator("symmetric", [&](RegionBuilder& b) {
    return b.Ops("quantized_decomposed.choose_qparams_symmetric.tensor",
                 {{"input", b.Input(x)},
                  {"quant_min", -127},
                  {"quant_max", 127},
                  {"eps", 1e-5},
                  {"dtype", DType::kInt8}});
  });
  CheckOperator("per channel", [&](RegionBuilder& b) {
    const ValueId scales = b.Input(random.Floats({64}, 0.01f, 0.1f));
    const ValueId zeros = b.Input(random.Ints({64}, -20, 20));
    std::vector<TestArg> args = {{"input", b.Input(x)},  {"scales", scales},
                                 {"zero_points", zeros}, {"axis", 1},
                                 {"quant_min", -128},    {"quant_max", 127},
                                 {"dtype", DType::kInt8}};
    const ValueId q =
        b.Op("quantized_decomposed.quantize_per_channel.default", args);
    args[0] = {"input", q};
    return std::vector<ValueId>{
        q, b.Op("quantized_decomposed.dequantize_per_channel.default", args)};
  });
  // int8 zero points wrap.
  CheckOperator("int8 zero points", [&](RegionBuilder& b) {
    return b.Ops(
        "quantized_decomposed.dequantize_per_channel.default",
        {{"input", b.Input(RandomBytes(random, DType::kInt8, {4, 6}))},
         {"scales", b.Input(random.Floats({4}))},
         {"zero_points", b.Input(RandomBytes(random, DType::kInt8, {4}))},
         {"axis", 0},
         {"quant_min", -128},
         {"quant_max", 127},
         {"dtype", DType::kInt8}});
  });
}

// --- products ---

void ExpectNarrow(RegionBuilder& b, ValueId product, const std::string& what) {
  const Tensor expected = b.sample(product).tensor().Clone();
  std::string steps;
  const Tensor actual = RunOnCpu(b, product, &steps);
  ASSERT_TRUE(actual.defined()) << what;
  ExpectSameTensor(actual, expected, what);
  EXPECT_NE(steps.find("matmul_narrow"), std::string::npos) << what << steps;
}

TEST(CpuQuantizedTest, ProductsReadHalfPrecisionAsItIs) {
  for (const DType dtype : kHalves) {
    RandomTensors random(dtype);
    for (const int64_t m : {1, 2, 3, 4, 7, 11, 12, 33}) {
      for (const int64_t n : {1, 5, 67, 300}) {
        for (const int64_t k : {1, 3, 64, 200, 4096}) {
          const std::string what = std::to_string(m) + "x" + std::to_string(k) +
                                   "x" + std::to_string(n);
          {
            RegionBuilder b;
            const ValueId v =
                b.Op("aten.linear.default",
                     {{"input", b.Input(random.Floats({m, k}, -1, 1))},
                      {"weight", b.Input(random.Floats({n, k}, -1, 1))},
                      {"bias", b.Input(random.Floats({n}))}});
            ExpectNarrow(b, v, "linear " + what);
          }
          RegionBuilder b;
          const ValueId v =
              b.Op("aten.mm.default",
                   {{"self", b.Input(random.Floats({m, k}, -1, 1))},
                    {"mat2", b.Input(random.Floats({k, n}, -1, 1))}});
          ExpectNarrow(b, v, "mm " + what);
        }
      }
    }
  }
}

// By oneDNN where it has a kernel for the machine, else like others.
TEST(CpuQuantizedTest, ManyRowsByFixedBfloat16) {
  RandomTensors random(DType::kBFloat16);
  for (const int64_t m : {2, 16, 40, 130}) {
    for (const bool has_bias : {false, true}) {
      for (const bool is_flipped : {false, true}) {
        RegionBuilder b;
        const ValueId x = b.Input(random.Floats({2, m, 96}, -1, 1));
        const ValueId w = b.Input(ReadOnly(
            random.Floats(is_flipped ? Sizes{80, 96} : Sizes{96, 80})));
        std::vector<TestArg> args = {{"input", x}, {"weight", w}};
        if (has_bias) args.emplace_back("bias", b.Input(random.Floats({80})));
        const ValueId v = is_flipped ? b.Op("aten.linear.default", args)
                                     : b.Op("aten.matmul.default",
                                            {{"self", x}, {"other", w}});
        ExpectAsReference(b, {v}, "bfloat16");
      }
    }
  }
}

// Not only the instruction set that this machine does best.
TEST(CpuQuantizedTest, LoopsOfEachInstructionSet) {
  RandomTensors random;
  constexpr int64_t kM = 5, kN = 7, kK = 133;
  const Tensor a = random.Floats({kM, kK}, -1, 1);
  const Tensor scale = random.Floats({kN}, 0.5f, 1);
  const Tensor zero = random.Floats({kN}, -1, 1);
  for (const DType type :
       {DType::kBFloat16, DType::kFloat16, DType::kInt8, DType::kUInt8}) {
    const Tensor b = IsFloating(type) ? Cast(random.Floats({kN, kK}), type)
                                      : RandomBytes(random, type, {kN, kK});
    const Tensor wide = Cast(b, DType::kFloat32);
    for (const cpu::Loops* const* set = cpu::SupportedLoops(); *set; ++set) {
      SCOPED_TRACE((*set)->name);
      Tensor c = Tensor::Empty(DType::kFloat32, {kM, kN});
      cpu::NarrowGemmArgs g;
      g.m = kM;
      g.n = kN;
      g.k = g.a_row = g.b_column = kK;
      g.a = a.data<float>();
      g.type = type;
      g.b = b.raw();
      g.scale = scale.data<float>();
      g.zero = zero.data<float>();
      g.c = c.mutable_data<float>();
      g.c_row = kN;
      (*set)->multiply_narrow(g);
      std::vector<float> rows(kN * kK);
      cpu::WidenArgs w;
      w.type = type;
      w.from = b.raw();
      w.rows = kN;
      w.size = w.from_step = w.group = kK;
      w.out = rows.data();
      w.scale = scale.data<float>();
      w.zero = zero.data<float>();
      w.is_per_row = true;
      (*set)->widen_block(w);
      for (int64_t j = 0; j < kN; ++j) {
        const float s = scale.data<float>()[j], z = zero.data<float>()[j];
        for (int64_t p = 0; p < kK; ++p) {
          const int64_t at = j * kK + p;
          ASSERT_FLOAT_EQ(rows[static_cast<size_t>(at)],
                          (wide.data<float>()[at] - z) * s);
        }
        for (int64_t i = 0; i < kM; ++i) {
          double sum = 0;
          for (int64_t p = 0; p < kK; ++p) {
            sum += double{a.data<float>()[i * kK + p]} *
                   double{rows[static_cast<size_t>(j * kK + p)]};
          }
          ASSERT_NEAR(c.data<float>()[i * kN + j], sum, 1e-2);
        }
      }
    }
  }
}

struct Quantized {
  const char* name;
  bool has_zeros, is_per_tensor;
  int64_t group;
};

TEST(CpuQuantizedTest, ProductsReadQuantisedWeightsAsTheyAre) {
  RandomTensors random;
  for (const Quantized& c :
       std::vector<Quantized>{{"per channel", true, false, 0},
                              {"per channel without zeros", false, false, 0},
                              {"per tensor", true, true, 0},
                              {"groups", true, false, 32},
                              {"groups without zeros", false, false, 64}}) {
    for (const int64_t m : {1, 3, 40}) {
      for (const DType dtype : kBytes) {
        constexpr int64_t kN = 70, kK = 192;
        RegionBuilder b;
        std::vector<TestArg> args = {
            {"input", b.Input(RandomBytes(random, dtype, {kN, kK}))}};
        std::string op = "per_channel";
        if (c.is_per_tensor) {
          op = "per_tensor";
          args.insert(args.end(), {{"scale", 0.03}, {"zero_point", 5}});
        } else {
          const Sizes sizes =
              c.group == 0 ? Sizes{kN} : Sizes{kN, kK / c.group};
          args.emplace_back("scales",
                            b.Input(random.Floats(sizes, 0.01f, 0.1f)));
          if (c.has_zeros) {
            args.emplace_back("zero_points",
                              b.Input(random.Ints(sizes, -9, 9)));
          } else {
            args.emplace_back("zero_points", RuntimeValue());
          }
          if (c.group == 0) args.emplace_back("axis", 0);
        }
        args.insert(args.end(),
                    {{"quant_min", dtype == DType::kInt8 ? -128 : 0},
                     {"quant_max", 127},
                     {"dtype", dtype}});
        if (c.group > 0) {
          op = "per_channel_group";
          args.emplace_back("group_size", c.group);
          args.emplace_back("output_dtype", DType::kFloat32);
        }
        const ValueId weight =
            b.Op("quantized_decomposed.dequantize_" + op + ".default", args);
        const ValueId x = b.Input(random.Floats({m, kK}, -1, 1));
        const ValueId flipped =
            b.Op("aten.permute.default",
                 {{"self", weight}, {"dims", std::vector<int64_t>{1, 0}}});
        const ValueId v =
            b.Op("aten.addmm.default", {{"self", b.Input(random.Floats({kN}))},
                                        {"mat1", x},
                                        {"mat2", flipped}});
        ExpectNarrow(b, v, c.name);
      }
    }
  }
}

// A weight that is overwritten between its cast and the product.
TEST(CpuQuantizedTest, AProductSeesTheWeightOfItsTime) {
  RandomTensors random(DType::kBFloat16);
  RegionBuilder b;
  const ValueId x = b.Input(random.Floats({2, 64}));
  const ValueId w =
      b.Op("aten.clone.default", {{"self", b.Input(random.Floats({16, 64}))}});
  const ValueId wide =
      b.Op("aten._to_copy.default", {{"self", w}, {"dtype", DType::kFloat32}});
  b.Op("aten.mul_.Tensor", {{"self", w}, {"other", 2.0}});
  const ValueId flipped =
      b.Op("aten.permute.default",
           {{"self", wide}, {"dims", std::vector<int64_t>{1, 0}}});
  const ValueId wide_x =
      b.Op("aten._to_copy.default", {{"self", x}, {"dtype", DType::kFloat32}});
  const ValueId v =
      b.Op("aten.mm.default", {{"self", wide_x}, {"mat2", flipped}});
  ExpectAsReference(b, {v}, "overwritten");
}

// --- weights that are computed once ---

TEST(CpuQuantizedTest, ConvolutionsKeepWeightsUntilOthersCome) {
  for (const DType dtype : kHalves) {
    RandomTensors random(dtype);
    const Tensor x = random.Floats({1, 16, 12, 12});
    const auto weight = [&] {
      return ReadOnly(random.Floats({24, 16, 3, 3}, -0.2f, 0.2f));
    };
    const auto build = [&](RegionBuilder& b, const Tensor& w) {
      return b.Op("aten.conv2d.default",
                  {{"input", b.Input(x)},
                   {"weight", b.Input(w)},
                   {"padding", std::vector<int64_t>{1, 1}}});
    };
    RegionBuilder b;
    const Tensor first = weight();
    const ValueId v = build(b, first);
    const Program region = b.Finish({v});
    Diagnostics diags;
    const Backend* cpu = FindBackend("cpu");
    const auto compiled = cpu->Compile(region, {}, diags);
    ASSERT_TRUE(compiled) << diags.ToString();
    const auto loaded = cpu->Load(compiled->payload, nullptr, {}, diags);
    ASSERT_TRUE(loaded) << diags.ToString();
    for (const Tensor& w : {first, first, weight(), weight(), first}) {
      RegionBuilder other;
      const Tensor expected = other.sample(build(other, w)).tensor();
      const auto results = (*loaded)->Run(other.inputs, diags);
      ASSERT_TRUE(results) << diags.ToString();
      ExpectSameTensor((*results)[0].tensor(), expected, "convolution");
    }
    const std::string steps =
        static_cast<cpu::CpuExecutable&>(**loaded).last_plan()->ToString();
    EXPECT_NE(steps.find("weights_once"), std::string::npos) << steps;
  }
}

}  // namespace
}  // namespace tenon
