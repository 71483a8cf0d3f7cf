#include "lower/rewrite_rules.h"

namespace tenon {

std::vector<RuleRow> AttentionRules() { return {}; }

}  // namespace tenon
