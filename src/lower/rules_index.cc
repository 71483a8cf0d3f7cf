#include "lower/rewrite_rules.h"

namespace tenon {

std::vector<RuleRow> IndexRules() { return {}; }

}  // namespace tenon
