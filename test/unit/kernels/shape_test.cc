#include "call_operator.h"

namespace tenon {
namespace {

TEST(ShapeViewTest, ViewSharesStorage) {
  const Tensor x = Count({2, 3});
  const auto out = CallOperator("aten.view.default", {x, Ints({3, -1})});
  ASSERT_EQ(out.error, "");
  EXPECT_TRUE(out.tensor().SharesStorage(x));
  EXPECT_EQ(out.tensor().sizes(), (Sizes{3, 2}));
}

TEST(ShapeViewTest, ViewOfTransposedFailsWhereReshapeCopies) {
  const Tensor x = Count({2, 3}).View({3, 2}, {1, 3}, 0);
  EXPECT_NE(CallOperator("aten.view.default", {x, Ints({6})}).error, "");
  const auto out = CallOperator("aten.reshape.default", {x, Ints({6})});
  ASSERT_EQ(out.error, "");
  EXPECT_FALSE(out.tensor().SharesStorage(x));
  ExpectValues(out.tensor(), {0, 3, 1, 4, 2, 5});
}

TEST(ShapeViewTest, HostileSizesAreErrors) {
  const Tensor x = Count({1});
  const int64_t huge = int64_t{1} << 62;
  for (const auto& sizes : {Ints({huge, huge}), Ints({-2}), Ints({-1, -1})}) {
    EXPECT_NE(CallOperator("aten.view.default", {x, sizes}).error, "");
    EXPECT_NE(CallOperator("aten.reshape.default", {x, sizes}).error, "");
  }
  EXPECT_NE(
      CallOperator("aten.expand.default", {x, Ints({huge, huge, huge})}).error,
      "");
  EXPECT_NE(CallOperator("aten.repeat.default", {x, Ints({huge, huge})}).error,
            "");
  EXPECT_NE(CallOperator("aten.as_strided.default",
                         {x, Ints({2}), Ints({huge}), huge})
                .error,
            "");
  EXPECT_NE(CallOperator("aten.constant_pad_nd.default",
                         {x, Ints({INT64_MAX, INT64_MAX})})
                .error,
            "");
}

TEST(ShapeSliceTest, SliceClampsButSelectFails) {
  const Tensor x = Count({4});
  const auto out = CallOperator("aten.slice.Tensor",
                                {x, int64_t{0}, int64_t{-3}, int64_t{100}});
  ASSERT_EQ(out.error, "");
  ExpectValues(out.tensor(), {1, 2, 3});
  EXPECT_NE(CallOperator("aten.select.int", {x, int64_t{0}, int64_t{4}}).error,
            "");
}

TEST(ShapeSliceTest, ChunkMayGiveFewer) {
  const auto out = CallOperator("aten.chunk.default", {Count({5}), int64_t{4}});
  ASSERT_EQ(out.error, "");
  const auto& pieces = out.results[0].list();
  ASSERT_EQ(pieces.size(), 3u);
  ExpectValues(pieces[2].tensor(), {4});
}

TEST(ShapeJoinTest, CatPromotesAndSkipsEmpty1d) {
  const auto out =
      CallOperator("aten.cat.default",
                   // A list of one list: braces alone would copy the inner one.
                   {RuntimeValue(RuntimeValue::List{
                       Count({1, 2}, DType::kInt64),
                       Tensor::Empty(DType::kFloat32, {0}), Count({1, 2})})});
  ASSERT_EQ(out.error, "");
  EXPECT_EQ(out.tensor().dtype(), DType::kFloat32);
  ExpectValues(out.tensor(), {0, 1, 0, 1});
}

TEST(ShapeCopyTest, SliceScatterLeavesItsInputAlone) {
  const Tensor x = Count({4});
  const auto out = CallOperator(
      "aten.slice_scatter.default",
      {x, MakeTensor({2}, {8, 9}), int64_t{0}, int64_t{1}, int64_t{3}});
  ASSERT_EQ(out.error, "");
  ExpectValues(out.tensor(), {0, 8, 9, 3});
  ExpectValues(x, {0, 1, 2, 3});
}

TEST(ShapeRearrangeTest, RollAndFlip) {
  const Tensor x = Count({4});
  ExpectValues(
      CallOperator("aten.roll.default", {x, Ints({1}), Ints({0})}).tensor(),
      {3, 0, 1, 2});
  ExpectValues(CallOperator("aten.flip.default", {x, Ints({0})}).tensor(),
               {3, 2, 1, 0});
}

}  // namespace
}  // namespace tenon
