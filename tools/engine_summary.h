// What `tenon info` says of TensorRT engines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/program.h"

namespace tenon::tools {

struct EngineSummary {
  std::string name;
  std::string device;  // "NVIDIA H200 (cuda:0, 9.0)"
  std::string platform;
  uint64_t engine_bytes = 0;
  size_t num_calls = 0;
  std::vector<std::string> inputs, outputs;  // binding names
  std::vector<std::string> aliases;  // "k_out is k_in (kv_cache_update)"
};

struct EngineList {
  std::vector<EngineSummary> engines;
  // Why the program's engines can't be listed; "" when they can.
  std::string problem;
};

// Engines that the program calls, as Torch-TensorRT does or as delegates.
EngineList ListEngines(const Program& program);

}  // namespace tenon::tools
