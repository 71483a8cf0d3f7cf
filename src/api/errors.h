// From the library's diagnostics to a caller's errors.
#pragma once

#include "diag/diagnostics.h"
#include "tenon/error.h"

namespace tenon::api {

// The errors in `diags`; one that says so when there is none.
Errors ErrorsOf(const Diagnostics& diags);

}  // namespace tenon::api
