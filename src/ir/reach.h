// How far a strided tensor reaches into its storage.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/type.h"

namespace tenon {

// Bytes from the storage's start to the end of the last element, 0 when there
// are no elements; nullopt when that overflows, or when a size, a stride or the
// offset is negative. All of them must be literals.
std::optional<uint64_t> ReachBytes(const Type& type);

}  // namespace tenon
