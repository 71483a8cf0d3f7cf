// Lifetimes for the memory planner, as many as one likes.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/lifetime.h"

namespace tenon::bench {

enum class LifetimePattern : uint8_t {
  kNetwork,    // each is read one to three steps later
  kResiduals,  // one in ten up to 200 steps later
  kUniform,    // from anywhere to anywhere: a third is alive at once
};

// `count` buffers of 64 to 64,000 bytes, drawn from a fixed seed.
std::vector<Lifetime> DrawLifetimes(LifetimePattern pattern, int64_t count);

}  // namespace tenon::bench
