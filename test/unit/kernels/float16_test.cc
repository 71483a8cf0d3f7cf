#include "kernels/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tenon {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// Each finite value converts back to its own bits, and the midpoint to the
// next one goes to the even neighbour.
template <typename T, typename Bits>
void CheckAllPairs(Bits last_finite) {
  for (Bits bits = 0; bits < last_finite; ++bits) {
    T low, high;
    low.bits = bits;
    high.bits = static_cast<Bits>(bits + 1);
    const float a = static_cast<float>(low), b = static_cast<float>(high);
    ASSERT_LT(a, b);
    ASSERT_EQ(T(a).bits, bits);
    const float middle = a + (b - a) / 2;
    ASSERT_EQ(T(middle).bits % 2, 0) << "between " << a << " and " << b;
    ASSERT_EQ(T(std::nextafter(middle, 0.0f)).bits, bits);
    ASSERT_EQ(T(std::nextafter(middle, kInf)).bits, bits + 1);
  }
}

TEST(Float16Test, RoundsToNearestEven) {
  CheckAllPairs<Float16, uint16_t>(0x7bff);
}
TEST(Float16Test, BFloat16RoundsToNearestEven) {
  CheckAllPairs<BFloat16, uint16_t>(0x7f7f);
}
TEST(Float16Test, Float8RoundsToNearestEven) {
  CheckAllPairs<Float8E4M3FN, uint8_t>(0x7e);
  CheckAllPairs<Float8E5M2, uint8_t>(0x7b);
  CheckAllPairs<Float8E4M3FNUZ, uint8_t>(0x7f);
  CheckAllPairs<Float8E5M2FNUZ, uint8_t>(0x7f);
}

TEST(Float16Test, OverflowsAsPyTorchDoes) {
  EXPECT_EQ(static_cast<float>(Float16(65519.0f)), 65504.0f);
  EXPECT_EQ(static_cast<float>(Float16(65520.0f)), kInf);
  EXPECT_EQ(static_cast<float>(Float16(-1e9f)), -kInf);
  EXPECT_EQ(static_cast<float>(Float8E4M3FN(1e9f)), 448.0f);
  EXPECT_EQ(static_cast<float>(Float8E4M3FN(-kInf)), -448.0f);
  EXPECT_EQ(static_cast<float>(Float8E5M2(1e9f)), kInf);
  EXPECT_EQ(Float8E4M3FNUZ(1e9f).bits, 0x80);
  EXPECT_EQ(Float8E4M3FNUZ(-0.0f).bits, 0) << "no negative zero";
}

TEST(Float16Test, NanStaysNan) {
  const float nan = std::nanf("");
  EXPECT_TRUE(std::isnan(static_cast<float>(Float16(nan))));
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(nan))));
  EXPECT_TRUE(std::isnan(static_cast<float>(Float8E4M3FN(nan))));
  EXPECT_TRUE(std::isnan(static_cast<float>(Float8E5M2(nan))));
  EXPECT_TRUE(std::isnan(static_cast<float>(Float8E8M0FNU(nan))));
}

// Values of torch 2.15: torch.tensor(x).to(torch.float8_e8m0fnu).
TEST(Float16Test, BareExponents) {
  EXPECT_EQ(Float8E8M0FNU(1.0f).bits, 127);
  EXPECT_EQ(Float8E8M0FNU(1.4f).bits, 127);
  EXPECT_EQ(Float8E8M0FNU(1.5f).bits, 128);
  EXPECT_EQ(Float8E8M0FNU(3.0f).bits, 129);
  EXPECT_EQ(Float8E8M0FNU(3e38f).bits, 255);
  EXPECT_EQ(Float8E8M0FNU(8e-39f).bits, 1);
  EXPECT_EQ(Float8E8M0FNU(0.0f).bits, 0);
}

}  // namespace
}  // namespace tenon
