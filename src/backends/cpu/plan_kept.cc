// Finds what a plan computes from weights alone (kept_values.h).
#include <algorithm>
#include <set>
#include <utility>

#include "backends/cpu/plan_builder.h"

namespace tenon::cpu {

bool PlanBuilder::IsFixedInput(uint32_t buffer) const {
  const Buffer& b = buffers_[buffer];
  if (b.kind != BufferKind::kInput) return false;
  const auto& written = request_.written_inputs;
  return std::find(written.begin(), written.end(), b.input) == written.end() &&
         !request_.inputs[b.input].tensor().storage()->writable();
}

std::optional<PlanBuilder::FixedSteps> PlanBuilder::FindFixedSteps(
    uint32_t root) const {
  FixedSteps found;
  std::set<uint32_t> buffers = {root}, inputs;
  std::vector<uint32_t> open = {root};
  while (!open.empty()) {
    const uint32_t buffer = open.back();
    open.pop_back();
    size_t writer = steps_.size();
    for (size_t s = 0; s < steps_.size(); ++s) {
      const auto& writes = steps_[s].writes;
      if (std::find(writes.begin(), writes.end(), buffer) == writes.end()) {
        continue;
      }
      if (writer != steps_.size()) return std::nullopt;
      writer = s;
    }
    if (writer == steps_.size() || steps_[writer].pointwise == nullptr ||
        buffers_[buffer].kind != BufferKind::kArena) {
      return std::nullopt;
    }
    found.steps.push_back(writer);
    for (const uint32_t b : steps_[writer].reads) {
      if (IsFixedInput(b)) {
        inputs.insert(buffers_[b].input);
      } else if (buffers_[b].kind != BufferKind::kConstant &&
                 buffers.insert(b).second) {
        open.push_back(b);
      }
    }
  }
  found.buffers.assign(buffers.begin(), buffers.end());
  found.inputs.assign(inputs.begin(), inputs.end());
  return found;
}

void PlanBuilder::Keep(const Tensor& weight) {
  const auto at = buffer_of_storage_.find(weight.storage().get());
  if (!keeps_weights_ || at == buffer_of_storage_.end() ||
      buffers_[at->second].kind != BufferKind::kArena ||
      kept_roots_.contains(at->second) || !FindFixedSteps(at->second)) {
    return;
  }
  kept_roots_.insert(at->second);
}

bool PlanBuilder::MakeKeptSteps() {
  for (const uint32_t root : kept_roots_) {
    if (buffers_[root].kind == BufferKind::kKept) continue;  // with another
    const bool is_read =
        std::any_of(steps_.begin(), steps_.end(), [&](const PlannedStep& s) {
          return std::find(s.reads.begin(), s.reads.end(), root) !=
                 s.reads.end();
        });
    if (!is_read) continue;
    const auto fixed = FindFixedSteps(root);
    if (!fixed) return false;
    std::vector<KeptValues::Value> values;
    for (const uint32_t b : fixed->buffers) {
      values.push_back({b, buffers_[b].size_bytes});
      buffers_[b].kind = BufferKind::kKept;
    }
    kept_values_.push_back(
        std::make_unique<KeptValues>(std::move(values), fixed->inputs));
    for (const size_t s : fixed->steps) {
      PlannedStep& planned = steps_[s];
      planned.step = std::make_unique<KeptStep>(std::move(planned.step),
                                                kept_values_.back().get());
      planned.pointwise = nullptr;
    }
  }
  return true;
}

}  // namespace tenon::cpu
