// What `tenon export -b portable` is asked for, from its command line: methods
// with their programs, and how the file is to be.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "command_line.h"
#include "device_backends.h"
#include "diag/diagnostics.h"
#include "executorch/export_pte.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon::tools {

// Names of --backend, those of one method, "decode:xnnpack", without it.
std::vector<std::string> PteBackendNames(const CommandLine& line);

struct PteRequest {
  std::vector<PteMethod> methods;  // of `programs`
  std::deque<Program> programs;
  std::deque<DeviceBackends> devices;  // what methods' backends are made of
  PteFileOptions file;
};

// Everything that can be wrong with the request is found before a program is
// read, but for what depends on programs (bounds, shared state).
Expected<PteRequest> ReadPteRequest(const CommandLine& line,
                                    Diagnostics& diags);

}  // namespace tenon::tools
