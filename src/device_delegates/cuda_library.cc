#include "device_delegates/cuda_library.h"

#include <cstddef>

// cuda_library.S
extern "C" const std::byte tenon_cuda_library_begin[];
extern "C" const std::byte tenon_cuda_library_end[];

namespace tenon {

Bytes CudaDelegateLibrary() {
  return {tenon_cuda_library_begin, tenon_cuda_library_end};
}

}  // namespace tenon
