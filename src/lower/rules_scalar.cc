#include "lower/rewrite_rules.h"

namespace tenon {

std::vector<RuleRow> ScalarRules() { return {}; }

}  // namespace tenon
