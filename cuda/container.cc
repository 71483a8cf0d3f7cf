// AOTInductor's container functions over a region of Tenon: what ExecuTorch's
// CUDA delegate finds in the library of a .pte.
//
// One library serves every region. The region comes as the blob of weights,
// which the delegate hands over before anything else and frees afterwards; it
// states its own size, digest and version. Calls are checked against its
// boundary and passed to whoever runs regions (region_executor.h). Whatever is
// wrong is told to the host's log, and the function returns 1.
#include <dlfcn.h>

#include <memory>
#include <string>
#include <vector>

#include "host_tensors.h"
#include "region_blob/region_blob.h"
#include "region_executor.h"

#define TENON_EXPORT extern "C" __attribute__((visibility("default")))

namespace tenon_cuda {
namespace {

constexpr int32_t kOk = 0, kFailed = 1;
constexpr size_t kErrorBytes = 1024;

int32_t Fail(const std::string& message) {
  Warn(message);
  return kFailed;
}

class Container {
 public:
  explicit Container(const TenonRegionExecutor* executor)
      : executor_(*executor) {}
  ~Container() {
    if (region_ != nullptr) executor_.destroy(region_);
  }

  int32_t Load(const uint8_t* block) {
    if (region_ != nullptr) return Fail("a second region was handed in");
    const auto* bytes = reinterpret_cast<const std::byte*>(block);
    tenon::Diagnostics diags;
    const auto size =
        tenon::SizeOfRegionBlob({bytes, tenon::kRegionBlobHeadBytes}, diags);
    if (!size) return Fail(diags.FirstError());
    auto read = tenon::ReadRegionBlob({bytes, *size}, diags);
    if (!read) return Fail(diags.FirstError());
    char error[kErrorBytes] = "";
    if (executor_.load(block, *size, &region_, error, sizeof(error)) != kOk) {
      return Fail(error);
    }
    inputs_ = std::move(read->inputs);
    outputs_ = std::move(read->outputs);
    return kOk;
  }

  int32_t CountOf(const std::vector<tenon::BoundaryTensor>& list,
                  size_t* out) const {
    *out = list.size();
    return region_ != nullptr
               ? kOk
               : Fail(
                     "the file has no region for this library: the data that "
                     "the payload names second is missing");
  }
  int32_t NumInputs(size_t* out) const { return CountOf(inputs_, out); }
  int32_t NumOutputs(size_t* out) const { return CountOf(outputs_, out); }

  int32_t Run(TensorHandle* inputs, size_t num_inputs, TensorHandle* outputs,
              size_t num_outputs, void* stream) {
    std::string error;
    const HostTensors* const host = HostTensors::Get(&error);
    if (host == nullptr) return Fail(error);
    const int32_t status =
        Call(*host, inputs, num_inputs, outputs, num_outputs, stream);
    // Inputs are this function's to free, whatever happened.
    for (size_t i = 0; i < num_inputs; ++i) host->Delete(inputs[i]);
    return status;
  }

 private:
  int32_t Call(const HostTensors& host, TensorHandle* inputs, size_t num_inputs,
               TensorHandle* outputs, size_t num_outputs, void* stream) {
    if (num_inputs != inputs_.size() || num_outputs != outputs_.size()) {
      return Fail("a call with " + std::to_string(num_inputs) + " inputs and " +
                  std::to_string(num_outputs) + " outputs; the region has " +
                  std::to_string(inputs_.size()) + " and " +
                  std::to_string(outputs_.size()));
    }
    std::vector<TensorView> in(num_inputs), out(num_outputs);
    std::string error;
    for (size_t i = 0; i < num_inputs && error.empty(); ++i) {
      error = Check(host, inputs[i], inputs_[i], "input " + std::to_string(i),
                    &in[i]);
    }
    for (size_t j = 0; j < num_outputs && error.empty(); ++j) {
      error = Check(host, outputs[j], outputs_[j],
                    "output " + std::to_string(j), &out[j]);
    }
    if (!error.empty()) return Fail(error);
    const std::vector<TensorView> before = out;
    char text[kErrorBytes] = "";
    const auto in_list = ListOf(&in), out_list = ListOf(&out);
    if (executor_.run(region_, in_list.data(), in_list.size(), out_list.data(),
                      out_list.size(), stream, text, sizeof(text)) != kOk) {
      return Fail(text);
    }
    for (size_t j = 0; j < num_outputs; ++j) {
      if (out[j].sizes == before[j].sizes) continue;
      const TensorHandle resized = host.Resized(outputs[j], out[j]);
      if (resized == nullptr) {
        return Fail("output " + std::to_string(j) + " can't be resized");
      }
      outputs[j] = resized;
    }
    return kOk;
  }

