// Products of float32 with a matrix of 4 bits per element, in PyTorch's int4
// pack (kernels/int4_layout.h), with a scale and a zero point per column and
// group of rows. The pack is read as it is stored: columns that lie together
// are widened into a block that fits into the cache, and multiplied.
#pragma once

#include "backends/cpu/plan.h"
#include "kernels/int4_layout.h"

namespace tenon::cpu {

struct Int4MatmulShape {
  int64_t m = 0, n = 0, k = 0;  // n is even
  int64_t a_row = 0;
  int64_t group = 0;  // rows of B that share their parameters; divides k
  Ref a, c;           // C is contiguous
  Ref b;              // the pack of the transposed B, [n, k / 2]
  Ref parameters;     // float32 [k / group, n, 2]: scales, and what is added
  // That run it; each has scratch memory of its own.
  int num_threads = 1;
};

class Int4MatmulStep : public Step {
 public:
  static int64_t ScratchBytes(const Int4MatmulShape& shape);

  // `scratch` is 64-byte aligned.
  Int4MatmulStep(const Int4MatmulShape& shape, Ref scratch)
      : s_(shape), layout_(shape.n, shape.k), scratch_(scratch) {}
  bool Run(Frame& frame) override;
  std::string_view name() const override { return "matmul_int4"; }

 private:
  void MultiplyRun(Frame& frame, int64_t first, const Int4Layout::Run& run,
                   float* wide) const;

  const Int4MatmulShape s_;
  const Int4Layout layout_;
  const Ref scratch_;
};

}  // namespace tenon::cpu
