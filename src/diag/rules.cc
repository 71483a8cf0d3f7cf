#include "diag/rules.h"

#include <cstddef>

namespace tenon {
namespace {

constexpr RuleInfo kRules[] = {
#define TENON_RULE(name, id, title, reason, example) \
  {id, title, reason, example},
#include "diag/rules.def"
#undef TENON_RULE
};

}  // namespace

const RuleInfo& Info(Rule rule) { return kRules[static_cast<size_t>(rule)]; }

bool FindRule(std::string_view id, Rule* rule) {
  for (int i = 0; i < kNumRules; ++i) {
    if (kRules[i].id == id) {
      *rule = static_cast<Rule>(i);
      return true;
    }
  }
  return false;
}

}  // namespace tenon
