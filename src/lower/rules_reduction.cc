#include "lower/rewrite_rules.h"

namespace tenon {

std::vector<RuleRow> ReductionRules() { return {}; }

}  // namespace tenon
