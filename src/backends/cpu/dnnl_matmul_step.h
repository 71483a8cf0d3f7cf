// A matrix product that oneDNN has described, as a step of a plan: the same for
// every type of its operands.
#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>

#include "backends/cpu/dnnl_matmul.h"

namespace tenon::cpu {

// `plain_b` is how B lies in memory; where `desc` wants it otherwise, it is
// packed, and the step has the second name. Null when B can't be packed. The
// names outlive the step.
std::unique_ptr<DnnlMatmul> MakeDnnlMatmul(
    const dnnl::matmul::primitive_desc& desc, const MatmulShape& shape,
    const dnnl::memory::desc& plain_b, std::string_view name,
    std::string_view packed_name, const WeightSource& source,
    PackedWeights& weights);

}  // namespace tenon::cpu
