#include "lower/rewrite_rules.h"

namespace tenon {

std::vector<RuleRow> NeuralRules() { return {}; }

}  // namespace tenon
