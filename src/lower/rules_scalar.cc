// Numbers: sizes that the file knows, and overloads with numbers for operands.
#include "lower/rewrite_rules.h"

namespace tenon::lower {
namespace {

// self.size(): one number per dimension is asked for one by one.
Rewritten Same(NodeRewrite& r) {
  return r.has(0) && r.arg(0).value.valid() ? r.Done(r.arg(0).value)
                                            : Rewritten::kSkip;
}

}  // namespace

std::vector<RuleRow> ScalarRules() {
  return {
      {"aten.resolve_conj.default", Same},
      {"aten.resolve_neg.default", Same},
  };
}

}  // namespace tenon::lower
