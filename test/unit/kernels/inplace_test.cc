#include "call_operator.h"

namespace tenon {
namespace {

TEST(InplaceTest, WritesTheFirstArgument) {
  const Tensor x = Count({2});
  const auto out = CallOperator("aten.add_.Tensor", {x, Count({2})});
  ASSERT_EQ(out.error, "");
  EXPECT_TRUE(out.tensor().SharesStorage(x));
  ExpectValues(x, {0, 2});
}

TEST(InplaceTest, AViewWritesItsBase) {
  const Tensor x = Count({4});
  const auto out =
      CallOperator("aten.mul_.Tensor", {x.View({2}, {2}, 1), int64_t{10}});
  ASSERT_EQ(out.error, "");
  ExpectValues(x, {0, 10, 2, 30});
}

TEST(InplaceTest, KeepsItsDtype) {
  const Tensor x = Count({2}, DType::kInt64);
  EXPECT_NE(CallOperator("aten.add_.Tensor", {x, Count({2})}).error, "");
  ExpectValues(x, {0, 1});
  const Tensor half = Count({2}, DType::kBFloat16);
  const auto out = CallOperator("aten.add_.Tensor", {half, Count({2})});
  ASSERT_EQ(out.error, "");
  EXPECT_EQ(out.tensor().dtype(), DType::kBFloat16);
}

TEST(InplaceTest, DoesNotGrow) {
  const Tensor x = Count({1});
  EXPECT_NE(CallOperator("aten.add_.Tensor", {x, Count({2})}).error, "");
}

TEST(InplaceTest, OverlappingElementsAreRefused) {
  const Tensor x = Count({1}).View({3}, {0}, 0);
  EXPECT_NE(CallOperator("aten.add_.Tensor", {x, Count({3})}).error, "");
  EXPECT_NE(CallOperator("aten.copy_.default", {x, Count({3})}).error, "");
}

TEST(InplaceTest, OverloadsThatHaveNoNamesakeAreFound) {
  const Tensor x = Count({3});
  const auto out = CallOperator("aten.pow_.Scalar", {x, int64_t{2}});
  ASSERT_EQ(out.error, "");
  ExpectValues(x, {0, 1, 4});
}

TEST(InplaceTest, GeometryChangesInTheArgument) {
  const Tensor x = Count({2, 3});
  const auto out = CallOperator("aten.t_.default", {x});
  ASSERT_EQ(out.error, "");
  EXPECT_EQ(out.args[0].tensor().sizes(), (Sizes{3, 2}));
  EXPECT_TRUE(out.args[0].tensor().SharesStorage(x));
}

}  // namespace
}  // namespace tenon
