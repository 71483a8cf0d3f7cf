// Matrix products of float32 by own loops. They copy operands in blocks whose
// size doesn't depend on that of the matrices, into memory that the caller
// brings: libraries' products allocate packed copies as large as the operands
// in each call.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/loops/loops.h"
#include "backends/cpu/plan.h"

namespace tenon::cpu {

// One product as loops.h states it; `c` doesn't overlap the operands.
// `scratch` is 64-byte aligned.
void Multiply(const GemmArgs& g, float* scratch);

// The scratch memory that a product needs; pointers aren't looked at. What is
// enough for a product is enough for one with fewer rows. It is also enough for
// one with a smaller k where b_column is 1, and for one with fewer columns
// where b_row is 1.
int64_t ScratchBytesFor(const GemmArgs& g);

// C[i] = A[i] B[i] (+ bias) over a batch of matrices of one shape.
struct MatmulShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row = 0;
  int64_t b_row = 0, b_column = 0;
  Ref a, b, c;
  bool has_bias = false;
  Ref bias;  // n contiguous elements
  // In elements, one entry per matrix.
  std::vector<int64_t> a_offsets, b_offsets, c_offsets;
};

// Shares the columns of large products out among the threads that OpenMP had
// when it was made.
class MatmulStep : public Step {
 public:
  // On the thread that makes the step.
  static int64_t ScratchBytes(const MatmulShape& shape);

  MatmulStep(MatmulShape shape, Ref scratch);
  bool Run(Frame& frame) override;
  std::string_view name() const override { return "matmul"; }

 private:
  // B, when a run brings one that the last had not.
  void MapMatrix(const float* b);

  const MatmulShape shape_;
  const Ref scratch_;
  const int num_threads_;
  const float* mapped_ = nullptr;
};

}  // namespace tenon::cpu
