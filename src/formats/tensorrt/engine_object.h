// The object that holds an engine in a program: what PyTorch pickled of
// torch.classes.tensorrt.Engine, or of Torch-TensorRT's Python classes.
//
// Pickles are taken apart, never run.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "diag/diagnostics.h"
#include "formats/tensorrt/engine_record.h"
#include "support/byte_cursor.h"
#include "support/expected.h"

namespace tenon {

// The classes that can be written, as programs name them.
constexpr std::string_view kTorchScriptEngineClass =
    "__torch__.torch.classes.tensorrt.Engine";
constexpr std::string_view kPythonEngineClass =
    "torch_tensorrt.dynamo.runtime._TRTEngine.TRTEngine";

// The record's strings inside the object's bytes: a TorchScript container, or a
// bare pickle. They are borrowed from `bytes`, which `owner` keeps.
Expected<EngineStrings> ReadEngineObject(Bytes bytes,
                                         std::shared_ptr<const void> owner,
                                         const Place& place,
                                         Diagnostics& diags);

// The bytes of an object of the class with these 13 strings, as PyTorch would
// write it. Another class is an error.
Expected<std::string> WriteEngineObject(std::span<const std::string> fields,
                                        std::string_view class_name,
                                        const Place& place, Diagnostics& diags);

}  // namespace tenon
