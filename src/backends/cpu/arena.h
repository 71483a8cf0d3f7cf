// Where buffers lie in one block of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::cpu {

// Memory needed from step `first` to step `last`, both included.
struct Lifetime {
  size_t size_bytes = 0;
  uint32_t first = 0;
  uint32_t last = 0;
};

struct ArenaLayout {
  std::vector<size_t> offsets;  // by lifetime; multiples of 64
  size_t size_bytes = 0;
};

// Largest first, each at the lowest offset where nothing alive at the same
// time lies: simple, deterministic, and near the lower bound in practice.
ArenaLayout LayOutArena(const std::vector<Lifetime>& lifetimes);

}  // namespace tenon::cpu
