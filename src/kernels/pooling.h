// The windows of pooling, over three spatial dimensions; fewer are padded with
// leading ones.
#pragma once

#include "kernels/kernel.h"

namespace tenon {

struct PoolAxis {
  int64_t size = 1;  // of the input
  int64_t out = 1;
  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;
};

struct PoolGeometry {
  PoolAxis axes[3];
  int64_t planes = 1;  // batch times channels
  int64_t spatial = 1;
  Sizes out_sizes;  // of the result

  int64_t in_plane() const {
    return axes[0].size * axes[1].size * axes[2].size;
  }
  int64_t out_plane() const { return axes[0].out * axes[1].out * axes[2].out; }
};

// Kernel, stride (empty: the kernel), padding and dilation have one entry, or
// one per spatial dimension. `input` has spatial + 1 or spatial + 2
// dimensions.
bool MakePoolGeometry(KernelCall& call, const Tensor& input, int64_t spatial,
                      const Sizes& kernel, const Sizes& stride,
                      const Sizes& padding, const Sizes& dilation,
                      bool ceil_mode, PoolGeometry* out);

// Rank, and that only the batch may be empty.
bool CheckPoolInput(KernelCall& call, const Tensor& input, int64_t spatial);

// Calls f(position in the output plane, z, y, x) for all output positions.
template <typename F>
void ForEachOutput(const PoolGeometry& g, F f) {
  int64_t at = 0;
  for (int64_t z = 0; z < g.axes[0].out; ++z) {
    for (int64_t y = 0; y < g.axes[1].out; ++y) {
      for (int64_t x = 0; x < g.axes[2].out; ++x) f(at++, z, y, x);
    }
  }
}

}  // namespace tenon
