#include "kernels/random.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/elements.h"
#include "kernels/kernel.h"

namespace tenon {
namespace {

// All expected values: torch 2.15 on CPU after torch.manual_seed(5).
constexpr uint64_t kSeed = 5;

Tensor CallKernel(std::string_view name, std::vector<RuntimeValue> given,
                  Generator* generator) {
  const OpSchema* schema = FindSchema(name);
  std::vector<bool> present(given.size(), true);
  std::string error;
  EXPECT_TRUE(CompleteArgs(*schema, &given, present, &error)) << error;
  KernelCall call(*schema, std::move(given));
  call.generator = generator;
  EXPECT_TRUE(FindKernel(name)(call)) << call.error();
  return call.results().at(0).tensor();
}

RuntimeValue Ints(std::initializer_list<int64_t> values) {
  RuntimeValue::List list;
  for (const int64_t value : values) list.emplace_back(value);
  return list;
}

void ExpectNear(const Tensor& tensor, const std::vector<double>& expected) {
  const std::vector<double> values = ReadAll<double>(tensor);
  ASSERT_GE(values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], 6e-5) << "element " << i;
  }
}

TEST(RandomTest, UniformStreams) {
  Generator generator(kSeed);
  ExpectNear(CallKernel("aten.rand.default", {Ints({3})}, &generator),
             {0.8303, 0.1261, 0.9075});
  ExpectNear(
      CallKernel("aten.rand.default", {Ints({2}), DType::kFloat64}, &generator),
      {0.5594, 0.9332});
}

TEST(RandomTest, NormalsByOnesAndInBlocks) {
  Generator generator(kSeed);
  ExpectNear(CallKernel("aten.randn.default", {Ints({3})}, &generator),
             {-0.4868, -0.6038, -0.5581});
  ExpectNear(CallKernel("aten.randn.default", {Ints({20})}, &generator),
             {0.2583, -1.8833, 1.2801, 1.1304, 0.7686, 0.9233, -0.5583});
  generator.Seed(kSeed);
  ExpectNear(CallKernel("aten.randn.default", {Ints({20}), DType::kFloat64},
                        &generator),
             {0.8236, -0.7421, -0.5944, -0.3985, -1.4027});
}

TEST(RandomTest, Integers) {
  Generator generator(kSeed);
  EXPECT_EQ(ReadAll<int64_t>(CallKernel("aten.randint.default",
                                        {int64_t{10}, Ints({5})}, &generator)),
            (std::vector<int64_t>{1, 4, 7, 5, 6}));
  EXPECT_EQ(
      ReadAll<int64_t>(CallKernel("aten.randint.default",
                                  {int64_t{1} << 30, Ints({2})}, &generator)),
      (std::vector<int64_t>{724178320, 1023968264}));
  EXPECT_EQ(
      ReadAll<int64_t>(CallKernel("aten.randint.default",
                                  {int64_t{1} << 27, Ints({2})}, &generator)),
      (std::vector<int64_t>{117342948, 77283047}));
  EXPECT_EQ(ReadAll<int64_t>(
                CallKernel("aten.randperm.default", {int64_t{6}}, &generator)),
            (std::vector<int64_t>{0, 2, 1, 3, 4, 5}));
}

TEST(RandomTest, SameSeedSameStream) {
  Generator a(1), b(1), c(2);
  const uint64_t first = a.Random64();
  EXPECT_EQ(first, b.Random64());
  EXPECT_NE(first, c.Random64());
}

}  // namespace
}  // namespace tenon
