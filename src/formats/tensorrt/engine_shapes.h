// What an engine's metadata says of its boundary: Torch-TensorRT pickles there
// the shapes and dtypes that the region had when it was compiled.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/kinds.h"

namespace tenon {

struct EngineTensor {
  DType dtype = DType::kUnknown;
  size_t rank = 0;
  bool is_scalar = false;  // was a number; the engine takes it as a tensor
};

struct EngineShapes {
  std::vector<EngineTensor> inputs;
  // Those of the region; outputs that only show what was written aren't there.
  std::vector<EngineTensor> outputs;
};

// nullopt when the metadata isn't of that form: other producers keep other
// things there. Nothing in it is executed.
std::optional<EngineShapes> ReadEngineShapes(std::string_view metadata);

}  // namespace tenon
