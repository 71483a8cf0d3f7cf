// ONNX models as bytes (docs/formats/onnx.md).
#pragma once

#include <string>

#include "diag/diagnostics.h"
#include "formats/onnx/onnx_model.h"
#include "support/byte_cursor.h"
#include "support/expected.h"

namespace tenon::onnx {

// A protobuf message can't be larger.
constexpr uint64_t kMaxModelBytes = (uint64_t{1} << 31) - 1;

// Fields in ascending order: equal models give equal bytes.
std::string WriteModel(const Model& model);

// Strict: a field that onnx.proto has and the model's structs haven't is an
// error that names it, as leaving it out would make another model. `file_name`
// stands in messages. Names aren't resolved.
Expected<Model> ReadModel(Bytes bytes, const std::string& file_name,
                          Diagnostics& diags);

}  // namespace tenon::onnx
