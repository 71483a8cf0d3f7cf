// What stock kernels don't take although their schema does: they fail when they
// run, so a program that needs it is refused when it is exported.
#pragma once

#include <string>
#include <string_view>

#include "ir/program.h"

namespace tenon::executorch {

// Why the kernel `name` can't run node `n`; "" when nothing is known against
// it. The node's operator is the one that the kernel stands for.
std::string WhyNotInKernel(const Program& program, NodeId n,
                           std::string_view name);

}  // namespace tenon::executorch
