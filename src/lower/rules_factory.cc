#include "lower/rewrite_rules.h"

namespace tenon::lower {

std::vector<RuleRow> FactoryRules() { return {}; }

}  // namespace tenon::lower
