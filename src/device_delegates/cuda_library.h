// The library that the CUDA delegate loads (cuda/), as part of this program.
#pragma once

#include "support/byte_cursor.h"

namespace tenon {

// libtenon_delegate.so of the same build.
Bytes CudaDelegateLibrary();

}  // namespace tenon
