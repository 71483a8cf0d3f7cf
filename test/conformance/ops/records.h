// The encoding of recorded operator calls: JSON values that point into the
// storages of a safetensors file.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>

#include "formats/tensor/safetensors.h"
#include "tensor/value.h"

namespace tenon {

// A recorded tensor; its geometry counts even where its values don't.
struct RecordedTensor {
  Tensor tensor;
  bool has_values = true;
  // The argument that shares its storage: a position or a keyword, "" = none.
  std::string alias;
};

// Each returns nullopt on text that the encoding doesn't allow.
//
// A tensor gets a storage of its own, copied from the file, so that calls may
// write it.
std::optional<RecordedTensor> DecodeTensor(simdjson::dom::element value,
                                           const Safetensors& storages);
std::optional<RuntimeValue> DecodeValue(simdjson::dom::element value,
                                        const Safetensors& storages);

// The only key of a value that says its kind: "t", "i", "list", ...; "" when
// it isn't a value.
std::string_view ValueKind(simdjson::dom::element value);

}  // namespace tenon
