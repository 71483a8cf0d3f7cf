// Products of backend cpu with weights that stay packed, and quantised
// operators that only chains of others define.
#include <gtest/gtest.h>

#include "region_comparison.h"

namespace tenon {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kBFloat16,
                             DType::kFloat16};

// The product is as the reference has it, and some step is called `name`.
void ExpectStep(RegionBuilder& b, ValueId product, const std::string& name,
                const std::string& what) {
  const Tensor expected = b.sample(product).tensor().Clone();
  std::string steps;
  const Tensor actual = RunOnCpu(b, product, &steps);
  ASSERT_TRUE(actual.defined()) << what;
  ExpectSameTensor(actual, expected, what);
  EXPECT_NE(steps.find(name), std::string::npos) << what << steps;
}

TEST(CpuPackedTest, IntegerProductsAreExactWhereverOperandsLie) {
  RandomTensors random;
  for (const int64_t m : {1, 3, 17}) {
    for (const int64_t n : {1, 8, 1100}) {
      for (const int64_t k : {1, 5, 300}) {
        for (const bool is_flipped : {false, true}) {
          RegionBuilder b;
          const ValueId x = b.Input(RandomBytes(random, DType::kInt8, {m, k}));
          ValueId y = b.Input(RandomBytes(
              random, DType::kInt8, is_flipped ? Sizes{n, k} : Sizes{k, n}));
          if (is_flipped) {
            y = b.Op("aten.permute.default",
                     {{"self", y}, {"dims", std::vector<int64_t>{1, 0}}});
          }
          ExpectStep(
              b, b.Op("aten._int_mm.default", {{"self", x}, {"mat2", y}}),
              "matmul_int", std::to_string(m) + " x " + std::to_string(n));
        }
      }
    }
  }
}

TEST(CpuPackedTest, IntegerProductsOfUnsignedByInt8) {
  RandomTensors random;
  RegionBuilder b;
  const ValueId x = b.Input(RandomBytes(random, DType::kUInt8, {5, 64}));
  const ValueId y = b.Input(RandomBytes(random, DType::kInt8, {64, 9}));
  ExpectStep(b, b.Op("aten._int_mm.default", {{"self", x}, {"mat2", y}}),
             "matmul_int", "uint8");
}

TEST(CpuPackedTest, IntegerProductsWrapInInt32) {
  constexpr int64_t kK = 140'000;  // 128 * 128 * kK is above 2^31
  RandomTensors random;
  const Tensor row = Cast(random.Ints({1, kK}, -128, -128), DType::kInt8);
  RegionBuilder b;
  const ValueId x = b.Input(row);
  const ValueId y = b.Op("aten.permute.default",
                         {{"self", x}, {"dims", std::vector<int64_t>{1, 0}}});
  ExpectStep(b, b.Op("aten._int_mm.default", {{"self", x}, {"mat2", y}}),
             "matmul_int", "wraps");
}

TEST(CpuPackedTest, Int8WeightsAreReadAsTheyAre) {
  for (const DType dtype : kFloats) {
    RandomTensors random;
    for (const int64_t m : {1, 3, 40}) {
      RegionBuilder b;
      const ValueId x = b.Input(Cast(random.Floats({m, 192}, -1, 1), dtype));
      const ValueId weight =
          b.Input(RandomBytes(random, DType::kInt8, {70, 192}));
      const ValueId scales =
          b.Input(Cast(random.Floats({70}, 0.01f, 0.1f), dtype));
      ExpectStep(b,
                 b.Op("aten._weight_int8pack_mm.default",
                      {{"self", x}, {"mat2", weight}, {"scales", scales}}),
                 "matmul_narrow", std::string(Name(dtype)));
    }
  }
}

// Rows of the weight that are one block by halves, several, and a rest.
TEST(CpuPackedTest, Int4WeightsAreReadAsTheyArePacked) {
  for (const DType dtype : kFloats) {
    RandomTensors random;
    for (const int64_t m : {1, 5, 33}) {
      for (const int64_t n : {16, 32, 64, 176, 240}) {
        for (const int64_t group : {32, 128}) {
          constexpr int64_t kK = 256;
          RegionBuilder b;
          const ValueId x = b.Input(Cast(random.Floats({m, kK}, -1, 1), dtype));
          const ValueId weight =
              b.Input(Cast(random.Ints({n, kK / 2}, 0, 255), DType::kUInt8));
          const ValueId parameters = b.Input(
              Cast(random.Floats({kK / group, n, 2}, -0.1f, 0.1f), dtype));
          ExpectStep(b,
                     b.Op("aten._weight_int4pack_mm_for_cpu.default",
                          {{"self", x},
                           {"mat2", weight},
                           {"qGroupSize", group},
                           {"qScaleAndZeros", parameters}}),
                     "matmul_int4",
                     std::string(Name(dtype)) + " " + std::to_string(n));
        }
      }
    }
  }
}

