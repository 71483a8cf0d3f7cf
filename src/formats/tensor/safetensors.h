// The safetensors format: named dense tensors behind a JSON header.
//
//   u64      header size, little-endian
//   JSON     {"name": {"dtype": "F32", "shape": [2, 3],
//                      "data_offsets": [begin, end]}, ...,
//             "__metadata__": {"key": "text"}}
//   bytes    the payloads, row-major, at offsets relative to their begin
//
// The payloads tile the bytes after the header: no gaps, no overlaps, nothing
// behind the last one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diag/diagnostics.h"
#include "support/byte_cursor.h"
#include "support/expected.h"
#include "tensor/tensor.h"

namespace tenon {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

struct Safetensors {
  std::vector<NamedTensor> tensors;  // in the header's order
  std::vector<std::pair<std::string, std::string>> metadata;

  // Null when there is none of that name.
  const Tensor* Find(std::string_view name) const;
};

// One payload, as the header lists it.
struct SafetensorsItem {
  std::string name;
  DType dtype = DType::kUnknown;
  Sizes sizes;
  Bytes bytes;  // of the file; aligned to nothing
};

struct SafetensorsIndex {
  std::vector<SafetensorsItem> items;  // in the header's order
  std::vector<std::pair<std::string, std::string>> metadata;
};

// Reads the header and touches no payload.
Expected<SafetensorsIndex> ReadSafetensorsIndex(Bytes bytes,
                                                const std::string& file,
                                                Diagnostics& diags);

// Whether the format has a name for the dtype: not for complex32, complex128.
bool HasSafetensorsName(DType dtype);

// The tensors borrow `bytes`, which `keep_alive` holds; a payload that isn't
// aligned for its dtype is copied. `file` names the bytes in diagnostics.
Expected<Safetensors> ReadSafetensors(
    Bytes bytes, const std::shared_ptr<const void>& keep_alive,
    const std::string& file, Diagnostics& diags);
// The same over a mapped file.
Expected<Safetensors> OpenSafetensors(const std::string& path,
                                      Diagnostics& diags);

// Writes in the order given, block by block; strided tensors become row-major.
// The header is padded so that payloads start at a multiple of 8. Kinds that
// the format lacks (complex128, complex32) are an error.
Status WriteSafetensors(const std::string& path, const Safetensors& content,
                        Diagnostics& diags);

}  // namespace tenon
