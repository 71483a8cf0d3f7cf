// The record in which Torch-TensorRT keeps a compiled engine: 13 strings, in an
// object that the program holds or as arguments of a placeholder call
// (docs/formats/tensorrt.md).
//
// A record is read strictly: what is accepted is exactly what PrintEngineRecord
// gives back, byte for byte.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostics.h"
#include "ir/delegate.h"
#include "support/byte_cursor.h"
#include "support/expected.h"

namespace tenon {

// In the order of the record.
enum class EngineField : uint8_t {
  kAbiVersion,
  kName,
  kDevice,
  kEngine,
  kInputNames,
  kOutputNames,
  kHardwareCompatible,
  kMetadata,
  kPlatform,
  kOutputAllocator,
  kResourceStrategy,
  kMultiDevice,
  kAliasedIo,
};
constexpr size_t kNumEngineFields = 13;
// "abi_version", "input_binding_names", ...
std::string_view Name(EngineField field);

// The only version that has these 13 fields.
constexpr std::string_view kEngineAbiVersion = "10";

// The device that the engine was built for.
struct EngineDevice {
  int64_t id = 0;  // CUDA's ordinal
  int64_t major = 0;
  int64_t minor = 0;
  int64_t type = 0;  // 0 = GPU, 1 = DLA
  std::string name;
};

// Output `output` is the storage of input `input`, by binding names.
struct EngineAlias {
  std::string output;
  std::string input;
  WriteKind kind = WriteKind::kUser;
};

struct EngineRecord {
  std::string name;
  EngineDevice device;
  Bytes engine;
  std::shared_ptr<const void> engine_owner;
  std::vector<std::string> input_names;
  std::vector<std::string> output_names;
  bool hardware_compatible = false;
  std::string metadata;  // opaque here; see engine_shapes.h
  std::string platform;  // one of the published tokens
  bool requires_output_allocator = false;
  bool allocates_dynamically = false;
  bool requires_multi_device = false;
  std::vector<EngineAlias> aliases;  // each output and each input at most once
};

// The 13 strings as a file holds them, borrowed from `owner`.
struct EngineStrings {
  std::vector<std::string_view> fields;
  // The engine's field holds its bytes themselves, not base64 of them.
  bool engine_is_raw = false;
  std::shared_ptr<const void> owner;
};

// Reports every field that is wrong, by name (TRT-01, TRT-03).
Expected<EngineRecord> ParseEngineRecord(const EngineStrings& strings,
                                         const Place& place,
                                         Diagnostics& diags);

// The 13 strings, the engine in base64. Names that hold a delimiter are errors.
Expected<std::array<std::string, kNumEngineFields>> PrintEngineRecord(
    const EngineRecord& record, const Place& place, Diagnostics& diags);

// "id%major%minor%type%name".
std::string PrintEngineDevice(const EngineDevice& device);

// "kv_cache_update" or "user".
std::string_view AliasKindName(WriteKind kind);

}  // namespace tenon
