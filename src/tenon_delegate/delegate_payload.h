// The payload of Tenon's own delegate in a .pte: a region of backend `cpu`, and
// which of its inputs are data that the file names.
//
//   tenon-delegate 1\n
//   outputs 2\n
//   constant 3 float32 64,128 tenon_5d41402abc4b2a76b9719d911017c592\n
//   \n
//   <payload of backend cpu>
//
// A constant is contiguous; its sizes stand with commas between, "-" for none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "ir/kinds.h"
#include "support/byte_cursor.h"
#include "support/expected.h"
#include "tensor/tensor.h"

namespace tenon {

struct DelegateConstant {
  uint32_t input = 0;  // of the region; ascending
  DType dtype = DType::kFloat32;
  Sizes sizes;
  std::string key;
};

struct DelegatePayload {
  uint32_t num_outputs = 0;  // of the region
  std::vector<DelegateConstant> constants;
  Bytes region;  // when read, part of what was read
};

std::vector<std::byte> WriteDelegatePayload(const DelegatePayload& payload);

// An error for bytes that don't begin like this: T-TEXT.
Expected<DelegatePayload> ReadDelegatePayload(Bytes bytes, Diagnostics& diags);

}  // namespace tenon
