#include "lower/rewrite_rules.h"

namespace tenon::lower {

std::vector<RuleRow> IndexRules() { return {}; }

}  // namespace tenon::lower
