// The largest value that a size can have, from the program's ranges.
//
// Interval arithmetic over the expressions: sums, products, quotients and the
// like of bounded symbols are bounded. A range that the program states for a
// whole expression counts as well as those of its symbols.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "ir/program.h"

namespace tenon::executorch {

// Both inclusive; nullopt: unbounded, or not known.
struct Interval {
  std::optional<int64_t> min, max;
};

class SizeBounds {
 public:
  explicit SizeBounds(const Program& program);

  Interval Of(ExprId expr) const;
  Interval Of(const SymInt& size) const;
  std::optional<int64_t> Max(const SymInt& size) const { return Of(size).max; }
  // States that `expr` is at most `max`: for sizes that depend on data.
  void Limit(ExprId expr, int64_t max);

 private:
  Interval Compute(ExprId expr, int depth) const;

  const Program& program_;
  std::unordered_map<uint32_t, Interval> stated_;  // by expression
};

}  // namespace tenon::executorch
