#include "lower/rewrite_rules.h"

namespace tenon {

std::vector<RuleRow> PointwiseRules() { return {}; }

}  // namespace tenon
