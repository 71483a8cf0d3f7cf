// What a .pte is, in numbers and lists: for `tenon info`.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "formats/pte/pte_program.h"

namespace tenon::tools {

struct PteDelegateSummary {
  std::string backend;
  uint64_t num_delegates = 0;
  uint64_t num_calls = 0;
  uint64_t payload_bytes = 0;  // a payload that is shared counts once
};

struct PteArenaSummary {
  uint64_t bytes = 0;
  std::string device;  // "cpu", "cuda:0"
};

struct PteTensorSummary {
  uint64_t count = 0;
  uint64_t bytes = 0;
};

struct PteMethodSummary {
  std::string name;
  std::vector<std::string> inputs, outputs;  // "f32[2, 3]", "int 3"
  uint64_t num_values = 0;
  uint64_t num_instructions = 0;
  std::vector<std::pair<std::string, uint64_t>> operators;  // most calls first
  std::vector<PteDelegateSummary> delegates;                // by first mention
  // Of delegates whose payloads say so: "delegate 0, input 0 'x': f32[2, 4]".
  std::vector<std::string> bindings;
  std::vector<PteArenaSummary> arenas;  // from arena 1 on
  PteTensorSummary constants, initialised, external;
  std::vector<std::string> external_names;
};

PteMethodSummary Summarise(const PteProgram& program, const PtePlan& plan);

}  // namespace tenon::tools
