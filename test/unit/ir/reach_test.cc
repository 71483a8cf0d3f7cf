#include "ir/reach.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

Type Tensor(std::vector<int64_t> sizes, std::vector<int64_t> strides,
            int64_t offset) {
  Type type;
  type.kind = TypeKind::kTensor;
  type.dtype = DType::kFloat32;
  for (const int64_t size : sizes) type.sizes.push_back(SymInt::Literal(size));
  for (const int64_t stride : strides) {
    type.strides.push_back(SymInt::Literal(stride));
  }
  type.storage_offset = SymInt::Literal(offset);
  return type;
}

TEST(ReachTest, EndsBehindTheLastElement) {
  EXPECT_EQ(ReachBytes(Tensor({}, {}, 0)), 4u);
  EXPECT_EQ(ReachBytes(Tensor({2, 3}, {3, 1}, 0)), 24u);
  EXPECT_EQ(ReachBytes(Tensor({2, 3}, {1, 10}, 5)), 108u);
  EXPECT_EQ(ReachBytes(Tensor({7}, {0}, 1)), 8u);
}

TEST(ReachTest, NothingReachesNothing) {
  EXPECT_EQ(ReachBytes(Tensor({0, INT64_MAX}, {1, INT64_MAX}, 9)), 0u);
}

TEST(ReachTest, OverflowAndNegativeNumbersHaveNoReach) {
  EXPECT_EQ(ReachBytes(Tensor({3}, {INT64_MAX / 2 + 1}, 0)), std::nullopt);
  EXPECT_EQ(ReachBytes(Tensor({2}, {1}, INT64_MAX)), std::nullopt);
  EXPECT_EQ(ReachBytes(Tensor({INT64_MAX / 2}, {1}, 0)), std::nullopt);
  EXPECT_EQ(ReachBytes(Tensor({2}, {-1}, 5)), std::nullopt);
  EXPECT_EQ(ReachBytes(Tensor({-2}, {1}, 5)), std::nullopt);
  EXPECT_EQ(ReachBytes(Tensor({4}, {1}, -1)), std::nullopt);
}

}  // namespace
}  // namespace tenon
