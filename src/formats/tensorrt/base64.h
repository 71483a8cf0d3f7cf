// The encoding in which engine bytes travel inside strings: RFC 4648, with
// padding, without line breaks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/byte_cursor.h"

namespace tenon {

std::string EncodeBase64(Bytes bytes);

// nullopt unless `text` is what EncodeBase64 gives for some bytes: so encoding
// the result gives `text` again.
std::optional<std::vector<std::byte>> DecodeBase64(std::string_view text);

}  // namespace tenon
