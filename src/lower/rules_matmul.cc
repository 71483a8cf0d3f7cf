#include "lower/rewrite_rules.h"

namespace tenon {

std::vector<RuleRow> MatmulRules() { return {}; }

}  // namespace tenon
