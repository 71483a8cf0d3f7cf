// Blocks of a tensor picked or placed by index tensors.
//
// The indexed tensor is seen as [outer, indexed..., inner]: for each outer
// position and each index, a block of inner elements is copied. An index out of
// bounds is an error of the run.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/cpu/plan.h"

namespace tenon::cpu {

struct IndexedDim {
  int64_t size = 0;
  int64_t stride_bytes = 0;
  Ref indices;  // int64, `count` contiguous ones
};

struct IndexShape {
  int64_t count = 0;  // index positions
  std::vector<IndexedDim> dims;
  bool allows_negative = true;
  // Where outer positions and runs of inner elements begin in the indexed
  // tensor; in the other one they follow each other.
  std::vector<int64_t> outer_bytes, run_bytes;
  int64_t run_length = 1;
  int64_t run_step_bytes = 0;
  size_t item_bytes = 4;
  Ref self;               // the indexed tensor
  Ref other;              // contiguous [outer, count, inner]
  bool is_saved = false;  // what is overwritten: `self` is a region input
};

class IndexStep : public Step {
 public:
  // kAccumulate adds float32.
  enum class Mode : uint8_t { kTake, kPut, kAccumulate };

  IndexStep(Mode mode, IndexShape shape) : mode_(mode), s_(std::move(shape)) {}

  bool Run(Frame& frame) override;
  std::string_view name() const override {
    return mode_ == Mode::kTake ? "index" : "index_put";
  }

 private:
  bool OffsetOf(Frame& frame, int64_t p, int64_t* offset) const;
  void CopyRun(std::byte* indexed, std::byte* other) const;

  const Mode mode_;
  const IndexShape s_;
};

}  // namespace tenon::cpu
