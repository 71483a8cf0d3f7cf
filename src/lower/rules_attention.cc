#include "lower/rewrite_rules.h"

namespace tenon::lower {

std::vector<RuleRow> AttentionRules() { return {}; }

}  // namespace tenon::lower
