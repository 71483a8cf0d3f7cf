// CRC-32 as zip has it.
#pragma once

#include <cstdint>

#include "support/byte_cursor.h"

namespace tenon {

// Over bytes of any length. `crc` continues an earlier one.
uint32_t ZipCrc(Bytes bytes, uint32_t crc = 0);

}  // namespace tenon
