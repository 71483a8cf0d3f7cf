#include "host_tensors.h"

#include <dlfcn.h>

#include <cstdio>

namespace tenon_cuda {
namespace {

// libtorch has functions of the same names; the delegate's own are in its
// library.
constexpr char kShims[] = "libaoti_cuda_shims.so";

void* Find(const char* name) {
  static void* const shims = dlopen(kShims, RTLD_LAZY | RTLD_NOLOAD);
  void* const from = shims != nullptr ? shims : RTLD_DEFAULT;
  const std::string prefixed = std::string("executorch_") + name;
  if (void* const symbol = dlsym(from, prefixed.c_str())) return symbol;
  return dlsym(from, name);
}

template <typename Function>
bool Set(const char* name, Function* out, std::string* error) {
  *out = reinterpret_cast<Function>(Find(name));
  if (*out == nullptr && error->empty()) {
    *error = std::string("the host has no function ") + name;
  }
  return *out != nullptr;
}

}  // namespace

const HostTensors* HostTensors::Get(std::string* error) {
  static std::string missing;
  static const HostTensors* const found = [] {
    static HostTensors tensors;
    const bool has_all =
        Set("aoti_torch_get_data_ptr", &tensors.data_, &missing) &&
        Set("aoti_torch_get_sizes", &tensors.sizes_, &missing) &&
        Set("aoti_torch_get_strides", &tensors.strides_, &missing) &&
        Set("aoti_torch_get_dim", &tensors.dim_, &missing) &&
        Set("aoti_torch_get_dtype", &tensors.dtype_, &missing) &&
        Set("aoti_torch_get_device_type", &tensors.device_type_, &missing) &&
        Set("aoti_torch_get_device_index", &tensors.device_index_, &missing) &&
        Set("aoti_torch_delete_tensor_object", &tensors.delete_, &missing) &&
        Set("aoti_torch_create_tensor_from_blob", &tensors.from_blob_,
            &missing);
    return has_all ? &tensors : nullptr;
  }();
  if (found == nullptr) *error = missing;
  return found;
}

bool HostTensors::Describe(TensorHandle tensor, TensorView* out) const {
  int64_t dim = 0, *sizes = nullptr, *strides = nullptr;
  if (data_(tensor, &out->data) != 0 || dtype_(tensor, &out->dtype) != 0 ||
      dim_(tensor, &dim) != 0 || sizes_(tensor, &sizes) != 0 ||
      strides_(tensor, &strides) != 0) {
    return false;
  }
  out->sizes.assign(sizes, sizes + dim);
  int64_t step = 1;
  for (int64_t d = dim - 1; d >= 0; --d) {
    if (sizes[d] != 1 && strides[d] != step) out->is_contiguous = false;
    step *= sizes[d];
  }
  if (step == 0) out->is_contiguous = true;
  return true;
}

void HostTensors::Delete(TensorHandle tensor) const { delete_(tensor); }

TensorHandle HostTensors::Resized(TensorHandle tensor,
                                  const TensorView& view) const {
  int32_t device_type = 0, device_index = 0;
  if (device_type_(tensor, &device_type) != 0 ||
      device_index_(tensor, &device_index) != 0) {
    return nullptr;
  }
  std::vector<int64_t> strides(view.sizes.size(), 1);
  for (size_t d = view.sizes.size(); d-- > 1;) {
    strides[d - 1] = strides[d] * view.sizes[d];
  }
  TensorHandle made = nullptr;
  const int32_t failed = from_blob_(
      view.data, static_cast<int64_t>(view.sizes.size()), view.sizes.data(),
      strides.data(), 0, view.dtype, device_type, device_index, &made);
  return failed == 0 ? made : nullptr;
}

void Warn(const std::string& message) {
  using WarnFunction =
      void (*)(const char*, const char*, uint32_t, const char*);
  const auto warn = reinterpret_cast<WarnFunction>(Find("aoti_torch_warn"));
  const std::string text = "libtenon_delegate: " + message;
  if (warn != nullptr) {
    warn("libtenon_delegate", "container.cc", 0, text.c_str());
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
}

}  // namespace tenon_cuda
