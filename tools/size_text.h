// Sizes as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::tools {

// "512 B", "1.5 MiB".
std::string ByteText(uint64_t bytes);

}  // namespace tenon::tools
