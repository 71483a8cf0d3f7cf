// The state of a hybrid document: entries by full path over the storages of
// its safetensors file.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "formats/json/json_input.h"
#include "formats/tensor/safetensors.h"

namespace tenon::hybrid {

class StateReader {
 public:
  StateReader(const JsonInput& json, const Safetensors& tensors,
              Program* program);

  // Entries with one key share a storage.
  Status Read(const JsonElement& state, const JsonPath& path);

  // Invalid when there is none of that full path.
  StateId Find(std::string_view fqn) const;

  // Null when the document has no tensor of that key.
  const Tensor* FindTensor(std::string_view key) const;

  // The constant that stands for a tensor literal; one per key.
  Expected<StateId> Literal(std::string_view key, const JsonPath& path);

 private:
  Status ReadEntry(std::string_view fqn, const JsonElement& e,
                   const JsonPath& path);
  Expected<StorageId> AddStorage(std::string_view key, const JsonPath& path);
  Expected<StorageId> StorageOf(std::string_view key, const JsonPath& path);
  TypeId TypeOf(const Tensor& tensor, bool requires_grad);

  const JsonInput& json_;
  std::unordered_map<std::string_view, const Tensor*> tensors_;
  Program& program_;
  std::unordered_map<std::string, StorageId> storages_;  // by key
  std::unordered_map<const Storage*, StorageId> views_;
  std::unordered_map<std::string, StateId> by_fqn_, literals_;
};

}  // namespace tenon::hybrid
