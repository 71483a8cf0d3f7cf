#include "kernels/promotion.h"

#include <gtest/gtest.h>

#include "kernels/broadcast.h"
#include "kernels/elements.h"

namespace tenon {
namespace {

Operand Dimensioned(DType dtype) { return {Tensor::Empty(dtype, {1}), false}; }
Operand ZeroDim(DType dtype) { return {Tensor::Empty(dtype, {}), false}; }
Operand Number(RuntimeValue value) { return {ScalarTensor(value), true}; }

DType Promote(const Operand& a, const Operand& b) {
  const Operand operands[] = {a, b};
  return ResultType(operands);
}

TEST(PromotionTest, LowerRanksCountByCategoryOnly) {
  EXPECT_EQ(Promote(Dimensioned(DType::kBFloat16), ZeroDim(DType::kFloat32)),
            DType::kBFloat16);
  EXPECT_EQ(
      Promote(Dimensioned(DType::kBFloat16), Dimensioned(DType::kFloat32)),
      DType::kFloat32);
  EXPECT_EQ(Promote(Dimensioned(DType::kInt32), ZeroDim(DType::kFloat64)),
            DType::kFloat64);
  EXPECT_EQ(Promote(Dimensioned(DType::kInt32), Number(1.5)), DType::kFloat32);
  EXPECT_EQ(Promote(Dimensioned(DType::kBool), Number(int64_t{2})),
            DType::kInt64);
  EXPECT_EQ(
      Promote(Dimensioned(DType::kFloat16), Number(std::complex<double>(1, 2))),
      DType::kComplex32);
  EXPECT_EQ(Promote(ZeroDim(DType::kFloat32), Number(1.5)), DType::kFloat32);
}

TEST(PromotionTest, PairsOfDtypes) {
  EXPECT_EQ(PromoteTypes(DType::kUInt8, DType::kInt8), DType::kInt16);
  EXPECT_EQ(PromoteTypes(DType::kUInt8, DType::kInt64), DType::kInt64);
  EXPECT_EQ(PromoteTypes(DType::kBFloat16, DType::kFloat16), DType::kFloat32);
  EXPECT_EQ(PromoteTypes(DType::kComplex64, DType::kFloat64),
            DType::kComplex128);
  EXPECT_EQ(PromoteTypes(DType::kComplex128, DType::kFloat64),
            DType::kComplex128);
  EXPECT_EQ(PromoteTypes(DType::kUInt16, DType::kInt32), DType::kUnknown);
  EXPECT_EQ(PromoteTypes(DType::kFloat8E4M3FN, DType::kFloat32),
            DType::kUnknown);
  EXPECT_EQ(PromoteTypes(DType::kFloat8E4M3FN, DType::kFloat8E4M3FN),
            DType::kFloat8E4M3FN);
}

// Permutation of the two operands' strides, as TensorIterator chooses it.
TEST(ResultStridesTest, KeepsThePermutationOfTheOperands) {
  const Tensor contiguous = Tensor::Empty(DType::kFloat32, {2, 3, 4, 5});
  const Tensor channels_last =
      Tensor::EmptyStrided(DType::kFloat32, {2, 3, 4, 5}, {60, 1, 15, 3});
  const Tensor both[] = {channels_last, channels_last};
  EXPECT_EQ(ResultStrides({2, 3, 4, 5}, both), (Sizes{60, 1, 15, 3}));
  const Tensor first_wins[] = {channels_last, contiguous};
  EXPECT_EQ(ResultStrides({2, 3, 4, 5}, first_wins), (Sizes{60, 1, 15, 3}));
  const Tensor number = Tensor::Empty(DType::kFloat32, {});
  const Tensor with_number[] = {number, channels_last};
  EXPECT_EQ(ResultStrides({2, 3, 4, 5}, with_number), (Sizes{60, 1, 15, 3}));
}

TEST(ResultStridesTest, GapsAndExpansionsBecomeDense) {
  const Tensor backing = Tensor::Empty(DType::kFloat32, {100});
  const Tensor stepped[] = {backing.View({3, 4}, {20, 2}, 0)};
  EXPECT_EQ(ResultStrides({3, 4}, stepped), (Sizes{4, 1}));
  const Tensor expanded[] = {backing.View({3, 4}, {0, 1}, 0)};
  EXPECT_EQ(ResultStrides({3, 4}, expanded), (Sizes{4, 1}));
}

TEST(BroadcastTest, SizesMeetOrFail) {
  Sizes sizes;
  EXPECT_TRUE(BroadcastSizes({5, 1, 3}, {4, 1}, &sizes));
  EXPECT_EQ(sizes, (Sizes{5, 4, 3}));
  EXPECT_TRUE(BroadcastSizes({1}, {0}, &sizes));
  EXPECT_EQ(sizes, Sizes{0});
  EXPECT_FALSE(BroadcastSizes({2}, {3}, &sizes));
  EXPECT_FALSE(BroadcastSizes({2}, {0}, &sizes));
}

}  // namespace
}  // namespace tenon
