// Backend cpu on elements that are stored narrower than they are computed:
// casts, rounding between operators, bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backends/cpu/loops/loops.h"
#include "backends/cpu/narrow_types.h"
#include "region_comparison.h"

namespace tenon {
namespace {

constexpr DType kAll[] = {DType::kFloat32, DType::kFloat64, DType::kBFloat16,
                          DType::kFloat16, DType::kInt64,   DType::kInt32,
                          DType::kInt8,    DType::kUInt8,   DType::kBool};
constexpr DType kBytes[] = {DType::kInt8, DType::kUInt8};
constexpr DType kHalves[] = {DType::kBFloat16, DType::kFloat16};

Tensor Floats(const std::vector<float>& values) {
  Tensor t =
      Tensor::Empty(DType::kFloat32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), t.mutable_data<float>());
  return t;
}

// Every bit pattern of a type of one or two bytes.
Tensor AllBits(DType dtype) {
  const int64_t count = int64_t{1} << (8 * SizeBytes(dtype));
  Tensor t = Tensor::Empty(dtype, {count});
  for (int64_t i = 0; i < count; ++i) {
    if (SizeBytes(dtype) == 1) {
      reinterpret_cast<uint8_t*>(t.mutable_raw())[i] = static_cast<uint8_t>(i);
    } else {
      reinterpret_cast<uint16_t*>(t.mutable_raw())[i] =
          static_cast<uint16_t>(i);
    }
  }
  return t;
}

void ExpectSameBits(const Tensor& a, const Tensor& e, const std::string& what) {
  ASSERT_TRUE(a.defined()) << what;
  ASSERT_EQ(a.dtype(), e.dtype()) << what;
  ASSERT_EQ(a.sizes(), e.sizes()) << what;
  const Tensor x = a.Contiguous(), y = e.Contiguous();
  const size_t item = SizeBytes(e.dtype());
  for (int64_t i = 0; i < e.numel(); ++i) {
    const size_t at = static_cast<size_t>(i) * item;
    ASSERT_TRUE(std::equal(x.raw() + at, x.raw() + at + item, y.raw() + at))
        << what << " at " << i;
  }
}

TEST(CpuNarrowTest, CastsAreTheReferencesBitForBit) {
  const float inf = INFINITY;
  const Tensor special = Floats(
      {0.0f,      -0.0f,    1.0f,     -1.5f,    inf,      -inf,    NAN,
       65504.0f,  65519.9f, 65520.0f, -65520.f, 65536.0f, 1e38f,   3.4e38f,
       6e-8f,     2.9e-8f,  2.99e-8f, -6e-5f,   6.1e-5f,  1e-30f,  1e-42f,
       127.5f,    128.9f,   -128.9f,  255.9f,   256.0f,   300.0f,  -300.0f,
       3e9f,      -3e9f,    1.00391f, 1.0039f,  2049.0f,  2051.0f, 0.1f,
       1.17e-38f, 9e18f,    -1e19f,   2.5f,     -2.5f,    1e10f,   -7e4f});
  for (const DType from : kAll) {
    std::vector<Tensor> samples = {Cast(special, from)};
    if (cpu::IsNarrow(from)) samples.push_back(AllBits(from));
    for (const DType to : kAll) {
      for (const Tensor& t : samples) {
        RegionBuilder b;
        const ValueId v = b.Op("aten._to_copy.default",
                               {{"self", b.Input(t)}, {"dtype", to}});
        const Tensor expected = b.sample(v).tensor();
        const std::string what =
            std::string(Name(from)) + " to " + std::string(Name(to));
        const Tensor actual = RunOnCpu(b, v);
        if (IsFloating(to)) {
          // NaN has many bit patterns.
          ExpectSameTensor(actual, expected, what);
          const Tensor again = Cast(actual, DType::kFloat64);
          const Tensor wanted = Cast(expected, DType::kFloat64);
          for (int64_t i = 0; i < again.numel(); ++i) {
            const double x = again.data<double>()[i];
            const double y = wanted.data<double>()[i];
            ASSERT_TRUE((std::isnan(x) && std::isnan(y)) ||
                        (x == y && std::signbit(x) == std::signbit(y)))
                << what << " at " << i << ": " << x << ", not " << y;
          }
        } else {
          ExpectSameBits(actual, expected, what);
        }
      }
    }
  }
}

TEST(CpuNarrowTest, CastsOfEachInstructionSet) {
  for (const DType dtype : kHalves) {
    const Tensor bits = AllBits(dtype);
    const Tensor wide = Cast(bits, DType::kFloat32);
    // Between neighbours too: a half, and a little to both sides.
    Tensor odd = wide.Clone();
    uint32_t state = 1;
    for (int64_t i = 0; i < odd.numel(); ++i) {
      auto* at = reinterpret_cast<uint32_t*>(odd.mutable_data<float>()) + i;
      state = state * 1664525 + 1013904223;
      *at ^= (state >> 8) % 3 == 0 ? 0x1000 : (state >> 9) & 0x1fff;
    }
    const Tensor expected = Cast(odd, dtype);
    for (const cpu::Loops* const* set = cpu::SupportedLoops(); *set; ++set) {
      SCOPED_TRACE((*set)->name);
      Tensor there = Tensor::Empty(DType::kFloat32, bits.sizes());
      Tensor back = Tensor::Empty(dtype, bits.sizes());
      const void* in = bits.raw();
      (*set)->find_cast(dtype, DType::kFloat32)(there.mutable_raw(), &in,
                                                nullptr, bits.numel());
      in = odd.raw();
      (*set)->find_cast(DType::kFloat32, dtype)(back.mutable_raw(), &in,
                                                nullptr, bits.numel());
      ExpectSameBits(there, wide, "widened");
      ExpectSameBits(back, expected, "rounded");
    }
  }
}

TEST(CpuNarrowTest, MovingElementsChangesNoBit) {
  for (const DType dtype : kHalves) {
    RegionBuilder b;
    const ValueId x = b.Input(AllBits(dtype));
    ValueId v = b.Op("aten.reshape.default",
                     {{"self", x}, {"shape", std::vector<int64_t>{256, 256}}});
    v = b.Op("aten.permute.default",
             {{"self", v}, {"dims", std::vector<int64_t>{1, 0}}});
    v = b.Op("aten.cat.default", {{"tensors", std::vector<ValueId>{v, v}}});
    v = b.Op(
        "aten.constant_pad_nd.default",
        {{"self", v}, {"pad", std::vector<int64_t>{1, 0}}, {"value", 1.0}});
    const Tensor expected = b.sample(v).tensor();
    ExpectSameBits(RunOnCpu(b, v), expected, std::string(Name(dtype)));
  }
}

// One rounding for each operator, however many of them are one step.
TEST(CpuNarrowTest, MergedOperatorsRoundOneByOne) {
  for (const DType dtype : kHalves) {
    RandomTensors random(dtype);
    RegionBuilder b;
    const ValueId x = b.Input(random.Floats({300}, 0.5f, 2));
    ValueId v = b.Op("aten.mul.Tensor", {{"self", x}, {"other", x}});
    for (int i = 0; i < 3; ++i) {
      v = b.Op("aten.add.Tensor", {{"self", v}, {"other", x}});
      v = b.Op("aten.mul.Tensor", {{"self", v}, {"other", 1.0037}});
      v = b.Op("aten.add.Tensor", {{"self", v}, {"other", 1.003}});
      v = b.Op("aten.div.Tensor", {{"self", v}, {"other", x}});
    }
    const Tensor expected = b.sample(v).tensor();
    std::string steps;
    ExpectSameBits(RunOnCpu(b, v, &steps), expected, std::string(Name(dtype)));
    EXPECT_EQ(std::count(steps.begin(), steps.end(), '\n'), 3) << steps;
  }
}

TEST(CpuNarrowTest, NumbersAreRoundedWhereTheReferenceRoundsThem) {
  for (const DType dtype : kHalves) {
    const Tensor x = Cast(Floats({255, 256, 2048, 0.1f, 1, -3}), dtype);
    const auto check = [&](const char* op, std::vector<TestArg> more) {
      RegionBuilder b;
      std::vector<TestArg> args = {{"self", b.Input(x)}};
      args.insert(args.end(), more.begin(), more.end());
      const ValueId v = b.Op(op, args);
      const Tensor expected = b.sample(v).tensor();
      ExpectSameBits(RunOnCpu(b, v), expected, op);
    };
    check("aten.mul.Tensor", {{"other", 1.0037}});
    check("aten.div.Tensor", {{"other", 1.0037}});
    check("aten.add.Tensor", {{"other", 1.003}});
    check("aten.add.Tensor", {{"other", 1.0004}, {"alpha", 1.0037}});
    check("aten.sub.Tensor", {{"other", 1.0004}});
    check("aten.eq.Scalar", {{"other", 0.1}});
    check("aten.lt.Scalar", {{"other", 0.1}});
    check("aten.clamp.default", {{"min", -0.1}, {"max", 255.7}});
    check("aten.hardtanh.default", {{"min_val", -0.1}, {"max_val", 255.7}});
  }
}

TEST(CpuNarrowTest, SpecialValues) {
  const float inf = INFINITY;
  const Tensor special = Floats({inf, -inf, NAN, 0.0f, -0.0f, 6e-8f, 1e-39f,
                                 65504.0f, -65504.0f, 1e38f, 1.0f, -2.0f});
  for (const DType dtype : kHalves) {
    const Tensor x = Cast(special, dtype);
    for (const char* op :
         {"relu",  "neg",         "abs",   "square",     "sign",
          "exp",   "sqrt",        "rsqrt", "reciprocal", "sigmoid",
          "silu",  "tanh",        "gelu",  "hardswish",  "isnan",
          "isinf", "logical_not", "round", "floor",      "log"}) {
      CheckOperator(op, [&](RegionBuilder& b) {
        return b.Ops("aten." + std::string(op) + ".default",
                     {{"self", b.Input(x)}});
      });
    }
    for (const char* op : {"add.Tensor", "mul.Tensor", "div.Tensor",
                           "maximum.default", "minimum.default"}) {
      CheckOperator(op, [&](RegionBuilder& b) {
        const ValueId rows = b.Input(x.View({12, 1}, {1, 1}, 0));
        return b.Ops("aten." + std::string(op),
                     {{"self", rows}, {"other", b.Input(x)}});
      });
    }
    for (const char* op : {"amax.default", "sum.dim_IntList", "mean.dim"}) {
      CheckOperator(op, [&](RegionBuilder& b) {
        return b.Ops("aten." + std::string(op),
                     {{"self", b.Input(x.View({4, 3}, {3, 1}, 0))},
                      {"dim", std::vector<int64_t>{1}}});
      });
    }
  }
}

TEST(CpuNarrowTest, DtypesOfResults) {
  for (const DType dtype : kHalves) {
    RandomTensors random(dtype), wide;
    for (const bool is_wide : {false, true}) {
      RandomTensors& of_weights = is_wide ? wide : random;
      CheckOperator("native_layer_norm", [&](RegionBuilder& b) {
        return b.Ops("aten.native_layer_norm.default",
                     {{"input", b.Input(random.Floats({3, 40}))},
                      {"normalized_shape", std::vector<int64_t>{40}},
                      {"weight", b.Input(of_weights.Floats({40}))},
                      {"bias", b.Input(of_weights.Floats({40}))},
                      {"eps", 1e-5}});
      });
      CheckOperator("batch_norm", [&](RegionBuilder& b) {
        return b.Ops("aten._native_batch_norm_legit_no_training.default",
                     {{"input", b.Input(random.Floats({2, 3, 5, 4}))},
                      {"weight", b.Input(of_weights.Floats({3}))},
                      {"bias", b.Input(of_weights.Floats({3}))},
                      {"running_mean", b.Input(of_weights.Floats({3}))},
                      {"running_var", b.Input(of_weights.Floats({3}, 0.5f, 1))},
                      {"momentum", 0.1},
                      {"eps", 1e-5}});
      });
    }
    for (const DType result : {DType::kFloat32, dtype}) {
      for (const char* op : {"sum.dim_IntList", "mean.dim"}) {
        CheckOperator(op, [&](RegionBuilder& b) {
          return b.Ops("aten." + std::string(op),
                       {{"self", b.Input(random.Floats({3, 40}))},
                        {"dim", std::vector<int64_t>{1}},
                        {"dtype", result}});
        });
      }
      for (const char* op : {"softmax", "log_softmax"}) {
        CheckOperator(op, [&](RegionBuilder& b) {
          return b.Ops("aten." + std::string(op) + ".int",
                       {{"self", b.Input(random.Floats({3, 40}))},
                        {"dim", 1},
                        {"dtype", result}});
        });
      }
    }
    CheckOperator("int64 sum", [&](RegionBuilder& b) {
      return b.Ops("aten.sum.default",
                   {{"self", b.Input(random.Floats({40}, -9, 9))},
                    {"dtype", DType::kInt64}});
    });
    // float16 and bfloat16, or float32, promote.
    for (const DType other :
         {DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
      CheckOperator("promotion", [&](RegionBuilder& b) {
        RandomTensors others(other);
        return b.Ops("aten.mul.Tensor",
                     {{"self", b.Input(random.Floats({3, 40}))},
                      {"other", b.Input(others.Floats({40}))}});
      });
      CheckOperator("a 0-d operand", [&](RegionBuilder& b) {
        RandomTensors others(other);
        return b.Ops("aten.mul.Tensor",
                     {{"self", b.Input(random.Floats({3, 40}))},
                      {"other", b.Input(others.Floats({}))}});
      });
    }
  }
}

// --- bytes ---

TEST(CpuNarrowTest, BytesWrap) {
  RandomTensors random;
  for (const DType dtype : kBytes) {
    const Tensor x = RandomBytes(random, dtype, {17, 31});
    const Tensor y = RandomBytes(random, dtype, {31});
    for (const char* op :
         {"add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor",
          "maximum.default", "minimum.default", "bitwise_and.Tensor",
          "bitwise_or.Tensor", "bitwise_xor.Tensor", "eq.Tensor", "ne.Tensor",
          "lt.Tensor", "le.Tensor", "gt.Tensor", "ge.Tensor",
          "logical_and.default", "logical_or.default", "atan2.default"}) {
      CheckOperator(op, [&](RegionBuilder& b) {
        return b.Ops("aten." + std::string(op),
                     {{"self", b.Input(x)}, {"other", b.Input(y)}});
      });
    }
    for (const char* op : {"neg", "abs", "square", "relu", "sign", "exp",
                           "sqrt", "sigmoid", "bitwise_not", "logical_not"}) {
      CheckOperator(op, [&](RegionBuilder& b) {
        return b.Ops("aten." + std::string(op) + ".default",
                     {{"self", b.Input(x)}});
      });
    }
    for (const DType other : {DType::kInt32, DType::kInt64, DType::kFloat32,
                              DType::kBFloat16, DType::kBool}) {
      CheckOperator("promotion", [&](RegionBuilder& b) {
        return b.Ops("aten.add.Tensor",
                     {{"self", b.Input(x)},
                      {"other", b.Input(Cast(random.Ints({31}, -9, 9), other))},
                      {"alpha", 1}});
      });
    }
    for (const int number : {-1, 2, 100}) {
      for (const char* op : {"add.Tensor", "mul.Tensor", "eq.Scalar",
                             "lt.Scalar", "ge.Scalar"}) {
        CheckOperator(op, [&](RegionBuilder& b) {
          return b.Ops("aten." + std::string(op),
                       {{"self", b.Input(x)}, {"other", number}});
        });
      }
    }
    CheckOperator("a float number", [&](RegionBuilder& b) {
      return b.Ops("aten.mul.Tensor", {{"self", b.Input(x)}, {"other", 1.5}});
    });
    CheckOperator("alpha", [&](RegionBuilder& b) {
      return b.Ops("aten.sub.Tensor",
                   {{"self", b.Input(x)}, {"other", b.Input(y)}, {"alpha", 3}});
    });
    CheckOperator("clamp", [&](RegionBuilder& b) {
      return b.Ops("aten.clamp.default",
                   {{"self", b.Input(x)}, {"min", 3}, {"max", 90}});
    });
    CheckOperator("where", [&](RegionBuilder& b) {
      return b.Ops("aten.where.self",
                   {{"condition", b.Input(random.Bools({17, 31}))},
                    {"self", b.Input(x)},
                    {"other", b.Input(y)}});
    });
    CheckOperator("masked_fill", [&](RegionBuilder& b) {
      return b.Ops("aten.masked_fill.Scalar",
                   {{"self", b.Input(x)},
                    {"mask", b.Input(random.Bools({17, 31}))},
                    {"value", 7}});
    });
    for (const char* op : {"sum.default", "clone.default"}) {
      CheckOperator(op, [&](RegionBuilder& b) {
        return b.Ops("aten." + std::string(op), {{"self", b.Input(x)}});
      });
    }
    CheckOperator("cumsum", [&](RegionBuilder& b) {
      return b.Ops("aten.cumsum.default", {{"self", b.Input(x)}, {"dim", 0}});
    });
    CheckOperator("embedding", [&](RegionBuilder& b) {
      return b.Ops("aten.embedding.default",
                   {{"weight", b.Input(x)},
                    {"indices", b.Input(random.Ints({2, 3}, 0, 16))}});
    });
    CheckOperator("index_put", [&](RegionBuilder& b) {
      const std::vector<ValueId> at = {b.Input(random.Ints({4}, 0, 16))};
      return b.Ops("aten.index_put.default",
                   {{"self", b.Input(x)},
                    TestArg("indices", at, ListTag::kOptionalTensors),
                    {"values", b.Input(y)}});
    });
    CheckOperator("gather", [&](RegionBuilder& b) {
      return b.Ops("aten.gather.default",
                   {{"self", b.Input(x)},
                    {"dim", 0},
                    {"index", b.Input(random.Ints({3, 31}, 0, 16))}});
    });
    CheckOperator("cat and stack", [&](RegionBuilder& b) {
      const ValueId v = b.Input(x);
      return std::vector<ValueId>{
          b.Op("aten.cat.default", {{"tensors", std::vector<ValueId>{v, v}}}),
          b.Op("aten.stack.default",
               {{"tensors", std::vector<ValueId>{v, v}}, {"dim", 2}})};
    });
    CheckOperator("diff", [&](RegionBuilder& b) {
      return b.Ops("aten.diff.default", {{"self", b.Input(x)}});
    });
  }
}

TEST(CpuNarrowTest, WhatHasNoCommonDtypeHereIsRefused) {
  RandomTensors random;
  const auto refuses = [](const char* op, std::vector<Tensor> tensors,
                          std::vector<std::string> names) {
    RegionBuilder b;
    std::vector<TestArg> args;
    for (size_t i = 0; i < tensors.size(); ++i) {
      args.emplace_back(names[i], b.Input(tensors[i]));
    }
    const ValueId v = b.Op(op, args);
    const Program region = b.Finish({v});
    return FindBackend("cpu")->Refuses(region, region.value(v).def).has_value();
  };
  const Tensor i8 = RandomBytes(random, DType::kInt8, {4});
  const Tensor u8 = RandomBytes(random, DType::kUInt8, {4});
  EXPECT_TRUE(refuses("aten.eq.Tensor", {i8, u8}, {"self", "other"}));
  EXPECT_FALSE(refuses("aten.eq.Tensor", {i8, i8}, {"self", "other"}));
  EXPECT_FALSE(refuses("aten.any.default", {u8}, {"self"}));
  EXPECT_FALSE(refuses("aten.sum.default", {u8}, {"self"}));
}

}  // namespace
}  // namespace tenon
