// Values that are fixed: a type of a literal kind says the value, too (an input
// of a fixed number, a result that is a string).
#pragma once

#include "ir/program.h"

namespace tenon {

// The argument that a literal type stands for; None for the type of None, and
// for types that leave the value open.
Arg LiteralOf(const Type& type);

}  // namespace tenon
