// V-PTE-24 to V-PTE-27, W-PTE-04, W-PTE-07: kernel calls against the schemas of
// the kernels.
#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "formats/pte/checks.h"

namespace tenon::pte {
namespace {

template <typename T>
bool Is(const PteValue& value) {
  return std::holds_alternative<T>(value.content);
}

bool IsOneOf(SchemaType type, const PteValue& v) {
  switch (type) {
    case SchemaType::kTensor:
      return Is<PteTensor>(v);
    case SchemaType::kInt:
    case SchemaType::kDtype:
    case SchemaType::kLayout:
    case SchemaType::kMemoryFormat:
      return Is<PteInt>(v);
    case SchemaType::kFloat:
      return Is<PteDouble>(v);
    case SchemaType::kBool:
      return Is<PteBool>(v);
    case SchemaType::kScalar:
      return Is<PteInt>(v) || Is<PteDouble>(v) || Is<PteBool>(v);
    case SchemaType::kString:
      return Is<PteString>(v);
    case SchemaType::kDevice:
    case SchemaType::kGenerator:
    case SchemaType::kOther:
      // No kernel takes them; None stands for an optional one.
      return Is<PteNull>(v);
  }
  return false;
}

bool IsListOf(const SchemaArg& arg, const PteValue& v) {
  switch (arg.type) {
    case SchemaType::kTensor:
      return arg.element_optional ? Is<PteOptionalTensorList>(v)
                                  : Is<PteTensorList>(v);
    case SchemaType::kInt:
      return Is<PteIntList>(v);
    case SchemaType::kFloat:
      return Is<PteDoubleList>(v);
    case SchemaType::kBool:
      return Is<PteBoolList>(v);
    case SchemaType::kScalar:
    case SchemaType::kString:
    case SchemaType::kDtype:
    case SchemaType::kLayout:
    case SchemaType::kDevice:
    case SchemaType::kMemoryFormat:
    case SchemaType::kGenerator:
    case SchemaType::kOther:
      return false;
  }
  return false;
}

bool Fits(const SchemaArg& arg, const PteValue& value) {
  if (arg.is_optional && Is<PteNull>(value)) return true;
  return arg.is_list ? IsListOf(arg, value) : IsOneOf(arg.type, value);
}

std::string_view TypeWord(SchemaType type) {
  switch (type) {
    case SchemaType::kTensor:
      return "Tensor";
    case SchemaType::kInt:
    case SchemaType::kDtype:
    case SchemaType::kLayout:
    case SchemaType::kMemoryFormat:
      return "Int";
    case SchemaType::kFloat:
      return "Double";
    case SchemaType::kBool:
      return "Bool";
    case SchemaType::kScalar:
      return "Scalar";
    case SchemaType::kString:
      return "String";
    case SchemaType::kDevice:
    case SchemaType::kGenerator:
    case SchemaType::kOther:
      return "Null";
  }
  return "";
}

std::string ExpectedText(const SchemaArg& arg) {
  std::string text(TypeWord(arg.type));
  if (arg.element_optional) text = "Optional" + text;
  if (arg.is_list) text += "List";
  return text + (arg.is_optional ? " or Null" : "") + " expected";
}

// Kernels that only set a tensor's sizes and pointer.
bool WritesNoBytes(const PteKernel& kernel) {
  return kernel.name == "executorch_prim::et_view.default";
}

class KernelCallCheck {
 public:
  explicit KernelCallCheck(const PlanCheck& check) : check_(check) {
    FindMemory();
  }

  bool Check() {
    std::vector<bool> is_called(check_.plan.operators.size());
    const auto& chains = check_.plan.chains;
    for (chain_ = 0; chain_ < chains.size(); ++chain_) {
      const auto& instructions = chains[chain_].instructions;
      for (at_ = 0; at_ < instructions.size(); ++at_) {
        const auto& action = instructions[at_].action;
        if (const auto* call = std::get_if<PteKernelCall>(&action)) {
          is_called[call->operator_index] = true;
          CheckCall(*call);
        } else if (const auto* delegate =
                       std::get_if<PteDelegateCall>(&action)) {
          CheckDelegateArgs(*delegate);
        }
      }
    }
    CheckOperators(is_called);
    return holds_;
  }

