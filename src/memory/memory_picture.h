// Memory plans as a picture: steps from left to right, memory from bottom to
// top, one rectangle per buffer. Plans stand side by side, in one scale.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memory/lifetime.h"

namespace tenon {

struct PicturedBuffer {
  uint64_t offset = 0;  // bytes
  uint64_t size_bytes = 0;
  StepRange steps;
  // What stands behind size, place and steps when one hovers over it.
  std::string about;
};

struct PicturedPlan {
  std::string title;
  uint64_t num_steps = 0;  // without any, a plan is left out
  uint64_t size_bytes = 0;
  std::vector<PicturedBuffer> buffers;
};

// The buffers of a plan by PlanMemory: a rectangle for each time of its life
// between gaps, `about` by lifetime. Empty ones are left out.
std::vector<PicturedBuffer> PictureBuffers(std::span<const Lifetime> lifetimes,
                                           std::span<const uint64_t> offsets,
                                           std::span<const std::string> about);

// SVG, without scripts or anything from outside; rectangles say on hovering
// what they are.
std::string MemoryAsSvg(std::span<const PicturedPlan> plans);

}  // namespace tenon
