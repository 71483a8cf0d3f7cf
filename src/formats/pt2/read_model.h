// Reads the JSON model of one method into a program.
#pragma once

#include "formats/pt2/archive.h"
#include "formats/pt2/read_state.h"
#include "formats/pt2/read_types.h"
#include "ir/program.h"

namespace tenon {

// `program` has its state already. `model_member` is the JSON's name.
Status ReadModel(const Pt2Archive& archive, const std::string& model_member,
                 const Pt2ReadOptions& options, const StateNames& state,
                 SymbolTable* symbols, Program* program, Diagnostics& diags);

}  // namespace tenon
