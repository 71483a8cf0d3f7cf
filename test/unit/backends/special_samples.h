// Tensors that operators get wrong: not finite, empty, 0-d, strided.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/elements.h"
#include "kernels/views.h"
#include "region_builder.h"

namespace tenon {

// Infinities, NaN, both zeros, equal elements.
inline Tensor SpecialFloats(DType dtype) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<double> values = {1,  inf, -inf, NAN, 0.,  -0., 1,
                                      2,  -3,  2,    inf, NAN, 5,   -3,
                                      0., 7.,  2,    1,   -1,  4};
  Tensor t = Tensor::Empty(DType::kFloat64, {4, 5});
  WriteAll(&t, values);
  return Cast(t, dtype);
}

// Of one dtype, in three dimensions or fewer.
inline std::vector<Tensor> Samples(RandomTensors& random, DType dtype) {
  const auto make = [&](Sizes sizes) {
    return IsFloating(dtype)
               ? Cast(random.Floats(std::move(sizes)), dtype)
               : Cast(random.Ints(std::move(sizes), -5, 5), dtype);
  };
  const Tensor whole = make({6, 8});
  std::vector<Tensor> samples = {make({7}), make({3, 4, 5}),
                                 Transposed(make({4, 3, 5}), 0, 2),
                                 Narrowed(whole, 1, 1, 3, 2), make({2, 0, 3})};
  if (IsFloating(dtype)) samples.push_back(SpecialFloats(dtype));
  return samples;
}

}  // namespace tenon
