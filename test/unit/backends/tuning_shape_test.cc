#include "backends/tuning_shape.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(TuningShape, K413LiesInsideTheRange) {
  const TuningShape a = TuneFor(1000, 1200);
  EXPECT_EQ(a.min, 1000);
  EXPECT_EQ(a.opt, 1100);
  EXPECT_EQ(a.max, 1200);
  EXPECT_TRUE(a.note.empty());
  const TuningShape b = TuneFor(100, 1200);
  EXPECT_EQ(b.opt, 650);
  const TuningShape c = TuneFor(1, 1);
  EXPECT_EQ(c.min, 1);
  EXPECT_EQ(c.opt, 1);
  EXPECT_EQ(c.max, 1);
}

TEST(TuningShape, R4WhatIsMadeUpIsSaid) {
  const TuningShape a = TuneFor(0, std::nullopt);
  EXPECT_EQ(a.min, 1);
  EXPECT_EQ(a.max, kUnboundedSize);
  EXPECT_LE(a.opt, a.max);
  EXPECT_NE(a.note.find("empty"), std::string::npos);
  EXPECT_NE(a.note.find("no upper bound"), std::string::npos);
  const TuningShape b = TuneFor(INT64_MAX, std::nullopt);
  EXPECT_LE(b.min, b.opt);
  EXPECT_LE(b.opt, b.max);
}

}  // namespace
}  // namespace tenon
