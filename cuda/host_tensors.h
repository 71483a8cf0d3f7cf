// The tensors of ExecuTorch's CUDA delegate, through the functions that it
// offers to libraries like this one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon_cuda {

struct HostTensor;  // owned by the delegate
using TensorHandle = HostTensor*;

struct TensorView {
  void* data = nullptr;
  int32_t dtype = 0;  // PyTorch's ScalarType number
  std::vector<int64_t> sizes;
  bool is_contiguous = true;
};

class HostTensors {
 public:
  // Looked up once. Null, with `error` set, when the process has no such
  // functions.
  static const HostTensors* Get(std::string* error);

  // False when the delegate refuses to say.
  bool Describe(TensorHandle tensor, TensorView* out) const;
  void Delete(TensorHandle tensor) const;
  // Another tensor over the same memory; null when there is none.
  TensorHandle Resized(TensorHandle tensor, const TensorView& view) const;

 private:
  using GetPointer = int32_t (*)(TensorHandle, void**);
  using GetSizes = int32_t (*)(TensorHandle, int64_t**);
  using GetNumber = int32_t (*)(TensorHandle, int64_t*);
  using GetCode = int32_t (*)(TensorHandle, int32_t*);
  using DeleteTensor = int32_t (*)(TensorHandle);
  using FromBlob = int32_t (*)(void*, int64_t, const int64_t*, const int64_t*,
                               int64_t, int32_t, int32_t, int32_t,
                               TensorHandle*);

  GetPointer data_ = nullptr;
  GetSizes sizes_ = nullptr, strides_ = nullptr;
  GetNumber dim_ = nullptr;
  GetCode dtype_ = nullptr, device_type_ = nullptr, device_index_ = nullptr;
  DeleteTensor delete_ = nullptr;
  FromBlob from_blob_ = nullptr;
};

// Tells the host's log, or the standard error output where it has none.
void Warn(const std::string& message);

}  // namespace tenon_cuda
