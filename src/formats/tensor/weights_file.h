// Files of weights: one .safetensors, or several behind an index.
//
// The index is what transformers and diffusers write beside large models:
//
//   {"metadata": {...},
//    "weight_map": {"model.embed": "model-00001-of-00002.safetensors", ...}}
//
// Each tensor lies in the file that the map names, which stands in the index's
// own folder.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "diag/diagnostics.h"
#include "formats/tensor/safetensors.h"
#include "support/expected.h"

namespace tenon {

// Tensors by name, over mapped files. No payload is touched before a caller
// reads it.
class WeightsFile {
 public:
  struct Item {
    SafetensorsItem tensor;
    std::shared_ptr<const void> owner;  // keeps the bytes mapped
  };

  // By content: a file that begins like JSON is an index.
  static Expected<WeightsFile> Open(const std::string& path,
                                    Diagnostics& diags);

  // In the order of the files, and in each of its header.
  const std::vector<Item>& items() const { return items_; }
  // Of all files.
  const std::vector<std::pair<std::string, std::string>>& metadata() const {
    return metadata_;
  }
  // Null when there is none of that name.
  const Item* Find(std::string_view name) const;
  const std::string& path() const { return path_; }

 private:
  Status AddFile(const std::string& path, Diagnostics& diags);
  Status AddShards(Bytes index, Diagnostics& diags);

  std::string path_;
  std::vector<Item> items_;
  std::vector<std::pair<std::string, std::string>> metadata_;
  std::unordered_map<std::string, size_t> by_name_;
};

}  // namespace tenon
