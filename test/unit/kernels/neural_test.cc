#include <cmath>
#include <limits>

#include "call_operator.h"

namespace tenon {
namespace {

TEST(ConvolutionTest, SameOnAnEvenKernelPadsOnTheRight) {
  const auto out = CallOperator(
      "aten.conv1d.padding",
      {MakeTensor({1, 1, 3}, {1, 2, 3}), MakeTensor({1, 1, 2}, {1, 10}),
       RuntimeValue(), Ints({1}), std::string("same")});
  ASSERT_EQ(out.error, "");
  ExpectValues(out.tensor(), {21, 32, 3});
}

TEST(ConvolutionTest, TransposedUndoesTheShape) {
  const auto out =
      CallOperator("aten.conv_transpose1d.default",
                   {MakeTensor({1, 1, 2}, {1, 2}),
                    MakeTensor({1, 1, 2}, {3, 5}), RuntimeValue(), Ints({2})});
  ASSERT_EQ(out.error, "");
  ExpectValues(out.tensor(), {3, 5, 6, 10});
}

TEST(ConvolutionTest, HostileArgumentsAreErrors) {
  const Tensor x = Count({1, 1, 4, 4}), w = Count({1, 1, 2, 2});
  const int64_t huge = INT64_MAX;
  const auto conv = [&](int64_t stride, int64_t padding, int64_t dilation,
                        int64_t groups) {
    return CallOperator(
               "aten.conv2d.default",
               {x, w, RuntimeValue(), Ints({stride, stride}),
                Ints({padding, padding}), Ints({dilation, dilation}), groups})
        .error;
  };
  EXPECT_EQ(conv(1, 0, 1, 1), "");
  EXPECT_NE(conv(0, 0, 1, 1), "");
  EXPECT_NE(conv(1, -1, 1, 1), "");
  EXPECT_NE(conv(1, huge, 1, 1), "");
  EXPECT_NE(conv(1, 0, huge, 1), "");
  EXPECT_NE(conv(1, 0, 1, 0), "");
  EXPECT_NE(conv(1, 0, 1, huge), "");
}

TEST(PoolingTest, LastNanAndFirstMaximumWin) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto nans =
      CallOperator("aten.max_pool2d_with_indices.default",
                   {MakeTensor({1, 2, 2}, {1, nan, 3, nan}), Ints({2, 2})});
  ASSERT_EQ(nans.error, "");
  ExpectValues(nans.tensor(1), {3});
  const auto equal =
      CallOperator("aten.max_pool2d_with_indices.default",
                   {MakeTensor({1, 2, 2}, {1, 3, 3, 0}), Ints({2, 2})});
  ExpectValues(equal.tensor(1), {1});
}

TEST(PoolingTest, HostileArgumentsAreErrors) {
  const Tensor x = Count({1, 4, 4});
  EXPECT_NE(
      CallOperator("aten.max_pool2d.default", {x, Ints({INT64_MAX, INT64_MAX})})
          .error,
      "");
  EXPECT_NE(
      CallOperator("aten.avg_pool2d.default", {x, Ints({2, 2}), Ints({0, 0})})
          .error,
      "");
  EXPECT_NE(CallOperator("aten.adaptive_avg_pool2d.default", {x, Ints({-1, 2})})
                .error,
            "");
}

TEST(BatchNormTest, RunningVarianceIsUnbiased) {
  const Tensor mean = MakeTensor({1}, {0}), variance = MakeTensor({1}, {0});
  const auto out =
      CallOperator("aten._native_batch_norm_legit.default",
                   {MakeTensor({2, 1}, {1, 3}), RuntimeValue(), RuntimeValue(),
                    mean, variance, true, 0.5, 0.0});
  ASSERT_EQ(out.error, "");
  ExpectValues(out.tensor(), {-1, 1}, 1e-6);
  ExpectValues(mean, {1}, 1e-6);
  ExpectValues(variance, {1}, 1e-6);
}

TEST(SoftmaxTest, RowOfMinusInfinity) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = MakeTensor({2}, {-inf, -inf});
  const auto plain = CallOperator("aten.softmax.int", {x, int64_t{0}});
  ASSERT_EQ(plain.error, "");
  EXPECT_TRUE(std::isnan(ReadAll<double>(plain.tensor())[0]));
  ExpectValues(
      CallOperator("aten._safe_softmax.default", {x, int64_t{0}}).tensor(),
      {0, 0});
}

TEST(DropoutTest, OutsideOfTrainingGivesItsInput) {
  const Tensor x = Count({3});
  const auto out = CallOperator("aten.dropout.default", {x, 0.5, false});
  ASSERT_EQ(out.error, "");
  EXPECT_TRUE(out.tensor().SharesStorage(x));
  EXPECT_NE(CallOperator("aten.dropout.default", {x, 1.5, true}).error, "");
}

TEST(UpsampleTest, NearestAndExactDiffer) {
  const Tensor x = Count({1, 1, 5});
  ExpectValues(
      CallOperator("aten.upsample_nearest1d.default", {x, Ints({3})}).tensor(),
      {0, 1, 3});
  ExpectValues(
      CallOperator("aten._upsample_nearest_exact1d.default", {x, Ints({3})})
          .tensor(),
      {0, 2, 4});
}

}  // namespace
}  // namespace tenon
