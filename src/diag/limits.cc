#include "diag/limits.h"

#include <charconv>

#include "support/assert.h"

namespace tenon {
namespace {

constexpr LimitInfo kLimits[] = {
#define TENON_LIMIT(field, name, value, highest, what, reason) \
  {name, &ReadLimits::field, value, highest, what, reason},
#include "diag/limits.def"
#undef TENON_LIMIT
};

const LimitInfo* FindLimit(std::string_view name) {
  for (const LimitInfo& limit : kLimits) {
    if (limit.name == name) return &limit;
  }
  return nullptr;
}

std::string LimitNames() {
  std::string out;
  for (const LimitInfo& limit : kLimits) {
    if (!out.empty()) out += ", ";
    out += limit.name;
  }
  return out;
}

}  // namespace

std::span<const LimitInfo> AllLimits() { return kLimits; }

bool SetLimit(std::string_view assignment, ReadLimits* limits,
              std::string* error) {
  const size_t equals = assignment.find('=');
  const std::string_view name = assignment.substr(0, equals);
  const LimitInfo* const limit = FindLimit(name);
  if (limit == nullptr || equals == std::string_view::npos) {
    *error = "'" + std::string(assignment) +
             "' is no NAME=VALUE of a limit; there are: " + LimitNames();
    return false;
  }
  const std::string_view text = assignment.substr(equals + 1);
  uint64_t value = 0;
  const auto [end, failure] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() ||
      value == 0 || value > limit->highest) {
    *error = "the limit " + std::string(name) + " is a number from 1 to " +
             std::to_string(limit->highest) + ", not '" + std::string(text) +
             "'";
    return false;
  }
  limits->*limit->field = value;
  return true;
}

std::string BeyondLimit(const ReadLimits& limits, uint64_t ReadLimits::*field) {
  for (const LimitInfo& limit : kLimits) {
    if (limit.field != field) continue;
    return "beyond the limit " + std::string(limit.name) + "=" +
           std::to_string(limits.*field) + " (--read-limit)";
  }
  TENON_UNREACHABLE("every field has its row");
}

}  // namespace tenon
