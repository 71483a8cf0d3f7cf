// torch.save payloads: dicts of plain tensors, read (rule V-FILE-07) and
// written.
//
// A payload is a zip container like a .pt2 of its own: data.pkl describes the
// tensors, data/<i> are the storages. What was written reads back as the same
// dict; a dict that PyTorch wrote is written with the pickle that it had, byte
// for byte.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostics.h"
#include "formats/zip/zip_reader.h"
#include "formats/zip/zip_writer.h"
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
  // Sparse tensors have strided parts in place of a storage, offset, strides:
  // indices and values (coo), or compressed indices, plain indices and values.
  Layout layout = Layout::kStrided;
  std::vector<SavedTensor> parts;
  // Of sparse_coo, as far as the payload says.
  std::optional<bool> is_coalesced;

  friend bool operator==(const SavedTensor&, const SavedTensor&) = default;
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
// build plain tensors, sparse ones and parameters is an error that names it. A
// call with attached state is read without that state. A tensor marked as a
// lazy conjugate or negative is computed, with a note.
Expected<SavedDict> ReadTorchSave(Bytes bytes,
                                  std::shared_ptr<const void> owner,
                                  const std::string& name, Diagnostics& diags,
                                  const ReadLimits& limits = {});
// The same for a payload that is one tensor; it is the dict's only entry and
// is called "".
Expected<SavedDict> ReadSavedTensor(Bytes bytes,
                                    std::shared_ptr<const void> owner,
                                    const std::string& name, Diagnostics& diags,
                                    const ReadLimits& limits = {});

// Adds the members of a payload to an open container, whose root should be
// "archive". Entries that are equal, storage included, become one tensor, as
// tied weights are. Each storage must be seen as one dtype, as PyTorch wants
// it. False with the container's error() set on failure.
bool WriteTorchSave(const SavedDict& dict, ZipWriter* zip);
// The same for a dict with one entry, as the bare tensor.
bool WriteSavedTensor(const SavedDict& dict, ZipWriter* zip);

// The pickle inside a payload: of a zip container its data.pkl, else the
// payload itself.
Expected<ZipContent> FindPickle(Bytes bytes, const std::string& name,
                                Diagnostics& diags,
                                const ReadLimits& limits = {});

// "FloatStorage" -> float32. Quantised kinds have no dtype of ours.
std::optional<DType> DTypeOfStorageClass(std::string_view name);
// The inverse; "" for dtypes without a class, whose storages are untyped.
std::string_view StorageClassOf(DType dtype);
// "float8_e5m2": a dtype as an attribute of the torch module.
std::optional<DType> FindTorchDType(std::string_view name);

}  // namespace tenon
