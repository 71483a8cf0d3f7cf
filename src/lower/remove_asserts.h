// Asserts and constraints, taken out: a runtime without them can't be stopped.
#pragma once

#include <cstdint>

#include "ir/program.h"

namespace tenon::lower {

// Returns how many went. Whoever asks has to say so.
uint32_t RemoveAsserts(Program* program);

}  // namespace tenon::lower
