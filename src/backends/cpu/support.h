// Which nodes the CPU backend takes.
#pragma once

#include <optional>

#include "backends/backend.h"
#include "ir/program.h"

namespace tenon::cpu {

std::optional<Refusal> WhyRefused(const Program& program, NodeId node);

}  // namespace tenon::cpu
