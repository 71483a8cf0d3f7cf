// The first place in which two programs part (rule T-2).
#pragma once

#include <optional>
#include <string>

#include "ir/program.h"

namespace tenon {

struct Divergence {
  // What parts: "calling convention", "output 2 (y.0)", "effect 1".
  std::string root;
  // The same spot in both programs, as small expressions; "nothing" where one
  // side has none.
  std::string source, result;
  // In the user's code, where known.
  std::string source_line, result_line;
};

// nullopt when the wiring digests are equal. Otherwise the first root that
// differs, followed down along the operands that differ to the deepest pair of
// nodes whose own operator, arguments or types differ. Delegates and children
// are looked through where the graphs that they stand for are known.
std::optional<Divergence> FindDivergence(const Program& source,
                                         const Program& result);

}  // namespace tenon
