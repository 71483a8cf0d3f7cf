// What a reader makes of input that needs just as much as a limit allows, and
// of a limit one below.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "diag/diagnostics.h"
#include "diag/limits.h"

namespace tenon {

using LimitedRead = std::function<bool(const ReadLimits&, Diagnostics&)>;

// `read` succeeds with `least`, and one below it fails with the limit's name,
// value and flag.
inline void ExpectBoundary(uint64_t ReadLimits::*field, uint64_t least,
                           const LimitedRead& read) {
  ReadLimits limits;
  Diagnostics diags;
  limits.*field = least;
  EXPECT_TRUE(read(limits, diags)) << diags.ToString();
  limits.*field = least - 1;
  EXPECT_FALSE(read(limits, diags)) << BeyondLimit(limits, field);
  EXPECT_NE(diags.FirstError().find(BeyondLimit(limits, field)),
            std::string::npos)
      << diags.ToString();
}

// The same where `least` isn't known exactly, but lies in (low, high].
inline void ExpectBoundaryBetween(uint64_t ReadLimits::*field, uint64_t low,
                                  uint64_t high, const LimitedRead& read) {
  uint64_t least = high;
  const auto passes = [&](uint64_t value) {
    ReadLimits limits;
    limits.*field = value;
    Diagnostics diags;
    return read(limits, diags);
  };
  while (least - 1 > low && passes(least - 1)) --least;
  ExpectBoundary(field, least, read);
}

}  // namespace tenon
