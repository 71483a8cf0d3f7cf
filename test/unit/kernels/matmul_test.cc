#include <limits>

#include "call_operator.h"

namespace tenon {
namespace {

TEST(MatmulTest, LargerThanOneBlock) {
  // Ones times ones: every element is the inner size, at all edges of blocks.
  for (const int64_t size : {1, 5, 63, 64, 65, 130}) {
    const Tensor a = MakeTensor(
        {size, size}, std::vector<double>(static_cast<size_t>(size * size), 1));
    const auto out = CallOperator("aten.mm.default", {a, a});
    ASSERT_EQ(out.error, "");
    ExpectValues(out.tensor(),
                 std::vector<double>(static_cast<size_t>(size * size),
                                     static_cast<double>(size)));
  }
}

TEST(MatmulTest, IntegersWrap) {
  const Tensor a = MakeTensor({1, 1}, {100}, DType::kInt8);
  ExpectValues(CallOperator("aten.mm.default", {a, a}).tensor(), {16});
}

TEST(MatmulTest, BetaZeroDropsTheBias) {
  const Tensor nan =
      MakeTensor({1}, {std::numeric_limits<double>::quiet_NaN()});
  const Tensor one = MakeTensor({1, 1}, {1});
  const auto out = CallOperator("aten.addmm.default",
                                {nan, one, one, int64_t{0}, int64_t{1}});
  ASSERT_EQ(out.error, "");
  ExpectValues(out.tensor(), {1});
}

TEST(MatmulTest, ShapesAreChecked) {
  const Tensor a = Count({2, 3}), b = Count({2, 3});
  EXPECT_NE(CallOperator("aten.mm.default", {a, b}).error, "");
  EXPECT_NE(CallOperator("aten.matmul.default", {a, Count({})}).error, "");
  EXPECT_NE(CallOperator("aten.linear.default", {a, Count({4, 2})}).error, "");
  EXPECT_NE(CallOperator("aten.einsum.default",
                         {std::string("ij,k->"), RuntimeValue::List{a}})
                .error,
            "");
}

TEST(MatmulTest, EinsumContractsAndTakesDiagonals) {
  const Tensor a = Count({2, 2});
  ExpectValues(CallOperator("aten.einsum.default",
                            {std::string("ii->"), RuntimeValue::List{a}})
                   .tensor(),
               {3});
  ExpectValues(CallOperator("aten.einsum.default", {std::string("ij,kj->ik"),
                                                    RuntimeValue::List{a, a}})
                   .tensor(),
               {1, 3, 3, 13});
}

}  // namespace
}  // namespace tenon
