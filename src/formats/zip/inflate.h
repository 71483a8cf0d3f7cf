// Inflates one deflated member.
#pragma once

#include <cstdint>
#include <string>

#include "diag/diagnostics.h"
#include "formats/zip/zip_reader.h"
#include "support/byte_cursor.h"
#include "support/expected.h"

namespace tenon {

// `in` has to expand to exactly `size_bytes` bytes, which are allocated at
// once: the caller bounds them. `name` stands in messages.
Expected<ZipContent> Inflate(Bytes in, uint64_t size_bytes,
                             const std::string& name, Diagnostics& diags);

}  // namespace tenon
