#include "conformance/pt2/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/elements.h"

namespace tenon::conformance {
namespace {

Tensor Make(DType dtype, const std::vector<double>& values) {
  Tensor tensor = Tensor::Empty(dtype, {static_cast<int64_t>(values.size())});
  WriteAll(&tensor, values);
  return tensor;
}

bool IsSame(const RuntimeValue& got, const RuntimeValue& want,
            Tolerance tolerance = {}) {
  return Differ(got, want, "out", tolerance).empty();
}

TEST(Differ, FloatsHaveATolerance) {
  const Tensor want = Make(DType::kFloat32, {1, 100});
  EXPECT_TRUE(IsSame(Make(DType::kFloat32, {1.0005, 100.05}), want,
                     {.relative = 1e-3, .absolute = 0}));
  EXPECT_FALSE(IsSame(Make(DType::kFloat32, {1.0005, 100.05}), want,
                      {.relative = 1e-4, .absolute = 0}));
  EXPECT_FALSE(IsSame(Make(DType::kFloat32, {1.0005, 100}), want));
}

TEST(Differ, NarrowFloatsHaveAFloor) {
  EXPECT_TRUE(
      IsSame(Make(DType::kFloat16, {1.001}), Make(DType::kFloat16, {1})));
  EXPECT_FALSE(
      IsSame(Make(DType::kFloat16, {1.01}), Make(DType::kFloat16, {1})));
  EXPECT_TRUE(
      IsSame(Make(DType::kBFloat16, {1.0078125}), Make(DType::kBFloat16, {1})));
  EXPECT_FALSE(
      IsSame(Make(DType::kBFloat16, {1.0625}), Make(DType::kBFloat16, {1})));
}

TEST(Differ, IntegersAndBoolsAreExact) {
  const Tolerance wide{.relative = 1, .absolute = 1};
  EXPECT_TRUE(IsSame(Make(DType::kInt64, {7}), Make(DType::kInt64, {7}), wide));
  EXPECT_FALSE(
      IsSame(Make(DType::kInt64, {8}), Make(DType::kInt64, {7}), wide));
  EXPECT_FALSE(IsSame(Make(DType::kBool, {1}), Make(DType::kBool, {0}), wide));
}

TEST(Differ, NanEqualsNanAndInfinityOnlyItself) {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  const Tolerance wide{.relative = 1, .absolute = 1};
  const auto make = [](double v) { return Make(DType::kFloat64, {v}); };
  EXPECT_TRUE(IsSame(make(nan), make(nan)));
  EXPECT_FALSE(IsSame(make(nan), make(1), wide));
  EXPECT_FALSE(IsSame(make(1), make(nan), wide));
  EXPECT_TRUE(IsSame(make(infinity), make(infinity)));
  EXPECT_FALSE(IsSame(make(infinity), make(-infinity), wide));
  EXPECT_FALSE(IsSame(make(1), make(infinity), wide));
}

TEST(Differ, DtypeAndSizesCount) {
  EXPECT_FALSE(IsSame(Make(DType::kFloat64, {1}), Make(DType::kFloat32, {1})));
  EXPECT_FALSE(
      IsSame(Make(DType::kFloat32, {1, 1}), Make(DType::kFloat32, {1})));
  EXPECT_FALSE(IsSame(Tensor(), Make(DType::kFloat32, {1})));
}

TEST(Differ, StridesDoNot) {
  Tensor want = Tensor::Empty(DType::kFloat32, {2, 3});
  WriteAll(&want, std::vector<double>{1, 2, 3, 4, 5, 6});
  Tensor got = Tensor::EmptyStrided(DType::kFloat32, {2, 3}, {1, 2});
  got.CopyFrom(want);
  EXPECT_TRUE(IsSame(got, want));
}

TEST(Differ, ScalarsCompareByKindAndValue) {
  EXPECT_TRUE(IsSame(RuntimeValue(int64_t{3}), RuntimeValue(int64_t{3})));
  EXPECT_FALSE(IsSame(RuntimeValue(int64_t{3}), RuntimeValue(int64_t{4})));
  EXPECT_FALSE(IsSame(RuntimeValue(3.0), RuntimeValue(int64_t{3})));
  EXPECT_FALSE(IsSame(RuntimeValue(true), RuntimeValue(int64_t{1})));
  EXPECT_TRUE(IsSame(RuntimeValue(), RuntimeValue()));
  EXPECT_FALSE(IsSame(RuntimeValue(), RuntimeValue(false)));
  EXPECT_FALSE(
      IsSame(RuntimeValue(std::string("a")), RuntimeValue(std::string("b"))));
}

}  // namespace
}  // namespace tenon::conformance
