// The table of rules and lints that diagnostics cite (docs/rules.md).
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon {

enum class Rule : uint16_t {
#define TENON_RULE(name, id, title, reason, example) name,
#include "diag/rules.def"
#undef TENON_RULE
};

struct RuleInfo {
  std::string_view id;       // "V-SIG-03"
  std::string_view title;    // what must hold, one sentence
  std::string_view reason;   // why it must
  std::string_view example;  // a small violation, in the text form or words
};

constexpr int kNumRules = 0
#define TENON_RULE(name, id, title, reason, example) +1
#include "diag/rules.def"
#undef TENON_RULE
    ;

const RuleInfo& Info(Rule rule);
inline std::string_view RuleId(Rule rule) { return Info(rule).id; }
// False when no rule has that id.
bool FindRule(std::string_view id, Rule* rule);

}  // namespace tenon
