// Each operator of the CPU backend gives what the reference kernel gives: the
// same sizes, strides and, within tolerance, the same values. In float32 and in
// half precision; cpu_narrow_test.cc has what is special about the latter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/elements.h"
#include "region_builder.h"
#include "region_comparison.h"

namespace tenon {
namespace {

class CpuOperatorsTest : public testing::TestWithParam<DType> {};

// A 2-d tensor seen with its dimensions exchanged.
Tensor Flipped(const Tensor& t) {
  return t.View({t.size(1), t.size(0)}, {t.stride(1), t.stride(0)}, t.offset());
}

// Sizes and layouts that each elementwise operator is tried on.
std::vector<Tensor> FloatSamples(RandomTensors& random, float low = -2,
                                 float high = 2) {
  const Tensor matrix = random.Floats({37, 19}, low, high);
  const Tensor wide = random.Floats({6, 90}, low, high);
  return {random.Floats({}, low, high),
          random.Floats({1}, low, high),
          random.Floats({0, 4}, low, high),
          random.Floats({700}, low, high),
          matrix,
          Flipped(matrix),
          wide.View({6, 30}, {90, 3}, 1),
          random.Floats({2, 3, 4, 5}, low, high)};
}

TEST_P(CpuOperatorsTest, UnaryFloats) {
  RandomTensors random(GetParam());
  for (const char* op :
       {"exp",        "exp2",       "expm1",       "log1p",       "sqrt",
        "rsqrt",      "reciprocal", "tanh",        "sigmoid",     "silu",
        "erf",        "sin",        "cos",         "floor",       "ceil",
        "trunc",      "round",      "hardsigmoid", "hardswish",   "neg",
        "abs",        "square",     "relu",        "sign",        "log",
        "log2",       "isnan",      "isinf",       "logical_not", "gelu",
        "leaky_relu", "elu",        "softplus",    "hardtanh"}) {
    for (const Tensor& t : FloatSamples(random, 0.01f, 3)) {
      CheckOperator(op, [&](RegionBuilder& b) {
        return b.Ops("aten." + std::string(op) + ".default",
                     {{"self", b.Input(t)}});
      });
    }
  }
}

TEST_P(CpuOperatorsTest, UnaryOnWideRanges) {
  RandomTensors random(GetParam());
  const float inf = INFINITY;
  Tensor special = Tensor::Empty(DType::kFloat32, {12});
  const float values[] = {inf,   -inf,  NAN,    0.0f,   -0.0f,  88.9f,
                          -88.f, 104.f, -104.f, 1e-30f, -3e38f, 20.f};
  std::copy_n(values, 12, special.mutable_data<float>());
  special = Cast(special, GetParam());
  for (const char* op : {"exp", "tanh", "sigmoid", "silu", "erf", "relu",
                         "gelu", "sign", "isnan", "isinf", "neg", "abs"}) {
    for (const Tensor& t : {special, random.Floats({1000}, -12, 12),
                            random.Floats({1000}, -1, 1)}) {
      CheckOperator(op, [&](RegionBuilder& b) {
        return b.Ops("aten." + std::string(op) + ".default",
                     {{"self", b.Input(t)}});
      });
    }
  }
  for (const Tensor& t : {special, random.Floats({500}, -6, 6)}) {
    CheckOperator("gelu tanh", [&](RegionBuilder& b) {
      return b.Ops("aten.gelu.default",
                   {{"self", b.Input(t)}, {"approximate", "tanh"}});
    });
  }
}

TEST_P(CpuOperatorsTest, BinaryTensorsBroadcast) {
  RandomTensors random(GetParam());
  const Tensor matrix = random.Floats({31, 17}, 0.5f, 3);
  const std::vector<std::pair<Tensor, Tensor>> pairs = {
      {matrix, random.Floats({31, 17}, 0.5f, 3)},
      {matrix, random.Floats({17}, 0.5f, 3)},
      {matrix, random.Floats({31, 1}, 0.5f, 3)},
      {random.Floats({1, 17}, 0.5f, 3), random.Floats({31, 1}, 0.5f, 3)},
      {Flipped(random.Floats({17, 31}, 0.5f, 3)), matrix},
      {matrix, random.Floats({}, 0.5f, 3)},
      {random.Floats({0, 3}), random.Floats({1, 3})},
      {random.Floats({2, 3, 1, 7}, 0.5f, 2), random.Floats({3, 5, 1}, 1, 2)}};
  for (const char* op :
       {"add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor",
        "maximum.default", "minimum.default", "pow.Tensor_Tensor",
        "remainder.Tensor", "atan2.default", "eq.Tensor", "ne.Tensor",
        "lt.Tensor", "le.Tensor", "gt.Tensor", "ge.Tensor"}) {
    for (const auto& [x, y] : pairs) {
      CheckOperator(op, [&, &x = x, &y = y](RegionBuilder& b) {
        const std::string name = "aten." + std::string(op);
        const bool is_pow = name.find("pow") != std::string::npos;
        return b.Ops(name, {{"self", b.Input(x)},
                            {is_pow ? "exponent" : "other", b.Input(y)}});
      });
    }
  }
}

TEST_P(CpuOperatorsTest, PromotesAsTheReferenceDoes) {
  RandomTensors random(GetParam());
  const Tensor f = random.Floats({5, 6});
  const Tensor i = random.Ints({5, 6}, -4, 4);
  const Tensor m = random.Bools({5, 6});
  for (const auto& [x, y] : std::vector<std::pair<Tensor, Tensor>>{
           {f, i}, {i, f}, {i, i}, {m, i}, {f, m}, {m, m}}) {
    for (const char* op :
         {"add.Tensor", "mul.Tensor", "div.Tensor", "eq.Tensor", "le.Tensor"}) {
      CheckOperator(op, [&, &x = x, &y = y](RegionBuilder& b) {
        return b.Ops("aten." + std::string(op),
                     {{"self", b.Input(x)}, {"other", b.Input(y)}});
      });
    }
  }
  CheckOperator("int + 1.5", [&](RegionBuilder& b) {
    return b.Ops("aten.add.Tensor", {{"self", b.Input(i)}, {"other", 1.5}});
  });
  CheckOperator("alpha", [&](RegionBuilder& b) {
    return b.Ops("aten.add.Tensor",
                 {{"self", b.Input(f)}, {"other", b.Input(i)}, {"alpha", 2.5}});
  });
  CheckOperator("sub alpha", [&](RegionBuilder& b) {
    return b.Ops("aten.sub.Tensor",
                 {{"self", b.Input(i)}, {"other", b.Input(i)}, {"alpha", 3}});
  });
  CheckOperator("rsub", [&](RegionBuilder& b) {
    return b.Ops("aten.rsub.Scalar", {{"self", b.Input(f)}, {"other", 1}});
  });
  for (const char* op : {"mul.Scalar", "eq.Scalar", "ge.Scalar"}) {
    CheckOperator(op, [&](RegionBuilder& b) {
      return b.Ops("aten." + std::string(op),
                   {{"self", b.Input(i)}, {"other", 2.0}});
    });
  }
}

TEST_P(CpuOperatorsTest, BitsAndLogic) {
  RandomTensors random(GetParam());
  const Tensor m = random.Bools({9, 5}), n = random.Bools({5});
  const Tensor i = random.Ints({9, 5}, -100, 100);
  for (const char* op : {"bitwise_and.Tensor", "bitwise_or.Tensor",
                         "bitwise_xor.Tensor", "__and__.Tensor"}) {
    CheckOperator(op, [&](RegionBuilder& b) {
      return b.Ops("aten." + std::string(op),
                   {{"self", b.Input(m)}, {"other", b.Input(n)}});
    });
    CheckOperator(op, [&](RegionBuilder& b) {
      return b.Ops("aten." + std::string(op),
                   {{"self", b.Input(i)}, {"other", b.Input(i)}});
    });
  }
  for (const char* op : {"logical_and", "logical_or", "logical_xor"}) {
    CheckOperator(op, [&](RegionBuilder& b) {
      return b.Ops("aten." + std::string(op) + ".default",
                   {{"self", b.Input(i)}, {"other", b.Input(m)}});
    });
  }
  for (const Tensor& t : {m, i}) {
    CheckOperator("bitwise_not", [&](RegionBuilder& b) {
      return b.Ops("aten.bitwise_not.default", {{"self", b.Input(t)}});
    });
  }
}

TEST_P(CpuOperatorsTest, PowersClampsAndChoices) {
  RandomTensors random(GetParam());
  const Tensor x = random.Floats({7, 40}, 0.2f, 3);
  for (const double e : {1.0, 2.0, 3.0, 0.5, -0.5, -1.0, 1.7}) {
    CheckOperator("pow", [&](RegionBuilder& b) {
      return b.Ops("aten.pow.Tensor_Scalar",
                   {{"self", b.Input(x)}, {"exponent", e}});
    });
  }
  CheckOperator("pow.Scalar", [&](RegionBuilder& b) {
    return b.Ops("aten.pow.Scalar", {{"self", 2.0}, {"exponent", b.Input(x)}});
  });
  CheckOperator("clamp", [&](RegionBuilder& b) {
    return b.Ops("aten.clamp.default",
                 {{"self", b.Input(x)}, {"min", 0.5}, {"max", 1}});
  });
  CheckOperator("clamp min", [&](RegionBuilder& b) {
    return b.Ops("aten.clamp.default",
                 {{"self", b.Input(random.Ints({20}, -5, 5))}, {"min", -1}});
  });
  const Tensor mask = random.Bools({7, 40});
  CheckOperator("where", [&](RegionBuilder& b) {
    return b.Ops("aten.where.self", {{"condition", b.Input(mask)},
                                     {"self", b.Input(x)},
                                     {"other", b.Input(random.Floats({}))}});
  });
  CheckOperator("where.ScalarOther", [&](RegionBuilder& b) {
    return b.Ops(
        "aten.where.ScalarOther",
        {{"condition", b.Input(mask)}, {"self", b.Input(x)}, {"other", -1}});
  });
  CheckOperator("masked_fill", [&](RegionBuilder& b) {
    return b.Ops(
        "aten.masked_fill.Scalar",
        {{"self", b.Input(x)}, {"mask", b.Input(mask)}, {"value", -INFINITY}});
  });
  CheckOperator("masked_fill of ints", [&](RegionBuilder& b) {
    return b.Ops("aten.masked_fill.Scalar",
                 {{"self", b.Input(random.Ints({7, 40}, 0, 9))},
                  {"mask", b.Input(mask)},
                  {"value", 2.5}});
  });
  CheckOperator("addcmul", [&](RegionBuilder& b) {
    const ValueId v = b.Input(x);
    return b.Ops("aten.addcmul.default",
                 {{"self", v}, {"tensor1", v}, {"tensor2", v}, {"value", 0.5}});
  });
  CheckOperator("addcdiv", [&](RegionBuilder& b) {
    const ValueId v = b.Input(x);
    return b.Ops("aten.addcdiv.default",
                 {{"self", v}, {"tensor1", v}, {"tensor2", v}});
  });
}

TEST_P(CpuOperatorsTest, CopiesAndCasts) {
  RandomTensors random(GetParam());
  const Tensor x = random.Floats({4, 6});
  for (const Tensor& t : {x, Flipped(x), x.View({4, 3}, {6, 2}, 1),
                          x.View({3, 4, 6}, {0, 6, 1}, 0)}) {
    for (const char* op : {"clone", "contiguous"}) {
      CheckOperator(op, [&](RegionBuilder& b) {
        return b.Ops("aten." + std::string(op) + ".default",
                     {{"self", b.Input(t)}});
      });
    }
    CheckOperator("reshape", [&](RegionBuilder& b) {
      return b.Ops(
          "aten.reshape.default",
          {{"self", b.Input(t)}, {"shape", std::vector<int64_t>{-1, 2}}});
    });
    CheckOperator("flatten", [&](RegionBuilder& b) {
      return b.Ops("aten.flatten.using_ints", {{"self", b.Input(t)}});
    });
    for (const DType d : {DType::kFloat32, DType::kFloat64, DType::kInt64,
                          DType::kInt32, DType::kBool}) {
      CheckOperator("to.dtype", [&](RegionBuilder& b) {
        return b.Ops("aten.to.dtype", {{"self", b.Input(t)}, {"dtype", d}});
      });
      CheckOperator("_to_copy", [&](RegionBuilder& b) {
        return b.Ops("aten._to_copy.default",
                     {{"self", b.Input(t)}, {"dtype", d}});
      });
    }
  }
  CheckOperator("clone channels_last", [&](RegionBuilder& b) {
    return b.Ops(
        "aten.clone.default",
        {{"self", b.Input(random.Floats({2, 3, 4, 5}))},
         {"memory_format", RuntimeValue(MemoryFormat::kChannelsLast)}});
  });
}

TEST_P(CpuOperatorsTest, JoinsAndRepeats) {
  RandomTensors random(GetParam());
  for (const int dim : {0, 1, -1}) {
    CheckOperator("cat", [&](RegionBuilder& b) {
      const ValueId x = b.Input(random.Floats({3, 4}));
      const ValueId y = b.Input(Flipped(random.Floats({4, 3})));
      return b.Ops("aten.cat.default",
                   {{"tensors", std::vector<ValueId>{x, y, x}}, {"dim", dim}});
    });
  }
  for (const int dim : {0, 1, 2}) {
    CheckOperator("stack", [&](RegionBuilder& b) {
      const ValueId x = b.Input(random.Floats({3, 4}));
      return b.Ops("aten.stack.default",
                   {{"tensors", std::vector<ValueId>{x, x}}, {"dim", dim}});
    });
    CheckOperator("repeat_interleave", [&](RegionBuilder& b) {
      return b.Ops("aten.repeat_interleave.self_int",
                   {{"self", b.Input(random.Floats({2, 3, 4}))},
                    {"repeats", 3},
                    {"dim", dim}});
    });
  }
  CheckOperator("cat of ints and floats", [&](RegionBuilder& b) {
    return b.Ops("aten.cat.default",
                 {{"tensors",
                   std::vector<ValueId>{b.Input(random.Floats({0})),
                                        b.Input(random.Ints({2, 2}, 0, 9))}}});
  });
  CheckOperator("diff", [&](RegionBuilder& b) {
    return b.Ops("aten.diff.default",
                 {{"self", b.Input(random.Ints({3, 6}, -9, 9))},
                  {"prepend", b.Input(random.Ints({3, 1}, -9, 9))}});
  });
  CheckOperator("diff of bools", [&](RegionBuilder& b) {
    return b.Ops("aten.diff.default",
                 {{"self", b.Input(random.Bools({4, 5}))}, {"dim", 0}});
  });
  CheckOperator("repeat", [&](RegionBuilder& b) {
    return b.Ops("aten.repeat.default",
                 {{"self", b.Input(random.Floats({2, 3}))},
                  {"repeats", std::vector<int64_t>{2, 1, 3}}});
  });
  CheckOperator("constant_pad_nd", [&](RegionBuilder& b) {
    return b.Ops("aten.constant_pad_nd.default",
                 {{"self", b.Input(random.Floats({3, 4}))},
                  {"pad", std::vector<int64_t>{1, 2, -1, 3}},
                  {"value", 0.5}});
  });
  CheckOperator("slice_scatter", [&](RegionBuilder& b) {
    return b.Ops("aten.slice_scatter.default",
                 {{"self", b.Input(random.Floats({5, 4}))},
                  {"src", b.Input(random.Floats({2, 4}))},
                  {"dim", 0},
                  {"start", 1},
                  {"end", 5},
                  {"step", 2}});
  });
  CheckOperator("select_scatter", [&](RegionBuilder& b) {
    return b.Ops("aten.select_scatter.default",
                 {{"self", b.Input(random.Floats({5, 4}))},
                  {"src", b.Input(random.Floats({5}))},
                  {"dim", 1},
                  {"index", 2}});
  });
  CheckOperator("full_like", [&](RegionBuilder& b) {
    return b.Ops("aten.full_like.default",
                 {{"self", b.Input(random.Floats({5, 4}))}, {"fill_value", 3}});
  });
}

TEST_P(CpuOperatorsTest, ViewsOfInputsAndResults) {
  RandomTensors random(GetParam());
  CheckOperator("views", [&](RegionBuilder& b) {
    const ValueId x = b.Input(random.Floats({4, 6}));
    const ValueId y = b.Op("aten.relu.default", {{"self", x}});
    std::vector<ValueId> outputs = {
        b.Op("aten.permute.default",
             {{"self", x}, {"dims", std::vector<int64_t>{1, 0}}}),
        b.Op("aten.slice.Tensor",
             {{"self", y}, {"dim", 1}, {"start", 1}, {"end", 5}}),
        b.Op("aten.select.int", {{"self", y}, {"dim", 0}, {"index", -1}}),
        b.Op("aten.expand.default", {{"self", b.Op("aten.unsqueeze.default",
                                                   {{"self", y}, {"dim", 1}})},
                                     {"size", std::vector<int64_t>{4, 3, 6}}}),
        b.Op("aten.transpose.int", {{"self", y}, {"dim0", 0}, {"dim1", 1}}),
        x};
    const auto parts = b.Ops("aten.split.Tensor",
                             {{"self", y}, {"split_size", 4}, {"dim", 1}});
    outputs.insert(outputs.end(), parts.begin(), parts.end());
    return outputs;
  });
}

TEST_P(CpuOperatorsTest, MatrixProducts) {
  RandomTensors random(GetParam());
  const std::vector<std::array<int64_t, 3>> shapes = {
      {1, 8, 5},  {3, 16, 70},  {7, 0, 3},     {0, 4, 2},
      {5, 33, 1}, {65, 70, 66}, {129, 64, 200}};
  for (const auto& [m, k, n] : shapes) {
    const Tensor x = random.Floats({m, k}, -1, 1);
    const Tensor y = random.Floats({k, n}, -1, 1);
    const Tensor y_flipped = Flipped(random.Floats({n, k}, -1, 1));
    const Tensor x_flipped = Flipped(random.Floats({k, m}, -1, 1));
    for (const auto& [l, r] : std::vector<std::pair<Tensor, Tensor>>{
             {x, y}, {x, y_flipped}, {x_flipped, y}}) {
      CheckOperator("mm", [&, &l = l, &r = r](RegionBuilder& b) {
        return b.Ops("aten.mm.default",
                     {{"self", b.Input(l)}, {"mat2", b.Input(r)}});
      });
      CheckOperator("addmm", [&, &l = l, &r = r, &n = n](RegionBuilder& b) {
        return b.Ops("aten.addmm.default",
                     {{"self", b.Input(random.Floats({n}))},
                      {"mat1", b.Input(l)},
                      {"mat2", b.Input(r)}});
      });
    }
    CheckOperator("addmm beta", [&, &m = m](RegionBuilder& b) {
      return b.Ops("aten.addmm.default",
                   {{"self", b.Input(random.Floats({m, 1}))},
                    {"mat1", b.Input(x)},
                    {"mat2", b.Input(y)},
                    {"beta", 0.5},
                    {"alpha", 2}});
    });
    CheckOperator("linear", [&, &m = m, &k = k, &n = n](RegionBuilder& b) {
      return b.Ops("aten.linear.default",
                   {{"input", b.Input(random.Floats({2, m, k}))},
                    {"weight", b.Input(random.Floats({n, k}))},
                    {"bias", b.Input(random.Floats({n}))}});
    });
  }
  for (const auto& [x, y] :
       std::vector<std::pair<Sizes, Sizes>>{{{4}, {4}},
                                            {{3, 4}, {4}},
                                            {{4}, {4, 5}},
                                            {{2, 3, 4}, {4, 5}},
                                            {{2, 1, 3, 4}, {6, 4, 5}},
                                            {{2, 3, 4}, {4}}}) {
    CheckOperator("matmul", [&, &x = x, &y = y](RegionBuilder& b) {
      return b.Ops("aten.matmul.default",
                   {{"self", b.Input(random.Floats(x))},
                    {"other", b.Input(random.Floats(y))}});
    });
  }
  CheckOperator("bmm", [&](RegionBuilder& b) {
    return b.Ops("aten.bmm.default",
                 {{"self", b.Input(random.Floats({3, 4, 5}))},
                  {"mat2", b.Input(random.Floats({3, 5, 6}))}});
  });
}

TEST_P(CpuOperatorsTest, Attention) {
  RandomTensors random(GetParam());
  const auto attend = [&](const Sizes& q, const Sizes& k,
                          std::vector<TestArg> more, const char* what) {
    CheckOperator(what, [&](RegionBuilder& b) {
      std::vector<TestArg> args = {{"query", b.Input(random.Floats(q))},
                                   {"key", b.Input(random.Floats(k))},
                                   {"value", b.Input(random.Floats(k))}};
      args.insert(args.end(), more.begin(), more.end());
      return b.Ops("aten.scaled_dot_product_attention.default", args);
    });
  };
  attend({2, 3, 5, 8}, {2, 3, 7, 8}, {}, "plain");
  attend({2, 3, 130, 16}, {2, 3, 130, 16}, {{"is_causal", true}}, "causal");
  attend({1, 2, 5, 8}, {1, 2, 9, 8}, {{"is_causal", true}, {"scale", 0.5}},
         "causal over more keys");
  attend({1, 4, 5, 8}, {1, 2, 6, 8}, {{"enable_gqa", true}}, "groups");
  attend({3, 5, 8}, {3, 6, 8}, {}, "rank 3");
  for (const bool is_bool : {true, false}) {
    for (const Sizes& mask :
         std::vector<Sizes>{{5, 7}, {2, 1, 5, 7}, {1, 1, 1, 7}, {2, 3, 5, 1}}) {
      CheckOperator("mask", [&](RegionBuilder& b) {
        const ValueId q = b.Input(random.Floats({2, 3, 5, 8}));
        const ValueId k = b.Input(random.Floats({2, 3, 7, 8}));
        const ValueId m =
            b.Input(is_bool ? random.Bools(mask) : random.Floats(mask));
        return b.Ops(
            "aten.scaled_dot_product_attention.default",
            {{"query", q}, {"key", k}, {"value", k}, {"attn_mask", m}});
      });
    }
  }
  CheckOperator("heads from a transpose", [&](RegionBuilder& b) {
    const auto heads = [&] {
      return b.Op("aten.transpose.int",
                  {{"self", b.Input(random.Floats({2, 5, 3, 8}))},
                   {"dim0", 1},
                   {"dim1", 2}});
    };
    const ValueId q = heads(), k = heads(), v = heads();
    return b.Ops("aten.scaled_dot_product_attention.default",
                 {{"query", q}, {"key", k}, {"value", v}});
  });
}

TEST_P(CpuOperatorsTest, Norms) {
  RandomTensors random(GetParam());
  for (const Sizes& sizes : std::vector<Sizes>{{3, 40}, {2, 5, 6}, {0, 4}}) {
    const std::vector<int64_t> normalized = {sizes.back()};
    CheckOperator("layer_norm", [&](RegionBuilder& b) {
      return b.Ops("aten.layer_norm.default",
                   {{"input", b.Input(random.Floats(sizes))},
                    {"normalized_shape", normalized},
                    {"weight", b.Input(random.Floats({sizes.back()}))},
                    {"bias", b.Input(random.Floats({sizes.back()}))}});
    });
    CheckOperator("layer_norm without weight", [&](RegionBuilder& b) {
      return b.Ops("aten.layer_norm.default",
                   {{"input", b.Input(random.Floats(sizes))},
                    {"normalized_shape", normalized}});
    });
    CheckOperator("native_layer_norm", [&](RegionBuilder& b) {
      return b.Ops("aten.native_layer_norm.default",
                   {{"input", b.Input(random.Floats(sizes))},
                    {"normalized_shape", normalized},
                    {"weight", b.Input(random.Floats({sizes.back()}))},
                    {"bias", RuntimeValue()},
                    {"eps", 1e-5}});
    });
  }
  CheckOperator("rms_norm", [&](RegionBuilder& b) {
    return b.Ops("aten.rms_norm.default",
                 {{"input", b.Input(random.Floats({3, 40}))},
                  {"normalized_shape", std::vector<int64_t>{40}},
                  {"weight", b.Input(random.Floats({40}))},
                  {"eps", 1e-5}});
  });
  for (const Sizes& sizes :
       std::vector<Sizes>{{2, 3, 5, 4}, {4, 3}, {2, 3, 7}}) {
    const auto channel = [&] { return random.Floats({3}, 0.5f, 2); };
    CheckOperator("batch_norm", [&](RegionBuilder& b) {
      return b.Ops("aten.batch_norm.default",
                   {{"input", b.Input(random.Floats(sizes))},
                    {"weight", b.Input(channel())},
                    {"bias", b.Input(channel())},
                    {"running_mean", b.Input(channel())},
                    {"running_var", b.Input(channel())},
                    {"training", false},
                    {"momentum", 0.1},
                    {"eps", 1e-5},
                    {"cudnn_enabled", true}});
    });
    CheckOperator("batch norm of core", [&](RegionBuilder& b) {
      return b.Ops("aten._native_batch_norm_legit_no_training.default",
                   {{"input", b.Input(random.Floats(sizes))},
                    {"weight", b.Input(channel())},
                    {"bias", b.Input(channel())},
                    {"running_mean", b.Input(channel())},
                    {"running_var", b.Input(channel())},
                    {"momentum", 0.1},
                    {"eps", 1e-5}});
    });
  }
}

TEST_P(CpuOperatorsTest, SoftmaxesAndReductions) {
  RandomTensors random(GetParam());
  const Tensor x = random.Floats({3, 4, 50});
  for (const int dim : {0, 1, 2, -1}) {
    for (const char* op : {"_softmax", "_log_softmax"}) {
      CheckOperator(op, [&](RegionBuilder& b) {
        return b.Ops(
            "aten." + std::string(op) + ".default",
            {{"self", b.Input(x)}, {"dim", dim}, {"half_to_float", false}});
      });
    }
    for (const bool keepdim : {false, true}) {
      const std::vector<int64_t> dims = {dim};
      for (const char* op :
           {"sum.dim_IntList", "mean.dim", "amax.default", "amin.default"}) {
        CheckOperator(op, [&](RegionBuilder& b) {
          return b.Ops(
              "aten." + std::string(op),
              {{"self", b.Input(x)}, {"dim", dims}, {"keepdim", keepdim}});
        });
      }
      for (const char* op : {"any.dim", "all.dim"}) {
        CheckOperator(op, [&](RegionBuilder& b) {
          return b.Ops("aten." + std::string(op),
                       {{"self", b.Input(random.Bools({3, 4, 5}))},
                        {"dim", dim},
                        {"keepdim", keepdim}});
        });
      }
    }
    CheckOperator("cumsum", [&](RegionBuilder& b) {
      return b.Ops(
          "aten.cumsum.default",
          {{"self", b.Input(random.Ints({3, 4, 5}, -9, 9))}, {"dim", dim}});
    });
    CheckOperator("cumsum of floats", [&](RegionBuilder& b) {
      return b.Ops("aten.cumsum.default", {{"self", b.Input(x)}, {"dim", dim}});
    });
  }
  for (const Tensor& t : {x, random.Ints({4, 5}, -3, 3), random.Bools({7}),
                          random.Floats({0, 3}), random.Floats({})}) {
    CheckOperator("sum", [&](RegionBuilder& b) {
      return b.Ops("aten.sum.default", {{"self", b.Input(t)}});
    });
    CheckOperator("any", [&](RegionBuilder& b) {
      return b.Ops("aten.any.default", {{"self", b.Input(t)}});
    });
  }
  CheckOperator("mean over two", [&](RegionBuilder& b) {
    return b.Ops("aten.mean.dim",
                 {{"self", b.Input(random.Floats({2, 3, 4, 5}))},
                  {"dim", std::vector<int64_t>{1, 3}},
                  {"keepdim", true}});
  });
}

TEST_P(CpuOperatorsTest, Indexing) {
  RandomTensors random(GetParam());
  const Tensor table = random.Floats({10, 6});
  for (const Sizes& sizes : std::vector<Sizes>{{2, 3}, {4}, {}, {0}}) {
    CheckOperator("embedding", [&](RegionBuilder& b) {
      return b.Ops("aten.embedding.default",
                   {{"weight", b.Input(table)},
                    {"indices", b.Input(random.Ints(sizes, 0, 9))}});
    });
  }
  CheckOperator("index_select", [&](RegionBuilder& b) {
    return b.Ops("aten.index_select.default",
                 {{"self", b.Input(table)},
                  {"dim", 1},
                  {"index", b.Input(random.Ints({4}, 0, 5))}});
  });
  CheckOperator("gather", [&](RegionBuilder& b) {
    return b.Ops("aten.gather.default",
                 {{"self", b.Input(table)},
                  {"dim", 0},
                  {"index", b.Input(random.Ints({3, 6}, 0, 9))}});
  });
  const Tensor cube = random.Floats({3, 4, 5});
  const auto index = [&](std::vector<Tensor> given, const char* what) {
    CheckOperator(what, [&](RegionBuilder& b) {
      std::vector<ValueId> ids;
      const ValueId self = b.Input(cube);
      for (const Tensor& t : given) {
        ids.push_back(t.defined() ? b.Input(t) : ValueId());
      }
      return b.Ops(
          "aten.index.Tensor",
          {{"self", self}, TestArg("indices", ids, ListTag::kOptionalTensors)});
    });
    CheckOperator(what, [&](RegionBuilder& b) {
      std::vector<ValueId> ids;
      const ValueId self = b.Input(cube);
      for (const Tensor& t : given) {
        ids.push_back(t.defined() ? b.Input(t) : ValueId());
      }
      return b.Ops("aten.index_put.default",
                   {{"self", self},
                    TestArg("indices", ids, ListTag::kOptionalTensors),
                    {"values", b.Input(random.Floats({1}))}});
    });
  };
  index({random.Ints({2, 2}, -3, 2)}, "first");
  index({Tensor(), random.Ints({6}, -4, 3)}, "middle");
  index({Tensor(), Tensor(), random.Ints({2}, 0, 4)}, "last");
  index({random.Ints({2, 1}, 0, 2), random.Ints({3}, 0, 3)}, "adjoining");
  index({random.Ints({2}, 0, 2), Tensor(), random.Ints({2}, 0, 4)}, "apart");
  CheckOperator("index_copy", [&](RegionBuilder& b) {
    return b.Ops("aten.index_copy.default",
                 {{"self", b.Input(cube)},
                  {"dim", 1},
                  {"index", b.Input(random.Ints({1}, 0, 3))},
                  {"source", b.Input(random.Floats({3, 1, 5}))}});
  });
  if (GetParam() != DType::kFloat32) return;
  CheckOperator("index_put accumulate", [&](RegionBuilder& b) {
    return b.Ops(
        "aten.index_put.default",
        {{"self", b.Input(table)},
         TestArg("indices",
                 std::vector<ValueId>{b.Input(random.Ints({20}, 0, 9))},
                 ListTag::kOptionalTensors),
         {"values", b.Input(random.Floats({20, 6}))},
         {"accumulate", true}});
  });
}

TEST_P(CpuOperatorsTest, ConvolutionsAndPools) {
  RandomTensors random(GetParam());
  struct Case {
    Sizes x, weight;
    int stride, padding, dilation, groups;
  };
  for (const Case& c :
       std::vector<Case>{{{2, 3, 9, 8}, {4, 3, 3, 3}, 1, 1, 1, 1},
                         {{1, 4, 7, 7}, {6, 4, 1, 1}, 1, 0, 1, 1},
                         {{2, 4, 11, 10}, {4, 2, 3, 2}, 2, 1, 2, 2},
                         {{1, 6, 8, 9}, {6, 1, 3, 3}, 1, 1, 1, 6},
                         {{1, 6, 8, 9}, {6, 1, 5, 5}, 2, 2, 1, 6},
                         {{1, 3, 16, 16}, {8, 3, 7, 7}, 2, 3, 1, 1},
                         {{1, 32, 30, 28}, {48, 32, 3, 3}, 1, 1, 1, 1},
                         {{2, 64, 20, 20}, {64, 32, 3, 3}, 2, 1, 1, 2},
                         {{1, 96, 40, 40}, {96, 1, 3, 3}, 1, 1, 1, 96},
                         {{3, 10, 10}, {2, 3, 4, 4}, 3, 0, 1, 1},
                         {{0, 3, 8, 8}, {2, 3, 3, 3}, 1, 0, 1, 1}}) {
    const auto twice = [](int v) { return std::vector<int64_t>{v, v}; };
    CheckOperator("conv2d", [&](RegionBuilder& b) {
      return b.Ops("aten.conv2d.default",
                   {{"input", b.Input(random.Floats(c.x))},
                    {"weight", b.Input(random.Floats(c.weight))},
                    {"bias", b.Input(random.Floats({c.weight[0]}))},
                    {"stride", twice(c.stride)},
                    {"padding", twice(c.padding)},
                    {"dilation", twice(c.dilation)},
                    {"groups", c.groups}});
    });
    if (c.x.size() != 4) continue;
    CheckOperator("convolution", [&](RegionBuilder& b) {
      return b.Ops("aten.convolution.default",
                   {{"input", b.Input(random.Floats(c.x))},
                    {"weight", b.Input(random.Floats(c.weight))},
                    {"bias", RuntimeValue()},
                    {"stride", twice(c.stride)},
                    {"padding", twice(c.padding)},
                    {"dilation", twice(c.dilation)},
                    {"transposed", false},
                    {"output_padding", twice(0)},
                    {"groups", c.groups}});
    });
  }
  CheckOperator("conv1d", [&](RegionBuilder& b) {
    return b.Ops("aten.conv1d.default",
                 {{"input", b.Input(random.Floats({2, 3, 20}))},
                  {"weight", b.Input(random.Floats({4, 3, 5}))},
                  {"stride", std::vector<int64_t>{2}},
                  {"padding", std::vector<int64_t>{2}}});
  });
  for (const bool ceil : {false, true}) {
    const std::vector<int64_t> three = {3, 3}, two = {2, 2}, one = {1, 1};
    for (const char* op : {"max_pool2d", "max_pool2d_with_indices"}) {
      CheckOperator(op, [&](RegionBuilder& b) {
        return b.Ops("aten." + std::string(op) + ".default",
                     {{"self", b.Input(random.Floats({2, 3, 10, 8}))},
                      {"kernel_size", three},
                      {"stride", two},
                      {"padding", one},
                      {"dilation", one},
                      {"ceil_mode", ceil}});
      });
    }
    CheckOperator("avg_pool2d", [&](RegionBuilder& b) {
      return b.Ops("aten.avg_pool2d.default",
                   {{"self", b.Input(random.Floats({2, 3, 10, 8}))},
                    {"kernel_size", three},
                    {"stride", two},
                    {"padding", one},
                    {"ceil_mode", ceil},
                    {"count_include_pad", ceil}});
    });
  }
  for (const int64_t size : {1, 3, 7}) {
    CheckOperator("adaptive_avg_pool2d", [&](RegionBuilder& b) {
      return b.Ops("aten.adaptive_avg_pool2d.default",
                   {{"self", b.Input(random.Floats({2, 3, 5, 8}))},
                    {"output_size", std::vector<int64_t>{size, size}}});
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Floats, CpuOperatorsTest,
                         testing::Values(DType::kFloat32, DType::kBFloat16,
                                         DType::kFloat16),
                         [](const auto& dtype) {
                           return std::string(Name(dtype.param));
                         });

}  // namespace
}  // namespace tenon
