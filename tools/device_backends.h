// Backends of .pte files that need something from the command line: the engines
// of tensorrt, the library of cuda, the device of both.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "backends/backend.h"
#include "command_line.h"
#include "device_delegates/region_block.h"
#include "diag/diagnostics.h"
#include "engine_source.h"
#include "support/expected.h"

namespace tenon::tools {

// Backends refer to it.
class DeviceBackends {
 public:
  DeviceBackends() = default;
  DeviceBackends(const DeviceBackends&) = delete;
  DeviceBackends& operator=(const DeviceBackends&) = delete;

  // Options --engine, --engine-builder, --engine-requests and --cuda-device.
  Status Configure(const CommandLine& line,
                   const std::map<std::string, int64_t>& bounds,
                   Diagnostics& diags);
  // "tensorrt" or "cuda", kept here; an error for other names, and for tensorrt
  // without a source of engines.
  Expected<const Backend*> Find(const std::string& name, Diagnostics& diags);
  int8_t cuda_device() const { return target_.cuda_device; }

 private:
  DeviceTarget target_;
  EngineFiles engines_;
  std::unique_ptr<Backend> tensorrt_, cuda_;
};

}  // namespace tenon::tools