  // What is wrong with an argument; "" when nothing is.
  static std::string Check(const HostTensors& host, TensorHandle tensor,
                           const tenon::BoundaryTensor& wanted,
                           const std::string& what, TensorView* out) {
    if (!host.Describe(tensor, out)) return what + " can't be looked at";
    if (out->dtype != tenon::ScalarTypeNumber(wanted.dtype)) {
      return what + " has dtype " + std::to_string(out->dtype) +
             ", the region's is " + std::string(tenon::Name(wanted.dtype));
    }
    if (out->sizes.size() != wanted.rank()) {
      return what + " has " + std::to_string(out->sizes.size()) +
             " dimensions, the region's has " + std::to_string(wanted.rank());
    }
    for (size_t d = 0; d < wanted.rank(); ++d) {
      const int64_t size = out->sizes[d];
      if (size >= wanted.min[d] && size <= wanted.max[d]) continue;
      return what + " has size " + std::to_string(size) + " in dimension " +
             std::to_string(d) + ", the region was made for " +
             std::to_string(wanted.min[d]) + " to " +
             std::to_string(wanted.max[d]);
    }
    return out->is_contiguous ? "" : what + " isn't contiguous";
  }

  static std::vector<TenonRegionTensor> ListOf(std::vector<TensorView>* views) {
    std::vector<TenonRegionTensor> out;
    for (TensorView& view : *views) {
      out.push_back({view.data, view.dtype,
                     static_cast<int32_t>(view.sizes.size()),
                     view.sizes.data()});
    }
    return out;
  }

  const TenonRegionExecutor& executor_;
  void* region_ = nullptr;
  std::vector<tenon::BoundaryTensor> inputs_, outputs_;
};

}  // namespace
}  // namespace tenon_cuda

using tenon_cuda::Container;

TENON_EXPORT int32_t AOTInductorModelContainerCreateWithDevice(Container** out,
                                                               size_t,
                                                               const char*,
                                                               const char*) {
  const auto find = reinterpret_cast<TenonRegionExecutorFunction>(
      dlsym(RTLD_DEFAULT, TENON_REGION_EXECUTOR_SYMBOL));
  if (find == nullptr) {
    return tenon_cuda::Fail(
        "this library carries no GPU code, and the process offers no executor "
        "of regions (" TENON_REGION_EXECUTOR_SYMBOL
        "); export without backend cuda to run here");
  }
  *out = new Container(find());
  return tenon_cuda::kOk;
}

TENON_EXPORT int32_t AOTInductorModelContainerDelete(Container* container) {
  delete container;
  return tenon_cuda::kOk;
}

TENON_EXPORT int32_t AOTInductorModelUpdateConstantsFromBlob(
    Container* container, const uint8_t* block) {
  return container->Load(block);
}

TENON_EXPORT int32_t AOTInductorModelContainerGetNumInputs(Container* container,
                                                           size_t* out) {
  return container->NumInputs(out);
}

TENON_EXPORT int32_t
AOTInductorModelContainerGetNumOutputs(Container* container, size_t* out) {
  return container->NumOutputs(out);
}

TENON_EXPORT int32_t AOTInductorModelContainerRun(
    Container* container, tenon_cuda::TensorHandle* inputs, size_t num_inputs,
    tenon_cuda::TensorHandle* outputs, size_t num_outputs, void* stream,
    void*) {
  return container->Run(inputs, num_inputs, outputs, num_outputs, stream);
}
