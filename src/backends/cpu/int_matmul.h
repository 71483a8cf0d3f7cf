// Products of bytes, exact in int32, which wraps. Both matrices are read as
// they are stored.
#pragma once

#include "backends/cpu/plan.h"
#include "ir/kinds.h"

namespace tenon::cpu {

struct IntMatmulShape {
  int64_t m = 0, n = 0, k = 0;
  DType a_type = DType::kInt8;  // or uint8; B is int8
  int64_t a_row = 0;            // A's columns have step 1
  // In elements; one of the two is 1.
  int64_t b_row = 0, b_column = 0;
  Ref a, b, c;  // C is contiguous
  int num_threads = 1;
};

class IntMatmulStep : public Step {
 public:
  explicit IntMatmulStep(const IntMatmulShape& shape) : s_(shape) {}
  bool Run(Frame& frame) override;
  std::string_view name() const override { return "matmul_int"; }

 private:
  template <typename A>
  void MultiplyColumns(Frame& frame, int64_t begin, int64_t end) const;

  const IntMatmulShape s_;
};

}  // namespace tenon::cpu
