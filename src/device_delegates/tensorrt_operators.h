// Which operators of a lowered program TensorRT has layers for.
#pragma once

#include <string_view>

namespace tenon {

// By overload packet: "aten.add". What TensorRT leaves out stays out: bitwise
// operators, shifts, sorting, unique, random numbers, Fourier transforms,
// determinants.
bool HasTensorRtLayer(std::string_view packet);

}  // namespace tenon
