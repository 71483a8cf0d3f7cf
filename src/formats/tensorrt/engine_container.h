// The payload of ExecuTorch's TensorRT delegate: an engine, and by which names
// it binds the arguments of a call (docs/formats/tensorrt.md).
//
//   0  "TR01", or "TR02" when outputs are aliased   4  u32 metadata at, 32
//   8  u32 bytes of the metadata                   12  u32 engine at
//  16  u64 bytes of the engine                     24  8 bytes, 01 00 .. 00
//  32  metadata, JSON; zeros up to a multiple of 16; the engine
//
// The delegate scans the metadata forward with a reader of its own, so the key
// io_bindings comes first and names are plain.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostics.h"
#include "formats/tensorrt/engine_record.h"
#include "support/byte_cursor.h"
#include "support/expected.h"

namespace tenon {

struct EngineBinding {
  std::string name;
  // "" and empty: not stated; the delegate asks the engine. -1 is a dimension
  // that varies.
  std::string dtype;
  std::vector<int64_t> shape;
  friend bool operator==(const EngineBinding&, const EngineBinding&) = default;
};

struct EngineContainer {
  // Arguments of the call are inputs, then outputs, in this order.
  std::vector<EngineBinding> inputs, outputs;
  std::vector<EngineAlias> aliases;
  bool hardware_compatible = false;
  int64_t device_id = 0;  // CUDA's ordinal
  std::string serialized_metadata;
  std::string target_platform;  // a published token, or ""
  Bytes engine;                 // when read, part of what was read
};

// Whether `payload` begins as a container does.
bool IsEngineContainer(Bytes payload);

// TRT-04 for bytes that aren't a whole container, TRT-03 for aliases that can't
// be. Reads what published exporters write, whichever keys they add.
Expected<EngineContainer> ReadEngineContainer(Bytes payload, const Place& place,
                                              Diagnostics& diags);

// The same checks, before anything is written.
Expected<std::vector<std::byte>> WriteEngineContainer(
    const EngineContainer& container, const Place& place, Diagnostics& diags);

// The name of the n-th input or output of a region whose engine was built for
// Tenon: "input_0", "output_0". Positions, as names decide nothing (P-4).
std::string InputBindingName(size_t n);
std::string OutputBindingName(size_t n);

}  // namespace tenon
