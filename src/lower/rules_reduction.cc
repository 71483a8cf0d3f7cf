#include "lower/rewrite_rules.h"

namespace tenon::lower {

std::vector<RuleRow> ReductionRules() { return {}; }

}  // namespace tenon::lower
