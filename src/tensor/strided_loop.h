// Walks several strided operands of equal sizes in step.
//
// Dimensions of size 1 vanish and neighbours that every operand can merge
// become one, so that most walks are a single run:
//
//   for (StridedLoop loop(sizes, {a.strides(), b.strides()}); loop.Next();) {
//     // loop.run() elements, at loop.offset(k) with step loop.step(k).
//   }
//
// Offsets and steps are in elements, relative to each operand's first element.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace tenon {

class StridedLoop {
 public:
  enum class Order {
    kRowMajor,  // the last dimension varies fastest
    kAny,       // whatever suits the first operand's strides
  };

  // Every entry of `strides` is as long as `sizes`.
  StridedLoop(const Sizes& sizes, std::vector<Sizes> strides,
              Order order = Order::kRowMajor);

  // Moves to the next run; false after the last one. No sizes are one run of
  // one element, a size of 0 is no run.
  bool Next();

  int64_t run() const { return run_; }
  int64_t offset(size_t operand) const { return offsets_[operand]; }
  int64_t step(size_t operand) const { return steps_[operand]; }

 private:
  void SortDims();
  void Coalesce();

  Sizes sizes_;  // outer dimensions once constructed
  std::vector<Sizes> strides_;
  Sizes index_;
  Sizes offsets_, steps_;
  int64_t run_ = 1;
  bool started_ = false;
  bool empty_ = false;
};

}  // namespace tenon
