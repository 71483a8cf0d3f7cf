// How many bytes a value is, as far as a cut wants to know.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"

namespace tenon {

class BoundaryBytes {
 public:
  // What a size counts that neither the example run nor a range tells.
  static constexpr int64_t kUnknownSize = 128;

  explicit BoundaryBytes(const Program& program) : program_(program) {}

  // Of a value of the root graph: symbolic sizes as in the example run, else at
  // their upper bounds. State is nothing: a backend gets it once, not at every
  // call.
  int64_t Of(ValueId v);

 private:
  int64_t OfType(TypeId id);
  int64_t SizeOf(const SymInt& size) const;

  const Program& program_;
  std::vector<int64_t> by_type_;  // -1: not computed yet
};

}  // namespace tenon
