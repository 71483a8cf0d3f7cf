#include "lower/rewrite_rules.h"

namespace tenon::lower {

std::vector<RuleRow> NeuralRules() { return {}; }

}  // namespace tenon::lower
