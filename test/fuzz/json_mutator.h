// Moves whole JSON values about: byte edits alone seldom leave JSON behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace tenon::fuzz {

// One value of the text, which needn't be JSON altogether, becomes another of
// its values or a literal of interest, is doubled, or is dropped. Without
// values the text stays as it is.
std::string MutateJson(std::string_view text, std::minstd_rand* random);

}  // namespace tenon::fuzz
