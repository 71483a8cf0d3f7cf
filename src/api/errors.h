// From the library's diagnostics to a caller's errors.
#pragma once

#include <new>

#include "diag/diagnostics.h"
#include "tenon/error.h"

namespace tenon::api {

// The errors in `diags`; one that says so when there is none.
Errors ErrorsOf(const Diagnostics& diags);

// One error: memory doesn't suffice.
Errors OutOfMemory();

// What `work` returns, or OutOfMemory. Below this boundary std::bad_alloc is
// the one exception that passes through; a program that was being changed is
// only fit to be destroyed then, so that work on one needs a copy of its own.
template <typename T, typename Work>
Result<T> WithinMemory(Work&& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

}  // namespace tenon::api
