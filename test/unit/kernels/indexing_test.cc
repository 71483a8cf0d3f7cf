#include "call_operator.h"

namespace tenon {
namespace {

Tensor Index(const std::vector<double>& values) {
  return MakeTensor({static_cast<int64_t>(values.size())}, values,
                    DType::kInt64);
}

TEST(IndexingTest, SeparatedIndicesMoveToTheFront) {
  const Tensor x = Count({2, 3, 4});
  const auto out = CallOperator(
      "aten.index.Tensor",
      {x, RuntimeValue::List{Index({1, -2}), RuntimeValue(), Index({0, 3})}});
  ASSERT_EQ(out.error, "");
  EXPECT_EQ(out.tensor().sizes(), (Sizes{2, 3}));
  ExpectValues(out.tensor(), {12, 16, 20, 3, 7, 11});
}

TEST(IndexingTest, IndexPutKeepsTheLastOrAddsAll) {
  const Tensor x = MakeTensor({3}, {0, 0, 0});
  const RuntimeValue::List at = {Index({1, 1})};
  const Tensor values = MakeTensor({2}, {5, 7});
  ExpectValues(CallOperator("aten.index_put.default", {x, at, values}).tensor(),
               {0, 7, 0});
  ExpectValues(
      CallOperator("aten.index_put.default", {x, at, values, true}).tensor(),
      {0, 12, 0});
  ExpectValues(x, {0, 0, 0});
  const auto in_place =
      CallOperator("aten.index_put_.default", {x, at, values});
  EXPECT_TRUE(in_place.tensor().SharesStorage(x));
  ExpectValues(x, {0, 7, 0});
}

TEST(IndexingTest, OutOfRangeIsAnError) {
  const Tensor x = Count({2, 3});
  const Tensor bad = MakeTensor({1, 1}, {3}, DType::kInt64);
  const Tensor negative = MakeTensor({1, 1}, {-1}, DType::kInt64);
  EXPECT_NE(CallOperator("aten.gather.default", {x, int64_t{1}, bad}).error,
            "");
  EXPECT_NE(
      CallOperator("aten.gather.default", {x, int64_t{1}, negative}).error, "");
  EXPECT_NE(
      CallOperator("aten.index.Tensor", {x, RuntimeValue::List{Index({2})}})
          .error,
      "");
  EXPECT_NE(CallOperator("aten.embedding.default", {x, Index({-1})}).error, "");
  EXPECT_NE(CallOperator("aten._embedding_bag.default",
                         {x, Index({0, 1}), Index({0, 5})})
                .error,
            "");
}

TEST(IndexingTest, ScatterReduceMeanRoundsDown) {
  const auto out = CallOperator(
      "aten.scatter_reduce.two",
      {MakeTensor({1}, {5}, DType::kInt64), int64_t{0}, Index({0, 0}),
       MakeTensor({2}, {-7, -5}, DType::kInt64), std::string("mean")});
  ASSERT_EQ(out.error, "");
  ExpectValues(out.tensor(), {-3});
}

TEST(IndexingTest, EmptyBagIsZero) {
  const auto out = CallOperator("aten._embedding_bag.default",
                                {MakeTensor({2, 1}, {3, 4}), Index({0, 1}),
                                 Index({0, 2}), false, int64_t{2}});
  ASSERT_EQ(out.error, "");
  ExpectValues(out.tensor(0), {4, 0});
  ExpectValues(out.tensor(3), {1, 0});
}

TEST(IndexingTest, MaskedFillRefusesOverflow) {
  const Tensor x = Count({2}, DType::kInt8);
  const Tensor mask = MakeTensor({2}, {1, 0}, DType::kBool);
  ExpectValues(CallOperator("aten.masked_fill.Scalar", {x, mask, 2.5}).tensor(),
               {2, 1});
  EXPECT_NE(
      CallOperator("aten.masked_fill.Scalar", {x, mask, int64_t{300}}).error,
      "");
}

TEST(IndexingTest, SearchHonoursTheSide) {
  const Tensor x = MakeTensor({2}, {1, 2});
  const Tensor boundaries = MakeTensor({3}, {1, 2, 3});
  ExpectValues(CallOperator("aten.bucketize.Tensor", {x, boundaries}).tensor(),
               {0, 1});
  ExpectValues(
      CallOperator("aten.bucketize.Tensor", {x, boundaries, false, true})
          .tensor(),
      {1, 2});
}

}  // namespace
}  // namespace tenon
