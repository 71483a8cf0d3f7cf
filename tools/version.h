#pragma once

#include <string_view>

namespace tenon::tools {

// Set by the build from the project's version.
inline constexpr std::string_view kVersion = TENON_VERSION;

}  // namespace tenon::tools
