// What a .safetensors file says of storages that its tensors shared
// (write_weights.h).
#pragma once

#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "formats/tensor/weights_file.h"
#include "support/expected.h"

namespace tenon {

// The names over each storage that had several, in the record's order; empty
// where the file has no record. An error where the record isn't as documented.
Expected<std::vector<std::vector<std::string>>> ReadSharing(
    const WeightsFile& file, Diagnostics& diags);

}  // namespace tenon
