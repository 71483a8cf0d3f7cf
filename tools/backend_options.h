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
    Option{
        "--allow", 0, "LIST",
        "Only these nodes are taken, with commas between: 'aten.add.Tensor', "
        "'aten.add' for all its overloads, '%add_1' for a node by name, "
        "'@FILE' for a file of such words, one a line. 'NAME:' in front "
        "means one backend only.",
        true},
    Option{"--deny", 0, "LIST", "These nodes aren't taken; spelt as above.",
           true},
    Option{
        "--group", 0, "LIST",
        "These nodes are taken together or not at all: '%add_1,%mul'; '@FILE' "
        "for a file with one group a line.",
        true},
    Option{"--min-nodes", 0, "[NAME:]N",
           "Regions of fewer nodes stay in the graph.", true},
    Option{"--max-regions", 0, "[NAME:]N",
           "At most N regions per backend; those that gain most are kept.",
           true},
    Option{"--drop-costly", 0, "",
           "Regions whose call and boundary cost more than they save stay in "
           "the graph."},
    Option{"--launch-ns", 0, "[NAME:]N",
           "What one call of a region costs. Default: 200.", true},
    Option{"--bandwidth", 0, "[NAME:]N",
           "GB/s at which values cross a boundary. Default: 10.", true},
    Option{"--node-saving-ns", 0, "[NAME:]N",
           "What a node costs less inside a region. Default: 2000.", true},
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

// "cpu,echo" names two, as do several texts; empty for "none". An unknown
// backend is an error that lists the known ones.
Expected<std::vector<BackendRequest>> FindBackends(
    const std::vector<std::string>& texts, Diagnostics& diags);

// What the options beside --backend say of backends that were found.
Status AddToRequests(const CommandLine& line,
                     std::vector<BackendRequest>* requests, Diagnostics& diags);

// What the options ask for; empty for "none". An unknown backend is an error
// that lists the known ones.
Expected<std::vector<BackendRequest>> BackendRequests(const CommandLine& line,
                                                      Diagnostics& diags);

}  // namespace tenon::tools
