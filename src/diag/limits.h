// Bounds against files that ask for more than they are: generous for real
// ones, and options of every reader (docs/limits.md).
//
// Lengths that a file states are checked against the bytes that it has, limit
// or no limit; these bounds are for what is legal and much.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tenon {

struct ReadLimits {
#define TENON_LIMIT(field, name, value, highest, what, reason) \
  uint64_t field = value;
#include "diag/limits.def"
#undef TENON_LIMIT
};

struct LimitInfo {
  std::string_view name;
  uint64_t ReadLimits::*field;
  uint64_t value;    // the default
  uint64_t highest;  // that may be set
  std::string_view what, reason;
};
// In the order of docs/limits.md.
std::span<const LimitInfo> AllLimits();

// Sets what "NAME=VALUE" says, a decimal number from 1 on; else false with
// `error`, and nothing is changed.
bool SetLimit(std::string_view assignment, ReadLimits* limits,
              std::string* error);

// "beyond the limit members=10 (--read-limit)", for messages.
std::string BeyondLimit(const ReadLimits& limits, uint64_t ReadLimits::*field);

}  // namespace tenon
