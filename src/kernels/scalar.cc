#include "kernels/registry.h"

namespace tenon {

std::span<const KernelEntry> ScalarKernels() { return {}; }

const OpSchema* FindCallSchema(std::string_view name) {
  return FindSchema(name);
}

}  // namespace tenon
