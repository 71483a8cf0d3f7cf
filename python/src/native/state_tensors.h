// torch tensors as the tensors of a hybrid document, without copying.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "formats/tensor/safetensors.h"
#include "ir/type.h"
#include "torch_objects.h"

namespace tenon::python {

class StateTensors {
 public:
  // The key of the tensor: one per storage, view and dtype, so that tied
  // weights share it. Bytes stay where they are, kept by a reference to the
  // tensor; those that lie on no CPU, or nowhere, are known by size only.
  // `place` is for messages.
  std::string Add(PyObject* tensor, const std::string& place);
  // A payload's bytes: any object with a contiguous buffer.
  std::string AddBytes(PyObject* buffer, const std::string& place);
  // "" for the CPU.
  static std::string DeviceOf(PyObject* tensor);

  const Safetensors& all() const { return all_; }
  // The torch tensor behind such a view; borrowed, null when there is none.
  PyObject* Find(const Bytes& storage, const Type& type) const;

 private:
  Safetensors all_;
  std::vector<nb::object> objects_;                    // one per tensor
  std::unordered_map<std::string, std::string> keys_;  // by view
  std::unordered_map<int64_t, std::shared_ptr<Storage>> storages_;
};

// Keeps a Python object alive from code that may drop it on any thread.
std::shared_ptr<const void> Keep(PyObject* object);

}  // namespace tenon::python
