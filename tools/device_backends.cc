#include "device_backends.h"

#include <utility>

#include "device_delegates/cuda_backend.h"
#include "device_delegates/cuda_library.h"
#include "device_delegates/tensorrt_delegate.h"

namespace tenon::tools {

Status DeviceBackends::Configure(const CommandLine& line,
                                 const std::map<std::string, int64_t>& bounds,
                                 Diagnostics& diags) {
  std::string error;
  const auto device = line.GetCount("--cuda-device", 0, INT8_MAX, &error);
  if (!device) return diags.Error(Rule::kUsage) << error;
  target_.cuda_device = static_cast<int8_t>(*device);
  target_.bounds = bounds;
  return engines_.Configure(line, diags);
}

Expected<const Backend*> DeviceBackends::Find(const std::string& name,
                                              Diagnostics& diags) {
  if (name == "cuda") {
    cuda_ = std::make_unique<CudaBackend>(CudaDelegateLibrary(), target_);
    return cuda_.get();
  }
  if (name != "tensorrt") {
    return diags.Error(Rule::kUsage)
           << "backend '" << name
           << "' has no delegate in ExecuTorch; beside 'portable' there are "
              "tensorrt, cuda, xnnpack, xnnpack_q8 and tenon";
  }
  if (engines_.empty()) {
    return diags.Error(Rule::kUsage)
           << "backend tensorrt needs engines: --engine REGION=FILE or "
              "--engine-builder COMMAND; --engine-requests FOLDER writes what "
              "they are built of";
  }
  tensorrt_ = std::make_unique<TensorrtDelegate>(
      [this](const EngineRequest& request, Diagnostics& reasons) {
        return engines_.Get(request, reasons);
      },
      target_);
  return tensorrt_.get();
}

}  // namespace tenon::tools
