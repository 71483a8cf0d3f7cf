#include "support/assert.h"

#include <cstdio>
#include <cstdlib>

namespace tenon {

void AssertionFailed(const char* condition, const char* sentence,
                     const char* file, int line) {
  std::fprintf(stderr, "tenon: internal error: %s (%s) at %s:%d\n", sentence,
               condition, file, line);
  // The exit code for internal errors; no core file is wanted from a tool.
  std::_Exit(3);
}

}  // namespace tenon
