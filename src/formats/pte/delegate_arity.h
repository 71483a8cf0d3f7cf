// How many of a delegate call's arguments are results.
#pragma once

#include <cstdint>
#include <optional>

#include "formats/pte/pte_program.h"

namespace tenon::pte {

// What the payload says: of XNNPACK's delegate, Tenon's, TensorRT's and, where
// it runs a region of Tenon, CUDA's. Nothing for others, and for payloads that
// aren't what they should be.
std::optional<uint32_t> NumDelegateOutputs(const PteProgram& program,
                                           const PteDelegate& delegate);

}  // namespace tenon::pte
