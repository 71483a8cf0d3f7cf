// Where `tenon export` gets the engines of backend tensorrt.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "command_line.h"
#include "device_delegates/tensorrt_delegate.h"
#include "diag/diagnostics.h"
#include "support/expected.h"

namespace tenon::tools {

// Files by region, and a command for the rest. The command is a program, found
// as a shell finds it, but without a shell: it is run as COMMAND REQUEST ENGINE
// with files in a folder of its own. REQUEST is the region as a block
// (docs/formats/tensorrt.md), REQUEST.onnx as a model, REQUEST.sh the call of
// trtexec that builds the model; it writes the plan or container to ENGINE and
// ends with 0. What is asked of others may be left in a folder instead.
class EngineFiles {
 public:
  // Options --engine, --engine-builder and --engine-requests.
  Status Configure(const CommandLine& line, Diagnostics& diags);
  bool empty() const {
    return files_.empty() && command_.empty() && requests_.empty();
  }

  Expected<std::vector<std::byte>> Get(const EngineRequest& request,
                                       Diagnostics& diags) const;

 private:
  Expected<std::vector<std::byte>> Build(const EngineRequest& request,
                                         Diagnostics& diags) const;

  std::map<std::string, std::string> files_;  // by region
  std::string command_;
  std::string requests_;  // a folder
};

}  // namespace tenon::tools
