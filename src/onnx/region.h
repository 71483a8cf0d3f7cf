// A region of a cut program, apart from it.
#pragma once

#include <vector>

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "onnx/translate_program.h"
#include "support/expected.h"

namespace tenon::onnx {

struct Region {
  Program program;  // inputs and outputs are those of the call, in order (P-4)
  // Inputs that the call gets from state that no call changes.
  std::vector<KnownInput> known;
};

// The calls of children in the root, in order: what a partition cut out.
std::vector<NodeId> RegionCalls(const Program& cut);

// The child that `call` calls, and what of its inputs is known.
Region ExtractRegion(const Program& cut, NodeId call);

}  // namespace tenon::onnx
