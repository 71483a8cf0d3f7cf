#include "executorch/plan_draft.h"

#include <string>
#include <utility>
#include <variant>

#include "support/assert.h"

namespace tenon::executorch {

int32_t PlanDraft::Add(PteContent content) {
  plan.values.push_back({std::move(content)});
  block_of.push_back(kNoBlock);
  return static_cast<int32_t>(plan.values.size() - 1);
}

int32_t PlanDraft::AddTensor(PteTensor tensor, uint32_t block) {
  const int32_t value = Add(std::move(tensor));
  block_of.back() = block;
  return value;
}

void PlanDraft::CallKernel(std::string_view name, std::vector<int32_t> args) {
  const PteKernel* kernel = FindPteKernel(name);
  TENON_ASSERT(kernel != nullptr, "only kernels that exist are called");
  TENON_ASSERT(args.size() == kernel->num_args(),
               "a kernel gets as many arguments as it takes");
  const auto [entry, is_new] = operators_.emplace(
      kernel->name, static_cast<int32_t>(plan.operators.size()));
  if (is_new) {
    const std::string text(kernel->name);
    const size_t dot = text.find('.');
    PteOperator op;
    op.name = text.substr(0, dot);
    if (dot != std::string::npos) op.overload = text.substr(dot + 1);
    plan.operators.push_back(std::move(op));
  }
  instructions().push_back({PteKernelCall{entry->second, std::move(args)}});
}

void PlanDraft::Move(int32_t from, int32_t to) {
  instructions().push_back({PteMoveCall{from, to}});
}

uint32_t PlanDraft::JumpIfFalse(int32_t condition) {
  instructions().push_back({PteJumpFalseCall{condition, 0}});
  return next_instruction() - 1;
}

void PlanDraft::JumpHere(uint32_t jump) { JumpTo(jump, next_instruction()); }

void PlanDraft::JumpTo(uint32_t jump, uint32_t target) {
  std::get<PteJumpFalseCall>(instructions()[jump].action).target =
      static_cast<int32_t>(target);
}

}  // namespace tenon::executorch
