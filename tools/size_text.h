// Sizes and counts as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::tools {

// "512 B", "1.5 MiB".
std::string ByteText(uint64_t bytes);
// "1 node", "2 nodes".
std::string Count(uint64_t n, std::string_view noun);

}  // namespace tenon::tools
