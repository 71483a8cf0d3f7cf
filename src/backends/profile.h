// What a plan does, step by step: for profiles and pictures.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tenon {

struct ListedStep {
  std::string name;  // "pointwise", "matmul"
  // The operators that it computes, in the region's order.
  std::vector<std::string> ops;
  // Moves elements without computing anything.
  bool is_copy = false;
  // Of the tensors that it reads and writes; one that is broadcast counts once.
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
};

// A stretch of the arena, taken from one step to another, both included.
struct ListedBuffer {
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
  uint32_t first_step = 0;
  uint32_t last_step = 0;
};

struct PlanListing {
  std::vector<ListedStep> steps;
  std::vector<ListedBuffer> buffers;
  uint64_t arena_bytes = 0;
  // What no arena can be smaller than: the most that is alive at one step.
  uint64_t peak_live_bytes = 0;
  // What the arena would be if no two buffers shared memory.
  uint64_t unshared_bytes = 0;
  // Constants that were computed while planning.
  uint64_t constant_bytes = 0;
  // Copies of weights in another layout.
  uint64_t packed_bytes = 0;
};

// Told of each step as it ends.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void OnStep(size_t step, std::chrono::nanoseconds time) = 0;
};

}  // namespace tenon
