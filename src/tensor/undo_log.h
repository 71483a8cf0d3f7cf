// The bytes that writes in place destroyed, so that a call that fails changes
// nothing.
//
// Who writes a part of a large tensor keeps just that part: a step that puts
// one row into a cache keeps one row, where a copy of the cache would cost more
// than the step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace tenon {

// Addresses must stay valid until Undo or Clear. Not thread-safe.
class UndoLog {
 public:
  // To be called before `count` items of `item_bytes`, which begin
  // `step_bytes` apart, are written.
  void Save(const std::byte* at, int64_t count, int64_t step_bytes,
            size_t item_bytes);
  // All elements of a tensor that lies in writable memory.
  void Save(const Tensor& tensor);
  // Puts everything back, what was saved last first. The log is empty then.
  void Undo();
  // What was written stays. Memory is kept for the next call.
  void Clear();

  // That would be put back.
  uint64_t size_bytes() const { return bytes_.size(); }

 private:
  struct Run {
    std::byte* at = nullptr;
    int64_t count = 0;
    int64_t step_bytes = 0;
    size_t item_bytes = 0;
    size_t offset = 0;  // in bytes_
  };
  std::vector<Run> runs_;
  std::vector<std::byte> bytes_;
};

}  // namespace tenon
