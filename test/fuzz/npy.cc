// NumPy's arrays.
#include "formats/tensor/npy.h"

#include "fuzz/target.h"

namespace tenon::fuzz {

void FuzzNpy(Bytes bytes) {
  Diagnostics diags;
  const auto tensor = ReadNpy(bytes, nullptr, "fuzz", diags);
  if (tensor) {
    tensor->Clone();  // touches every element
  } else {
    Expect(diags.has_errors(), "a refusal to read says why");
  }
}

}  // namespace tenon::fuzz
