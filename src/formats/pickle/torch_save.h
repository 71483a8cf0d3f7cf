// Reads torch.save payloads: dicts of plain tensors (rule V-FILE-07).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostics.h"
#include "formats/zip/zip_reader.h"
#include "ir/kinds.h"
#include "support/byte_cursor.h"
#include "support/expected.h"

namespace tenon {

struct SavedTensor {
  DType dtype = DType::kUnknown;
  std::vector<int64_t> sizes, strides;
  int64_t storage_offset = 0;
  bool requires_grad = false;
  bool is_parameter = false;
  std::string device = "cpu";  // "cuda:0"
  // Index into SavedDict::storages.
  size_t storage = 0;
};

struct SavedStorage {
  Bytes bytes;
  std::shared_ptr<const void> owner;
};

struct SavedDict {
  std::vector<std::pair<std::string, SavedTensor>> tensors;  // in dict order
  // One per distinct storage; tensors that share one alias each other.
  std::vector<SavedStorage> storages;
};

// `name` stands in messages. Empty bytes are an empty dict. Storages are views
// of `bytes`, kept by `owner`. Nothing is executed: any call but those that
// build plain tensors and parameters is an error that names it. A call with
// attached state is read without that state.
Expected<SavedDict> ReadTorchSave(Bytes bytes,
                                  std::shared_ptr<const void> owner,
                                  const std::string& name, Diagnostics& diags);

// The pickle inside a payload: of a zip container its data.pkl, else the
// payload itself.
Expected<ZipContent> FindPickle(Bytes bytes, const std::string& name,
                                Diagnostics& diags);

// "FloatStorage" -> float32. Quantised kinds have no dtype of ours.
std::optional<DType> DTypeOfStorageClass(std::string_view name);
// "float8_e5m2": a dtype as an attribute of the torch module.
std::optional<DType> FindTorchDType(std::string_view name);

}  // namespace tenon
