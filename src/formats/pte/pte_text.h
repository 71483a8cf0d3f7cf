// An ExecuTorch program as text, for people and for comparing. Nothing reads it
// back: payloads and weights stand as sizes and digests.
#pragma once

#include <string>
#include <vector>

#include "formats/pte/pte_program.h"

namespace tenon {

// "f32[2, 3], arena 1 + 32", "int 7".
std::string PrintValue(const PteValue& value);

// All of it, a line for each value, instruction, segment. Programs with equal
// lines are the same program (up to stack traces, which only `with_traces`
// shows).
std::vector<std::string> PrintPte(const PteProgram& program, bool with_traces);

}  // namespace tenon
