// A .pt2 with a weight of any size that takes no room: the weight is a hole.
#pragma once

#include <cstdint>
#include <string>

namespace tenon {

// Writes a program at `path`: it adds 1 to its input and has a parameter "w" of
// `numel` elements of `bytes_each` bytes (1 or 4), all of them zero. False when
// the file system says no.
bool WriteSparseArchive(const std::string& path, uint64_t numel,
                        uint64_t bytes_each);

}  // namespace tenon