 private:
  DiagnosticBuilder Error(Rule rule) {
    holds_ = false;
    return check_.diags.Error(rule, check_.InstructionPlace(chain_, at_));
  }

  // What gets memory from the plan, from stored data, from the caller, or by
  // being moved or viewed.
  void FindMemory() {
    has_memory_.resize(check_.plan.values.size());
    for (size_t i = 0; i < has_memory_.size(); ++i) {
      const PteTensor* t = check_.plan.values[i].tensor();
      has_memory_[i] =
          t != nullptr &&
          (t->allocation || t->is_external() || t->data_index > 0 ||
           TensorBytes(t->type, t->sizes).value_or(0) == 0);
    }
    const auto mark = [&](int32_t value) {
      if (check_.Find(value) != nullptr) has_memory_[value] = true;
    };
    for (const int32_t input : check_.plan.inputs) mark(input);
    for (const int32_t output : check_.plan.outputs) mark(output);
    for (const PteChain& chain : check_.plan.chains) {
      for (const PteInstruction& instruction : chain.instructions) {
        if (const auto* move = std::get_if<PteMoveCall>(&instruction.action)) {
          mark(move->to);
        }
        const auto* call = std::get_if<PteKernelCall>(&instruction.action);
        if (call == nullptr || call->args.empty()) continue;
        const PteKernel* kernel = check_.kernels[call->operator_index];
        if (kernel != nullptr && WritesNoBytes(*kernel)) {
          mark(call->args.back());
        }
      }
    }
  }

  // V-PTE-24. A runtime looks up the whole table when it loads a method.
  void CheckOperators(const std::vector<bool>& is_called) {
    for (size_t i = 0; i < check_.plan.operators.size(); ++i) {
      const std::string name = KernelName(check_.plan.operators[i]);
      const Place place = check_.Here();
      if (name.size() > kMaxKernelNameBytes) {
        holds_ = false;
        check_.diags.Error(Rule::kPte24, place)
            << "operator " << i << " has a name of " << name.size()
            << " bytes, expected at most " << kMaxKernelNameBytes;
        continue;
      }
      if (check_.kernels[i] != nullptr ||
          check_.options.host_kernels.contains(name)) {
        continue;
      }
      if (is_called[i]) {
        holds_ = false;
        check_.diags.Error(Rule::kPte24, place)
            << "operator " << i << ": there is no kernel " << name;
      } else if (check_.options.lint) {
        check_.diags.Warning(Rule::kLintPte07, place)
            << "operator " << i << ": there is no kernel " << name
            << ", and nothing calls it";
      }
    }
  }

