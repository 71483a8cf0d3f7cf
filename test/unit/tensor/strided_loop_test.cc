#include "tensor/strided_loop.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

// Every offset of operand `k`, in the order of the walk.
std::vector<int64_t> Offsets(StridedLoop loop, size_t k) {
  std::vector<int64_t> offsets;
  while (loop.Next()) {
    for (int64_t i = 0; i < loop.run(); ++i) {
      offsets.push_back(loop.offset(k) + i * loop.step(k));
    }
  }
  return offsets;
}

TEST(StridedLoopTest, MergesWhatAllOperandsCanMerge) {
  StridedLoop loop({2, 3, 4}, {{12, 4, 1}, {12, 4, 1}});
  ASSERT_TRUE(loop.Next());
  EXPECT_EQ(loop.run(), 24);
  EXPECT_FALSE(loop.Next());
}

TEST(StridedLoopTest, WalksRowMajor) {
  EXPECT_EQ(Offsets(StridedLoop({2, 3}, {{1, 2}}), 0),
            (std::vector<int64_t>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(Offsets(StridedLoop({2, 3}, {{3, 1}, {0, 1}}), 1),
            (std::vector<int64_t>{0, 1, 2, 0, 1, 2}));
}

TEST(StridedLoopTest, AnyOrderFollowsTheFirstOperand) {
  StridedLoop loop({2, 3}, {{1, 2}, {1, 2}}, StridedLoop::Order::kAny);
  ASSERT_TRUE(loop.Next());
  EXPECT_EQ(loop.run(), 6);
}

TEST(StridedLoopTest, NoSizesAreOneElementAndZeroIsNone) {
  StridedLoop scalar({}, {{}});
  ASSERT_TRUE(scalar.Next());
  EXPECT_EQ(scalar.run(), 1);
  EXPECT_FALSE(scalar.Next());
  StridedLoop empty({2, 0}, {{1, 1}});
  EXPECT_FALSE(empty.Next());
}

}  // namespace
}  // namespace tenon
