// From what a caller passes to the program's user inputs (rules S-5, S-6).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/guards.h"
#include "diag/diagnostics.h"
#include "ir/program.h"
#include "runtime/pytree.h"
#include "support/expected.h"

namespace tenon {

// The leaves of `arguments` in the order of in_spec. Keywords come in any
// order. A missing, unexpected or doubled argument or another structure is an
// error that names the leaf's path. A program without an in_spec takes one
// positional leaf per user input.
Expected<std::vector<RuntimeValue>> FlattenCall(const Program& program,
                                                const CallArguments& arguments,
                                                Diagnostics& diags);

// Values of the size symbols of one call, by expression index.
using SymbolValues = std::unordered_map<uint32_t, int64_t>;

// The program's guards that calls are checked by. Left out are those that
// aren't comparisons of integers (lint W-GUARD-01 names them), and those that
// only keep sizes 0 and 1 away: that is what the declared ranges say.
std::vector<Guard> ParseGuards(const Program& program);

// Checks one value per user input against the types, the literals fixed at
// export, the ranges and `guards`, and finds the symbols' values. Reports every
// leaf that doesn't fit, with its path, what was found and what is expected.
Expected<SymbolValues> CheckUserInputs(const Program& program,
                                       const std::vector<RuntimeValue>& inputs,
                                       std::span<const Guard> guards,
                                       Diagnostics& diags);

// Positions of the root graph's inputs that the caller passes, in order.
std::vector<uint32_t> UserInputPositions(const Program& program);
// The path of each user input: "args.0", "kwargs.mask"; by number where the
// program has no in_spec.
std::vector<std::string> UserInputPaths(const Program& program);

// The user input that `address` names: a leaf path, a parameter's name in the
// place of "args.N" or "kwargs.NAME" ("mask", "past.k"), or a number. nullopt
// when it names none. `paths` are the program's UserInputPaths.
std::optional<size_t> FindUserInput(const Program& program,
                                    std::span<const std::string> paths,
                                    std::string_view address);
// The value of an input that was fixed at export, None included; nullopt of one
// that callers pass.
std::optional<RuntimeValue> FixedInput(const Program& program,
                                       const Type& type);

// The value of `expr` when all but one of its symbols are known and it is
// linear in that one: solves expr == value for it and adds it. False when it
// can't be solved that way.
bool SolveSymbol(const Context& context, ExprId expr, int64_t value,
                 SymbolValues* symbols);

}  // namespace tenon
