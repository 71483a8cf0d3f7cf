// Delegate calls of backend "tensorrt" become engine calls of Torch-TensorRT:
// the inverse of LowerEngineCalls.
#pragma once

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

enum class EngineCallForm {
  // tensorrt.execute_engine, with the engine as an object of the state: what
  // PyTorch runs where Torch-TensorRT's library is loaded.
  kObject,
  // tensorrt.no_op_placeholder_for_execute_engine, with the record as strings:
  // what a program compiled for another platform has.
  kPlaceholder,
};

// In all graphs. Objects become inputs of the root graph; a call in another
// graph refers to the object in place, by name. Delegates that no call is left
// of are removed. On failure the program is unchanged, and every delegate that
// has no valid record was reported.
Status RaiseEngineCalls(Program* program, EngineCallForm form,
                        Diagnostics& diags);

}  // namespace tenon
