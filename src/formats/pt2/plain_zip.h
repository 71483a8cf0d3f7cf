// What layout A calls the members that the others keep in folders.
#pragma once

#include <string>
#include <string_view>

namespace tenon::plain_zip {

inline constexpr std::string_view kModel = "serialized_exported_program.json";
inline constexpr std::string_view kWeights = "serialized_state_dict.pt";
inline constexpr std::string_view kConstants = "serialized_constants.pt";
inline constexpr std::string_view kExampleInputs =
    "serialized_example_inputs.pt";
inline constexpr std::string_view kVersion = "version";

// What a carried member is called in the newer layouts, and back; "" for what
// has no counterpart there.
std::string NameInFolders(std::string_view name);
std::string NameFromFolders(std::string_view name);

}  // namespace tenon::plain_zip
