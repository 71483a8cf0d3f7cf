// Engine calls of Torch-TensorRT become delegate calls (rules D-1 to D-4).
//
//   [%a, %b] = tensorrt.execute_engine.default([%x, %cache], %engine)
//     ->  %a, %b = delegate @engine(%x, %cache)
//
// where %engine is an object of the state that holds the engine's record. The
// placeholder call, whose arguments are the record's strings, likewise.
#pragma once

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

constexpr std::string_view kExecuteEngine = "tensorrt.execute_engine.default";
constexpr std::string_view kEnginePlaceholder =
    "tensorrt.no_op_placeholder_for_execute_engine.default";

// Whether any graph has a call of an engine in one of these two forms.
bool HasEngineCalls(const Program& program);

// In all graphs of a program that holds all rules. Calls of one engine with one
// boundary share a delegate; of others, the payload. Engines in base64 are
// decoded, others stay where they are. State that only the calls used is
// removed. On failure the program is unchanged, and every call that isn't right
// was reported.
Status LowerEngineCalls(Program* program, Diagnostics& diags);

}  // namespace tenon
