#include "kernels/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elements.h"

namespace tenon {
namespace {

// What a call gives, or why it failed.
struct Outcome {
  std::vector<RuntimeValue> results;
  std::string error;
};

Outcome CallKernel(std::string_view name, std::vector<RuntimeValue> given) {
  Outcome outcome;
  const OpSchema* schema = FindCallSchema(name);
  const Kernel kernel = FindKernel(name);
  if (schema == nullptr || kernel == nullptr) return {{}, "no such kernel"};
  const std::vector<bool> present(given.size(), true);
  if (!CompleteArgs(*schema, &given, present, &outcome.error)) return outcome;
  KernelCall call(*schema, std::move(given));
  if (!kernel(call)) {
    outcome.error = call.error();
    EXPECT_FALSE(outcome.error.empty()) << "a failure says why";
  }
  outcome.results = call.results();
  return outcome;
}

Tensor Floats(const std::vector<double>& values, DType dtype) {
  Tensor tensor = Tensor::Empty(dtype, {static_cast<int64_t>(values.size())});
  WriteAll(&tensor, values);
  return tensor;
}

double Value(const Outcome& outcome) {
  EXPECT_EQ(outcome.error, "");
  if (outcome.results.empty()) return std::nan("");
  const RuntimeValue& result = outcome.results[0];
  if (result.is_tensor()) return ReadOne<double>(result.tensor());
  return ScalarAs<double>(result);
}

TEST(RegistryTest, NamesAreSortedAndFound) {
  const auto names = AllKernelNames();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  for (const auto name : names) EXPECT_NE(FindKernel(name), nullptr) << name;
  EXPECT_EQ(FindKernel("aten.no_such.default"), nullptr);
  EXPECT_EQ(FindKernel(""), nullptr);
}

TEST(LazyBitsTest, ConjugateAndNegativeViewsAreComputedAtOnce) {
  Tensor z = Tensor::Empty(DType::kComplex64, {1});
  z.mutable_data<float>()[0] = 2;
  z.mutable_data<float>()[1] = 3;
  for (const char* name : {"aten.conj.default", "aten._conj.default"}) {
    const Outcome outcome = CallKernel(name, {z});
    ASSERT_EQ(outcome.error, "") << name;
    const Tensor& conjugate = outcome.results[0].tensor();
    EXPECT_EQ(conjugate.data<float>()[0], 2) << name;
    EXPECT_EQ(conjugate.data<float>()[1], -3) << name;
  }
  EXPECT_EQ(Value(CallKernel("aten._neg_view.default",
                             {Floats({1.5}, DType::kFloat32)})),
            -1.5);
}

TEST(CompleteArgsTest, FillsDefaultsAndRefusesWrongKinds) {
  const OpSchema* add = FindSchema("aten.add.Tensor");
  std::string error;
  std::vector<RuntimeValue> args = {Floats({1}, DType::kFloat32), 2.0};
  ASSERT_TRUE(CompleteArgs(*add, &args, {true, true}, &error));
  ASSERT_EQ(args.size(), 3u);
  EXPECT_EQ(args[2].int_value(), 1);
  args = {Floats({1}, DType::kFloat32)};
  EXPECT_FALSE(CompleteArgs(*add, &args, {true}, &error));
  EXPECT_NE(error.find("'other'"), std::string::npos) << error;
  args = {Floats({1}, DType::kFloat32), std::string("two")};
  EXPECT_FALSE(CompleteArgs(*add, &args, {true, true}, &error));
  args = {Floats({1}, DType::kFloat32), Tensor()};
  EXPECT_FALSE(CompleteArgs(*add, &args, {true, true}, &error))
      << "an undefined tensor must not reach a kernel";
}

TEST(CompleteArgsTest, NumberedDefaultsAreEnums) {
  const OpSchema* randint = FindSchema("aten.randint.default");
  std::vector<RuntimeValue> args = {int64_t{3}, RuntimeValue::List{}};
  std::string error;
  ASSERT_TRUE(CompleteArgs(*randint, &args, {true, true}, &error)) << error;
  EXPECT_EQ(args[2].dtype(), DType::kInt64);
}

TEST(PythonFunctionTest, IntegersAreExactOrAnError) {
  EXPECT_EQ(Value(CallKernel("_operator.floordiv", {int64_t{-7}, int64_t{2}})),
            -4);
  EXPECT_EQ(Value(CallKernel("_operator.mod", {int64_t{-7}, int64_t{3}})), 2);
  EXPECT_EQ(Value(CallKernel("_operator.pow", {int64_t{2}, int64_t{10}})),
            1024);
  EXPECT_EQ(Value(CallKernel("_operator.pow", {int64_t{2}, int64_t{-1}})), 0.5);
  EXPECT_EQ(Value(CallKernel("math.ceil", {2.1})), 3);
  EXPECT_TRUE(CallKernel("math.ceil", {2.1}).results[0].is_int());
  EXPECT_NE(CallKernel("_operator.pow", {int64_t{2}, int64_t{64}}).error, "");
  EXPECT_NE(CallKernel("_operator.add",
                       {std::numeric_limits<int64_t>::max(), int64_t{1}})
                .error,
            "");
  EXPECT_NE(CallKernel("_operator.floordiv", {int64_t{1}, int64_t{0}}).error,
            "");
  EXPECT_NE(CallKernel("math.floor", {1e300}).error, "");
}

TEST(PythonFunctionTest, KindsFollowPython) {
  EXPECT_TRUE(CallKernel("_operator.add", {true, true}).results[0].is_int());
  EXPECT_TRUE(CallKernel("_operator.and_", {true, false}).results[0].is_bool());
  EXPECT_TRUE(CallKernel("_operator.truediv", {int64_t{4}, int64_t{2}})
                  .results[0]
                  .is_float());
  EXPECT_TRUE(
      CallKernel("torch.sym_max", {int64_t{1}, 2.0}).results[0].is_float());
  // 2^53 + 1 isn't 2.0^53, though their doubles are the same.
  EXPECT_FALSE(CallKernel("_operator.eq", {(int64_t{1} << 53) + 1, 0x1p53})
                   .results[0]
                   .bool_value());
}

// The lines of ops/semantics.md that the records' tolerances can't tell.
TEST(PointwiseTest, NumbersBesideNarrowFloats) {
  const Tensor a = Floats({255}, DType::kBFloat16);
  EXPECT_EQ(Value(CallKernel("aten.mul.Tensor", {a, 1.0037})), 256)
      << "mul keeps the number in float32";
  const Tensor b = Floats({256}, DType::kBFloat16);
  EXPECT_EQ(Value(CallKernel("aten.add.Tensor", {b, 1.003})), 256)
      << "add rounds it first";
}

TEST(PointwiseTest, SmallestIntegerOverMinusOneDoesNotTrap) {
  Tensor least = Tensor::Empty(DType::kInt64, {1});
  least.mutable_data<int64_t>()[0] = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(Value(CallKernel("aten.div.Tensor_mode",
                             {least, int64_t{-1}, std::string("floor")})),
            -0x1p63);
  EXPECT_EQ(Value(CallKernel("aten.div.Tensor_mode",
                             {least, int64_t{-1}, std::string("trunc")})),
            -0x1p63);
  EXPECT_EQ(Value(CallKernel("aten.remainder.Scalar", {least, int64_t{-1}})),
            0);
  EXPECT_EQ(Value(CallKernel("aten.fmod.Scalar", {least, int64_t{-1}})), 0);
  EXPECT_EQ(Value(CallKernel("aten.gcd.default", {least, least})), -0x1p63);
}

TEST(PointwiseTest, ImpossibleSizesAreAnError) {
  const Tensor one = Floats({1}, DType::kFloat32);
  const Tensor wide = one.View({int64_t{1} << 40, 1}, {0, 1}, 0);
  const Tensor tall = one.View({1, int64_t{1} << 40}, {1, 0}, 0);
  EXPECT_NE(CallKernel("aten.add.Tensor", {wide, tall}).error, "");
  EXPECT_NE(CallKernel("aten.sum.default", {wide}).error, "");
  EXPECT_NE(CallKernel("aten.arange.default", {int64_t{1} << 62}).error, "");
  EXPECT_NE(CallKernel("aten.arange.default", {1e18}).error, "");
  EXPECT_NE(
      CallKernel("aten.full.default",
                 {RuntimeValue::List{int64_t{1} << 62, int64_t{1} << 62}, 1.0})
          .error,
      "");
}

TEST(CastTest, OutOfRangeFloatsAreDefined) {
  const Tensor huge = Floats({3e9}, DType::kFloat32);
  EXPECT_EQ(ReadOne<int64_t>(Cast(huge, DType::kInt32)),
            std::numeric_limits<int32_t>::min());
  const Tensor negative = Floats({-1}, DType::kFloat32);
  EXPECT_EQ(ReadOne<int64_t>(Cast(negative, DType::kUInt8)), 255);
  const Tensor nan = Floats({std::nan("")}, DType::kFloat64);
  EXPECT_EQ(ReadOne<int64_t>(Cast(nan, DType::kBool)), 1);
  EXPECT_EQ(ReadOne<int64_t>(Cast(nan, DType::kInt64)),
            std::numeric_limits<int64_t>::min());
}

}  // namespace
}  // namespace tenon
