// W-PTE-08: what methods keep from call to call, should a runtime give all of
// them the same memory.
//
// State is a tensor with a name and a place in planned memory; others aren't
// told from intermediates. What lies in one arena number of two methods is one
// buffer, or apart.
#include <algorithm>
#include <string_view>
#include <tuple>
#include <vector>

#include "formats/pte/checks.h"

namespace tenon::pte {
namespace {

struct NamedState {
  const PtePlan* plan = nullptr;
  size_t value = 0;
  const PteTensor* tensor = nullptr;
  uint64_t bytes = 0;

  std::string_view name() const { return tensor->extra->name; }
  const PteAllocation& at() const { return *tensor->allocation; }
  uint64_t end() const { return at().offset + bytes; }
};

bool IsSameBuffer(const NamedState& a, const NamedState& b) {
  return a.name() == b.name() && a.at() == b.at() &&
         a.tensor->type == b.tensor->type &&
         a.tensor->sizes == b.tensor->sizes &&
         a.tensor->dim_order == b.tensor->dim_order;
}

std::vector<NamedState> FindNamedState(const PteProgram& program) {
  std::vector<NamedState> found;
  for (const PtePlan& plan : program.plans) {
    for (size_t v = 0; v < plan.values.size(); ++v) {
      const PteTensor* t = plan.values[v].tensor();
      if (t == nullptr || !t->allocation || !t->extra ||
          t->extra->name.empty()) {
        continue;
      }
      const auto bytes = TensorBytes(t->type, t->sizes);
      if (bytes.value_or(0) == 0) continue;
      found.push_back({&plan, v, t, *bytes});
    }
  }
  return found;
}

std::string PlaceText(const NamedState& s) {
  return "arena " + std::to_string(s.at().memory_id) + " from " +
         std::to_string(s.at().offset);
}

void Warn(const NamedState& a, const NamedState& b, Diagnostics& diags) {
  diags.Warning(Rule::kLintPte08,
                Place::Node(b.plan->name + "/%" + std::to_string(b.value)))
      << "buffer '" << b.name() << "', in " << PlaceText(b)
      << ", lies in the memory of buffer '" << a.name() << "' of method '"
      << a.plan->name << "', in " << PlaceText(a)
      << ", which is overwritten where methods are given the same memory";
}

}  // namespace

void CheckSharedState(const PteProgram& program, Diagnostics& diags) {
  std::vector<NamedState> state = FindNamedState(program);
  std::stable_sort(state.begin(), state.end(),
                   [](const NamedState& a, const NamedState& b) {
                     return std::tuple(a.at().memory_id, a.at().offset) <
                            std::tuple(b.at().memory_id, b.at().offset);
                   });
  // Of those before, the one that reaches farthest.
  const NamedState* farthest = nullptr;
  for (const NamedState& s : state) {
    const bool meets = farthest != nullptr &&
                       farthest->at().memory_id == s.at().memory_id &&
                       s.at().offset < farthest->end();
    if (meets && farthest->plan != s.plan && !IsSameBuffer(*farthest, s)) {
      Warn(*farthest, s, diags);
    }
    if (!meets || s.end() > farthest->end()) farthest = &s;
  }
}

}  // namespace tenon::pte
