// Matrix products of float32: a small loop, or oneDNN's where it pays.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/loops/loops.h"
#include "backends/cpu/plan.h"

namespace tenon::cpu {

// One product as loops.h states it; `c` doesn't overlap the operands.
void Multiply(const SmallGemm& product);

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

class MatmulStep : public Step {
 public:
  explicit MatmulStep(MatmulShape shape) : shape_(std::move(shape)) {}
  bool Run(Frame& frame) override;
  std::string_view name() const override { return "matmul"; }

 private:
  const MatmulShape shape_;
};

}  // namespace tenon::cpu
