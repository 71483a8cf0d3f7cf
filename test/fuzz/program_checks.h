// What must hold of every program that a reader hands out.
#pragma once

#include "ir/program.h"

namespace tenon::fuzz {

// The text form gives the program back, whether it holds the rules or not.
void CheckTextForm(const Program& program);

// The verifier survives the program. One that holds the rules is equal to its
// reading of its own text, can be written unless the writer says why not, is
// read back equal, and written once more gives the same bytes.
void CheckProgram(const Program& program);

}  // namespace tenon::fuzz