// --- torchao ---

const std::vector<std::vector<int64_t>> kBlocks = {{70, 192}, {1, 192}, {1, 32},
                                                   {70, 1},   {7, 16},  {1, 1}};

TEST(CpuPackedTest, AffineQuantisationThereAndBack) {
  RandomTensors random;
  for (const std::vector<int64_t>& block : kBlocks) {
    for (const char* mapping :
         {"ASYMMETRIC", "SYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR"}) {
      if (block == std::vector<int64_t>{1, 1}) continue;  // reduces everything
      CheckOperator(mapping, [&](RegionBuilder& b) {
        const ValueId x = b.Input(random.Floats({70, 192}, -3, 5));
        std::vector<ValueId> all =
            b.Ops("torchao.choose_qparams_affine.default",
                  {{"input", x},
                   {"mapping_type", std::string(mapping)},
                   {"block_size", block},
                   {"target_dtype", DType::kInt8},
                   {"keepdim", true}});
        all.push_back(b.Op("torchao.quantize_affine.default",
                           {{"input", x},
                            {"block_size", block},
                            {"scale", all[0]},
                            {"zero_point", all[1]},
                            {"output_dtype", DType::kInt8}}));
        all.push_back(b.Op("torchao.dequantize_affine.default",
                           {{"input", all.back()},
                            {"block_size", block},
                            {"scale", all[0]},
                            {"zero_point", all[1]},
                            {"input_dtype", DType::kInt8}}));
        return all;
      });
    }
  }
}

TEST(CpuPackedTest, ProductsReadAffineWeightsAsTheyAre) {
  RandomTensors random;
  for (const std::vector<int64_t>& block : kBlocks) {
    // Those whose parameters go with columns of the product, or groups.
    const bool is_read = block[1] == 192 || block[0] == 1;
    if (!is_read || block[1] == 1) continue;
    for (const bool has_zeros : {false, true}) {
      for (const int64_t m : {1, 40}) {
        RegionBuilder b;
        const Sizes counts = {70 / block[0], 192 / block[1]};
        const ValueId scale = b.Input(random.Floats(counts, 0.01f, 0.1f));
        std::vector<TestArg> args = {
            {"input", b.Input(RandomBytes(random, DType::kInt8, {70, 192}))},
            {"block_size", block},
            {"scale", scale}};
        if (has_zeros) {
          args.emplace_back("zero_point", b.Input(random.Ints(counts, -9, 9)));
        } else {
          args.emplace_back("zero_point", RuntimeValue());
        }
        args.emplace_back("input_dtype", DType::kInt8);
        const ValueId weight = b.Op("torchao.dequantize_affine.default", args);
        const ValueId x = b.Input(random.Floats({m, 192}, -1, 1));
        ExpectStep(
            b, b.Op("aten.linear.default", {{"input", x}, {"weight", weight}}),
            "matmul_narrow", std::to_string(block[1]));
      }
    }
  }
}

// --- tables ---

TEST(CpuPackedTest, RowsOfQuantisedTables) {
  RandomTensors random;
  struct Table {
    const char* op;
    int per_byte;
    int64_t low;
  };
  for (const Table& t :
       {Table{"byte", 1, -128}, {"4bit", 2, -8}, {"2bit", 4, -2}}) {
    for (const DType scales : {DType::kFloat32, DType::kFloat16}) {
      for (const int64_t groups : {0, 1, 4}) {
        for (const bool has_zeros : {false, true}) {
          CheckOperator(t.op, [&](RegionBuilder& b) {
            const DType stored = t.per_byte == 1 ? DType::kInt8 : DType::kUInt8;
            const Sizes sizes = groups == 0 ? Sizes{10} : Sizes{10, groups};
            std::vector<TestArg> args = {
                {"weight",
                 b.Input(RandomBytes(random, stored, {10, 32 / t.per_byte}))},
                {"weight_scales",
                 b.Input(Cast(random.Floats(sizes, 0.01f, 1), scales))}};
            if (has_zeros) {
              args.emplace_back(
                  "weight_zero_points",
                  b.Input(Cast(random.Ints(sizes, -3, 3), scales)));
            } else {
              args.emplace_back("weight_zero_points", RuntimeValue());
            }
            args.insert(args.end(),
                        {{"weight_quant_min", t.low},
                         {"weight_quant_max", -t.low - 1},
                         {"indices", b.Input(random.Ints({3, 5}, 0, 9))}});
            const std::string op =
                std::string("quantized_decomposed.embedding_") + t.op;
            const ValueId plain = b.Op(op + ".default", args);
            args.emplace_back("dtype", DType::kFloat32);
            return std::vector<ValueId>{plain, b.Op(op + ".dtype", args)};
          });
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon
