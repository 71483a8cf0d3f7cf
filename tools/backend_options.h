// The options by which `export` and `partition` choose backends.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "command_line.h"
#include "diag/diagnostics.h"
#include "partition/partition.h"
#include "support/expected.h"

namespace tenon::tools {

inline constexpr std::array kBackendOptions = {
    Option{"--backend", 'b', "NAME",
           "A backend that may take nodes, or several with commas between; the "
           "first is preferred. "
           "'none' takes nothing. Required.",
           true},
    Option{"--allow", 0, "OP",
           "Only these operators are taken: 'aten.add.Tensor', 'aten.add' for "
           "all its overloads, 'NAME:aten.add' for one backend only.",
           true},
    Option{"--deny", 0, "OP", "These operators aren't taken; spelt as above.",
           true},
    Option{"--min-nodes", 0, "N", "Smaller regions stay in the graph."},
    Option{"--max-regions", 0, "N",
           "At most N regions per backend; the largest are kept."},
    Option{"--must-take-all", 0, "",
           "Fails, with every reason, when a node stays in the graph."},
};

// Options of a verb that has those above and its own.
template <size_t kOwn, size_t kShared>
constexpr std::array<Option, kOwn + kShared> JoinOptions(
    const std::array<Option, kOwn>& own,
    const std::array<Option, kShared>& shared) {
  std::array<Option, kOwn + kShared> out{};
  for (size_t i = 0; i < kOwn; ++i) out[i] = own[i];
  for (size_t i = 0; i < kShared; ++i) out[kOwn + i] = shared[i];
  return out;
}

// What the options ask for; empty for "none". An unknown backend is an error
// that lists the known ones.
Expected<std::vector<BackendRequest>> BackendRequests(const CommandLine& line,
                                                      Diagnostics& diags);

}  // namespace tenon::tools