  void CheckCall(const PteKernelCall& call) {
    const PteKernel* kernel = check_.kernels[call.operator_index];
    if (kernel == nullptr) return;
    // V-PTE-25
    if (call.args.size() != kernel->num_args()) {
      Error(Rule::kPte25) << kernel->name << " takes " << kernel->num_args()
                          << " arguments, " << call.args.size() << " given";
      return;
    }
    // V-PTE-26
    const auto& args = kernel->schema.args;
    bool kinds_hold = true;
    for (size_t i = 0; i < args.size(); ++i) {
      const PteValue& value = check_.plan.values[call.args[i]];
      if (Fits(args[i], value)) continue;
      kinds_hold = false;
      Error(Rule::kPte26) << "argument " << i << " of " << kernel->name << ", '"
                          << args[i].name << "', is " << KindName(value) << ", "
                          << ExpectedText(args[i]);
    }
    if (!kinds_hold) return;
    if (kernel->returns_scalar()) {
      CheckScalarResult(*kernel, call);
    } else if (kernel->repeats_result() && check_.options.lint) {
      CheckRepeatedResult(*kernel, call);
    }
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i].type != SchemaType::kTensor) continue;
      const bool is_written = args[i].is_written && !WritesNoBytes(*kernel);
      CheckTensors(*kernel, args[i].name, is_written,
                   check_.plan.values[call.args[i]], call.args[i]);
    }
  }

  // A primitive replaces its last argument by the result.
  void CheckScalarResult(const PteKernel& kernel, const PteKernelCall& call) {
    const PteValue& result = check_.plan.values[call.args.back()];
    const SchemaType type = kernel.schema.returns[0].type;
    if (IsOneOf(type, result)) return;
    Error(Rule::kPte26) << "the result of " << kernel.name << " is "
                        << KindName(result) << ", " << TypeWord(type)
                        << " expected";
  }

  // W-PTE-04
  void CheckRepeatedResult(const PteKernel& kernel, const PteKernelCall& call) {
    std::vector<int32_t> results;
    const auto& args = kernel.schema.args;
    for (size_t i = 0; i < args.size(); ++i) {
      if (!args[i].is_written) continue;
      const PteValue& value = check_.plan.values[call.args[i]];
      const auto* list = std::get_if<PteTensorList>(&value.content);
      if (list == nullptr) {
        results.push_back(call.args[i]);
      } else {
        // Once for each pair of lists, however many calls name them.
        const std::pair pair(call.args[i], call.args.back());
        if (!compared_lists_.insert(pair).second) return;
        results.insert(results.end(), list->items.begin(), list->items.end());
      }
    }
    const int32_t tail = call.args.back();
    const auto* list =
        std::get_if<PteTensorList>(&check_.plan.values[tail].content);
    // Where a statistic is updated, too, the tail names the results alone.
    const std::span<const int32_t> named =
        list == nullptr ? std::span(&tail, 1)
                        : std::span<const int32_t>(list->items);
    const bool repeats =
        named.size() <= results.size() &&
        std::equal(named.rbegin(), named.rend(), results.rbegin());
    if (repeats || results.empty()) return;
    check_.diags.Warning(Rule::kLintPte04, check_.InstructionPlace(chain_, at_))
        << "the last argument of " << kernel.name << ", value " << tail
        << ", isn't its result";
  }

  // V-PTE-27. A list that many calls name is looked at once.
  void CheckTensors(const PteKernel& kernel, std::string_view arg,
                    bool is_written, const PteValue& value, int32_t index) {
    if (const auto* list = std::get_if<PteTensorList>(&value.content)) {
      if (!checked_lists_.insert({index, is_written}).second) return;
      for (const int32_t item : list->items) {
        CheckTensor(kernel, arg, is_written, item);
      }
    } else if (value.tensor() != nullptr) {
      CheckTensor(kernel, arg, is_written, index);
    }
  }

  void CheckTensor(const PteKernel& kernel, std::string_view arg,
                   bool is_written, int32_t value) {
    const PteTensor& tensor = *check_.Tensor(value);
    if (!has_memory_[value]) {
      Error(Rule::kPte27) << "'" << arg << "' of " << kernel.name << ", value "
                          << value << ", has no memory";
    } else if (is_written && !tensor.allocation &&
               (tensor.is_constant() || tensor.is_external())) {
      Error(Rule::kPte27) << "'" << arg << "' of " << kernel.name << ", value "
                          << value << ", is written, and is a constant";
    }
  }

  void CheckDelegateArgs(const PteDelegateCall& call) {
    for (size_t i = 0; i < call.args.size(); ++i) {
      const int32_t value = call.args[i];
      if (check_.Tensor(value) == nullptr || has_memory_[value]) continue;
      Error(Rule::kPte27) << "argument " << i << " of the delegate, value "
                          << value << ", has no memory";
    }
  }

  const PlanCheck& check_;
  std::vector<bool> has_memory_;  // by value; of tensors
  std::set<std::pair<int32_t, bool>> checked_lists_;
  std::set<std::pair<int32_t, int32_t>> compared_lists_;
  size_t chain_ = 0;
  size_t at_ = 0;
  bool holds_ = true;
};

}  // namespace

bool CheckKernelCalls(const PlanCheck& check) {
  return KernelCallCheck(check).Check();
}

}  // namespace tenon::pte
