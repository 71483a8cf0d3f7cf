#include "lower/rewrite_rules.h"

namespace tenon {

std::vector<RuleRow> FactoryRules() { return {}; }

}  // namespace tenon
