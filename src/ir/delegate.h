// A compiled region (rules D-1 to D-6).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ir/ids.h"
#include "support/byte_cursor.h"
#include "support/hash.h"

namespace tenon {

enum class WriteKind : uint8_t { kUser, kKvCacheUpdate };

// After the call, output `output` is input `input`'s storage, written in place.
struct DeclaredWrite {
  uint32_t input = 0;
  uint32_t output = 0;
  WriteKind kind = WriteKind::kUser;
  friend bool operator==(const DeclaredWrite&, const DeclaredWrite&) = default;
};

// One payload may serve several calls. Calls pass `inputs` by position and get
// `outputs` by position; binding names are labels for the backend.
struct Delegate {
  StringId name;     // the region's label, unique in the program
  StringId backend;  // "cpu", "echo", "tensorrt", ...
  Bytes payload;
  std::shared_ptr<const void> payload_owner;
  Digest payload_digest;
  // The graph that the payload was compiled from: what the call means. Invalid
  // when unknown (an engine from outside).
  GraphId source;
  std::vector<TypeId> inputs;
  std::vector<TypeId> outputs;
  std::vector<DeclaredWrite> writes;
  // Empty, or one per input / output.
  std::vector<StringId> input_names;
  std::vector<StringId> output_names;
  // What the backend's own format says beside all this, key and text, verbatim
  // and in the format's order: so that writing it gives the same again.
  std::vector<std::pair<StringId, StringId>> metadata;
};

}  // namespace tenon
