// Numbers of things in messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

// "1 node", "2 nodes". For nouns whose plural ends so.
inline std::string Count(uint64_t n, std::string_view noun) {
  return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

}  // namespace tenon
