// Arithmetic of sizes whose results need no new expression.
#pragma once

#include <vector>

#include "analysis/infer.h"

namespace tenon {

// Size `d` of the type, from the end when negative; in range.
inline InferredSize SizeAt(const Type& t, int64_t d) {
  return InferredSize::Of(
      t.sizes[static_cast<size_t>(d < 0 ? d + t.rank() : d)]);
}

// Unknown unless both are literals, or one changes nothing.
InferredSize Plus(const InferredSize& a, const InferredSize& b);
InferredSize Minus(const InferredSize& a, const InferredSize& b);
InferredSize Times(const InferredSize& a, const InferredSize& b);
// Rounded down; by a literal above 0.
InferredSize DividedBy(const InferredSize& a, int64_t divisor);
InferredSize Smaller(const InferredSize& a, const InferredSize& b);

// Whether both are known to be equal, or known to differ.
bool AreEqual(const InferredSize& a, const InferredSize& b);
bool Differ(const InferredSize& a, const InferredSize& b);

// A product of sizes: its literal part and its expressions.
class SizeProduct {
 public:
  void Times(const InferredSize& s);
  // The product as one size.
  InferredSize AsSize() const;
  // The size that is missing in `part` to make this; unknown where it would
  // need a new expression.
  InferredSize Missing(const SizeProduct& part) const;

 private:
  int64_t literal_ = 1;
  std::vector<ExprId> exprs_;
  bool is_known_ = true;
};

// The product of all sizes of the type.
SizeProduct NumElements(const Type& t);

// The places at which a window fits, as convolutions and pools count them:
// floor((size + 2 padding - dilation (kernel - 1) - 1) / stride) + 1. Rounded
// up, the last must start inside the input or the padding before it.
struct WindowShape {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padding = 0;  // at each side
  int64_t dilation = 1;
  bool round_up = false;
};
InferredSize NumWindows(const InferredSize& size, const WindowShape& window);
// What a transposed convolution makes of a size.
InferredSize Spread(const InferredSize& size, const WindowShape& window,
                    int64_t output_padding);

}  // namespace tenon
