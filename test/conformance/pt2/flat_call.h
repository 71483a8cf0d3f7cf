// Recorded calls as flat lists of arrays, for runtimes that know no structures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conformance/pt2/manifest.h"
#include "formats/tensor/safetensors.h"
#include "ir/program.h"
#include "tensor/value.h"

namespace tenon::conformance {

// A value as an array: numbers are of rank 0, text is uint8; undefined for
// None.
Tensor AsArray(const RuntimeValue& value);

// Adds PREFIX0, PREFIX1, ..; what has no array is left out.
void AddArrays(const std::vector<RuntimeValue>& values,
               const std::string& prefix, Safetensors* out);

// With tensors of their own.
std::vector<RuntimeValue> Copies(const std::vector<RuntimeValue>& values);

// The user inputs of a recorded call, in the program's order; nothing, with
// `error`, when the record can't be read.
std::optional<std::vector<RuntimeValue>> FlatInputs(
    const Program& program, const RecordedRun& run,
    const Safetensors& recording, std::string* error);

}  // namespace tenon::conformance
