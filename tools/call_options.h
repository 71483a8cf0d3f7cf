// The options by which `run` and `bench` gather inputs and pick what runs them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "call_inputs.h"
#include "command_line.h"
#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"
#include "tensor/value.h"

namespace tenon::tools {

inline constexpr std::array kCallOptions = {
    Option{"--inputs", 'i', "FILE",
           "A safetensors file; each tensor is named by its input's path "
           "(args.0, kwargs.mask, args.1.past.k), its parameter, or its "
           "number.",
           true},
    Option{"--input", 0, "PATH=FILE.npy", "One input from a NumPy file.", true},
    Option{"--set", 0, "PATH=VALUE",
           "A scalar input: 3, 0.5, True, text, None.", true},
    Option{"--random", 0, "",
           "Draws inputs that aren't given, sizes within their ranges."},
    Option{"--seed", 's', "S", "For --random. Default: 0."},
    Option{"--threads", 0, "N", "Threads of a backend. Default: 1."},
    Option{"--method", 'm', "NAME",
           "The method to call. Default: 'model', or the only one."},
};

struct CallSettings {
  uint64_t seed = 0;
  int num_threads = 1;
};

// nullopt, with `error` set, over a number that is none.
std::optional<CallSettings> ReadCallSettings(const CommandLine& line,
                                             std::string* error);

// The program in a file, by --method and the limits for reading.
Expected<Program> ReadCalledProgram(const CommandLine& line,
                                    const std::string& path,
                                    Diagnostics& diags);

// One value per user input, in order.
Expected<std::vector<RuntimeValue>> GatherInputs(const CommandLine& line,
                                                 const CallSettings& settings,
                                                 const Program& program,
                                                 Diagnostics& diags);

// Inputs that a program writes are written in the caller's tensors, so each
// call gets its own.
std::vector<RuntimeValue> CopiesOf(const std::vector<RuntimeValue>& values);

// The program over the backends that --backend names, in the place of those
// that it was exported to; unchanged without that option.
Status ExportToBackends(const CommandLine& line, Program* program,
                        Diagnostics& diags);

}  // namespace tenon::tools
