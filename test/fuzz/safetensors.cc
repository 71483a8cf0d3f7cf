// Named tensors behind a JSON header.
#include "formats/tensor/safetensors.h"

#include "fuzz/target.h"

namespace tenon::fuzz {

void FuzzSafetensors(Bytes bytes) {
  Diagnostics diags;
  const auto content = ReadSafetensors(bytes, nullptr, "fuzz", diags);
  if (!content) {
    Expect(diags.has_errors(), "a refusal to read says why");
    return;
  }
  for (const NamedTensor& entry : content->tensors) {
    Expect(content->Find(entry.name) != nullptr, "a tensor is found by name");
    entry.tensor.Clone();  // touches every element
  }
}

}  // namespace tenon::fuzz
