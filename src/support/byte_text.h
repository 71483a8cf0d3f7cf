// Sizes as people read them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>

namespace tenon {

// "512 B", "1.5 MiB".
inline std::string ByteText(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.1f %s", value, kUnits[unit]);
  return buffer;
}

}  // namespace tenon
