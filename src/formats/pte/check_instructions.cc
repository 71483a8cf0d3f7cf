// V-PTE-19 to V-PTE-23: what instructions refer to.
#include <variant>

#include "formats/pte/checks.h"

namespace tenon::pte {
namespace {

class InstructionCheck {
 public:
  explicit InstructionCheck(const PlanCheck& check) : check_(check) {}

  bool Check() {
    const auto& chains = check_.plan.chains;
    if (chains.empty()) {
      holds_ = false;
      check_.diags.Error(Rule::kPte19, check_.Here())
          << "a method without a chain of instructions";
    }
    for (chain_ = 0; chain_ < chains.size(); ++chain_) {
      const auto& instructions = chains[chain_].instructions;
      for (at_ = 0; at_ < instructions.size(); ++at_) {
        std::visit([&](const auto& i) { CheckOne(i); },
                   instructions[at_].action);
      }
    }
    return holds_;
  }

 private:
  DiagnosticBuilder Error(Rule rule) {
    holds_ = false;
    return check_.diags.Error(rule, check_.InstructionPlace(chain_, at_));
  }

  // V-PTE-19
  void CheckIndex(std::string_view what, int32_t index, size_t count) {
    if (index >= 0 && static_cast<size_t>(index) < count) return;
    Error(Rule::kPte19) << what << " " << index << " of " << count;
  }
  const PteValue* FindValue(std::string_view what, int32_t value) {
    CheckIndex(what, value, check_.plan.values.size());
    return check_.Find(value);
  }
  void CheckArgs(const std::vector<int32_t>& args) {
    for (size_t i = 0; i < args.size(); ++i) {
      if (check_.Find(args[i]) != nullptr) continue;
      Error(Rule::kPte19) << "argument " << i << " is value " << args[i]
                          << " of " << check_.plan.values.size();
    }
  }

  void CheckOne(const PteKernelCall& call) {
    CheckIndex("operator", call.operator_index, check_.plan.operators.size());
    CheckArgs(call.args);
  }

  void CheckOne(const PteDelegateCall& call) {
    CheckIndex("delegate", call.delegate_index, check_.plan.delegates.size());
    CheckArgs(call.args);
  }

  // V-PTE-22
  void CheckOne(const PteMoveCall& move) {
    const PteValue* from = FindValue("move from value", move.from);
    const PteValue* to = FindValue("move to value", move.to);
    if (from == nullptr || to == nullptr) return;
    if (from->content.index() != to->content.index()) {
      Error(Rule::kPte22) << "moves a " << KindName(*from) << " to value "
                          << move.to << ", a " << KindName(*to);
      return;
    }
    const PteTensor* a = from->tensor();
    const PteTensor* b = to->tensor();
    if (a == nullptr ||
        (a->type == b->type && a->sizes.size() == b->sizes.size())) {
      return;
    }
    Error(Rule::kPte22) << "moves " << TypeText(a->type, a->sizes)
                        << " to value " << move.to << ", "
                        << TypeText(b->type, b->sizes);
  }

  void CheckOne(const PteJumpFalseCall& jump) {
    const size_t end = check_.plan.chains[chain_].instructions.size();
    // V-PTE-20
    if (jump.target < 0 || static_cast<size_t>(jump.target) > end) {
      Error(Rule::kPte20) << "jumps to " << jump.target << " in a chain of "
                          << end;
    }
    // V-PTE-21
    const PteValue* condition = FindValue("condition", jump.condition);
    if (condition == nullptr) return;
    const PteTensor* tensor = condition->tensor();
    if (std::holds_alternative<PteBool>(condition->content) ||
        (tensor != nullptr && tensor->type == PteScalarType::kBool)) {
      return;
    }
    Error(Rule::kPte21) << "the condition, value " << jump.condition
                        << ", is a " << KindName(*condition)
                        << (tensor != nullptr ? " of " : "")
                        << (tensor != nullptr ? Name(tensor->type) : "")
                        << ", expected a Bool";
  }

  // V-PTE-23
  void CheckOne(const PteFreeCall& free) {
    const PteValue* value = FindValue("free of value", free.value);
    if (value == nullptr) return;
    const PteTensor* tensor = value->tensor();
    if (tensor == nullptr) {
      Error(Rule::kPte23) << "frees value " << free.value << ", a "
                          << KindName(*value);
    } else if (tensor->allocation) {
      Error(Rule::kPte23) << "frees value " << free.value
                          << ", whose memory is planned";
    }
  }

  const PlanCheck& check_;
  size_t chain_ = 0;
  size_t at_ = 0;
  bool holds_ = true;
};

}  // namespace

bool CheckInstructions(const PlanCheck& check) {
  return InstructionCheck(check).Check();
}

}  // namespace tenon::pte
