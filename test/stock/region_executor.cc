// The executor that libtenon_delegate.so asks a process for, in tests: backend
// cpu over the memory of the host CUDA double. For LD_PRELOAD; never installed.
#include "cuda/region_executor.h"

#include <cstdio>
#include <memory>
#include <string>

#include "host_region.h"

namespace {

using tenon::stock::DeviceTensor;
using tenon::stock::HostRegion;

int32_t Fail(const std::string& why, char* error, size_t error_bytes) {
  std::snprintf(error, error_bytes, "%s", why.c_str());
  return 1;
}

int32_t Load(const uint8_t* block, size_t block_bytes, void** region,
             char* error, size_t error_bytes) {
  std::string why;
  auto loaded = HostRegion::Load(
      {reinterpret_cast<const std::byte*>(block), block_bytes}, &why);
  if (loaded == nullptr) return Fail(why, error, error_bytes);
  *region = loaded.release();
  return 0;
}

DeviceTensor From(const TenonRegionTensor& tensor) {
  return {tensor.data, {tensor.sizes, tensor.sizes + tensor.rank}};
}

int32_t Run(void* region, const TenonRegionTensor* inputs, size_t num_inputs,
            const TenonRegionTensor* outputs, size_t num_outputs, void*,
            char* error, size_t error_bytes) {
  std::vector<DeviceTensor> in, out;
  for (size_t i = 0; i < num_inputs; ++i) in.push_back(From(inputs[i]));
  for (size_t j = 0; j < num_outputs; ++j) out.push_back(From(outputs[j]));
  std::string why;
  if (!static_cast<HostRegion*>(region)->Run(in, &out, &why)) {
    return Fail(why, error, error_bytes);
  }
  for (size_t j = 0; j < num_outputs; ++j) {
    for (int32_t d = 0; d < outputs[j].rank; ++d) {
      outputs[j].sizes[d] = out[j].sizes[static_cast<size_t>(d)];
    }
  }
  return 0;
}

void Destroy(void* region) { delete static_cast<HostRegion*>(region); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const TenonRegionExecutor*
tenon_region_executor_v1() {
  static const TenonRegionExecutor executor = {Load, Run, Destroy};
  return &executor;
}
