// Products of float32 with a matrix that is stored narrower: half precision, or
// bytes with a scale and a zero point per column. No float32 copy of the matrix
// is ever made: with few rows its elements are widened as they are read, and
// memory has to deliver half or a quarter as much; with more rows, blocks of
// columns that fit into the cache are widened and multiplied in float32.
#pragma once

#include "backends/cpu/plan.h"
#include "ir/kinds.h"

namespace tenon::cpu {

struct NarrowMatmulShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row = 0;
  DType type = DType::kUnknown;  // of B: bfloat16, float16, int8 or uint8
  // In elements; one of the two is 1.
  int64_t b_row = 0, b_column = 0;
  Ref a, b, c;  // C is contiguous
  // Contiguous float32: one element per column, or per column and group of so
  // many rows. The bias has n.
  int64_t group = 0;  // 0 = all rows
  bool has_scale = false, has_zero = false, has_bias = false;
  Ref scale, zero, bias;
  // That run it; each has scratch memory of its own.
  int num_threads = 1;
};

class NarrowMatmulStep : public Step {
 public:
  static int64_t ScratchBytes(const NarrowMatmulShape& shape);

  // `scratch` is 64-byte aligned.
  NarrowMatmulStep(const NarrowMatmulShape& shape, Ref scratch)
      : s_(shape), scratch_(scratch) {}
  bool Run(Frame& frame) override;
  std::string_view name() const override { return "matmul_narrow"; }

 private:
  void MultiplyColumns(Frame& frame, int64_t begin, int64_t end,
                       std::byte* scratch) const;
  void MultiplyBlock(Frame& frame, int64_t begin, int64_t end,
                     float* wide) const;

  const NarrowMatmulShape s_;
  const Ref scratch_;
};

}  // namespace tenon::cpu
