// Whether backends compute what the reference executor computes; where not, the
// first node that they get wrong.
//
// A region and the graph that it was compiled from are run side by side on the
// same inputs, which are the reference's: a mistake of one region doesn't show
// in the next. Where the results of a region are too far apart, its nodes are
// compiled and run one by one; if each is right alone, the shortest run of
// nodes from the region's first on that is wrong is found by bisection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "comparison.h"
#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"
#include "tensor/value.h"

namespace tenon::tools {

struct CheckOptions {
  BackendOptions backend;
  // Finds backends by name; FindBackend unless a test has others.
  std::function<const Backend*(std::string_view name)> find_backend;
  // How many times what its dtype tolerates two numbers may be apart.
  double tolerance = 1;
};

struct CheckedRegion {
  std::string name, backend;
  uint64_t num_nodes = 0;
  bool is_compared = false;  // false: nobody knows what it stands for
  Comparison worst;          // over results and written inputs
};

// A node that a backend gets wrong.
struct WrongNode {
  std::string region;
  std::string node;         // "main/%add_1"
  std::string expression;   // "aten.add.Tensor(%a, %b)"
  std::string source_line;  // "model.py:12, in forward", or ""
  // Nodes of the region before it that have to run with it for the mistake to
  // show; 0: it is wrong alone.
  uint64_t num_before = 0;
  // False: compiled again, no part of the region is wrong, and the node is the
  // region's first.
  bool is_reproduced = true;
  Comparison difference;
};

struct CheckedValue {
  std::string what;  // "output y", "state k_cache"
  Comparison worst;
};

struct CheckReport {
  double tolerance = 1;
  std::vector<CheckedRegion> regions;  // in the order of their calls
  // Of a run in which every region got what the regions before it gave.
  std::vector<CheckedValue> results;
  std::optional<WrongNode> first_wrong;

  bool is_close(const Comparison& c) const {
    return c.has_same_kind && c.max_relative <= tolerance;
  }
  bool is_close() const;
};

// `program` has delegates. The inputs aren't changed.
Expected<CheckReport> CheckBackends(std::shared_ptr<const Program> program,
                                    const std::vector<RuntimeValue>& inputs,
                                    const CheckOptions& options,
                                    Diagnostics& diags);

// One line per region and result, then the node.
std::string CheckAsText(const CheckReport& report);

}  // namespace tenon::tools
