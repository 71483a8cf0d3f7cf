// Calls of delegates against what their payloads bind, and who may touch what
// lies on a device (V-PTE-35, D-2).
#include <string>
#include <string_view>
#include <variant>

#include "formats/pte/checks.h"
#include "formats/pte/delegate_boundary.h"

namespace tenon::pte {
namespace {

bool IsOnDevice(const PteTensor& tensor) {
  return tensor.extra && tensor.extra->device != PteDevice::kCpu;
}

class DelegateCheck {
 public:
  explicit DelegateCheck(const PlanCheck& check) : check_(check) {}

  bool Run() {
    for (size_t d = 0; d < check_.plan.delegates.size(); ++d) {
      const Place place =
          Place::Node(check_.plan.name + "/delegate " + std::to_string(d));
      auto boundary = ReadDelegateBoundary(
          check_.program, check_.plan.delegates[d], place, check_.diags);
      if (!boundary) holds_ = false;
      boundaries_.push_back(boundary ? std::move(*boundary) : std::nullopt);
    }
    for (size_t c = 0; c < check_.plan.chains.size(); ++c) {
      const auto& instructions = check_.plan.chains[c].instructions;
      for (size_t i = 0; i < instructions.size(); ++i) {
        place_ = check_.InstructionPlace(c, i);
        if (const auto* call =
                std::get_if<PteDelegateCall>(&instructions[i].action)) {
          CheckCall(*call);
        } else if (const auto* kernel =
                       std::get_if<PteKernelCall>(&instructions[i].action)) {
          CheckKernel(*kernel);
        }
      }
    }
    return holds_;
  }

 private:
  DiagnosticBuilder Error() {
    holds_ = false;
    return check_.diags.Error(Rule::kPte35, place_);
  }

  void CheckCall(const PteDelegateCall& call) {
    const auto& boundary =
        boundaries_[static_cast<size_t>(call.delegate_index)];
    if (!boundary) return;
    const size_t num_inputs = boundary->inputs.size();
    const size_t count = num_inputs + boundary->outputs.size();
    if (call.args.size() != count) {
      Error() << call.args.size() << " arguments for a payload that binds "
              << num_inputs << " inputs and " << boundary->outputs.size()
              << " outputs";
      return;
    }
    for (size_t i = 0; i < count; ++i) {
      const bool is_input = i < num_inputs;
      CheckArgument(
          call.args[i],
          (is_input ? "input " : "output ") +
              std::to_string(is_input ? i : i - num_inputs),
          is_input ? boundary->inputs[i] : boundary->outputs[i - num_inputs],
          boundary->takes_device_tensors_only);
    }
    for (const DeclaredWrite& write : boundary->writes) {
      CheckWrite(write, call.args[write.input],
                 call.args[num_inputs + write.output]);
    }
  }

  void CheckArgument(int32_t value, const std::string& what,
                     const DelegateBinding& binding, bool needs_device) {
    const PteTensor* tensor = check_.Tensor(value);
    if (tensor == nullptr) {
      Error() << what << " is no tensor";
      return;
    }
    if (needs_device && !IsOnDevice(*tensor)) {
      Error() << what << " isn't on the delegate's device";
    }
    if (binding.type && *binding.type != tensor->type) {
      Error() << what << " is " << Name(tensor->type) << ", the payload binds "
              << Name(*binding.type);
    }
    if (!binding.has_sizes) return;
    if (binding.max.size() != tensor->sizes.size()) {
      Error() << what << " has " << tensor->sizes.size()
              << " dimensions, the payload binds " << binding.max.size();
      return;
    }
    for (size_t d = 0; d < binding.max.size(); ++d) {
      const int64_t size = tensor->sizes[d];
      if (binding.max[d] < 0 ||
          (size >= binding.min[d] && size <= binding.max[d])) {
        continue;
      }
      Error() << what << " has size " << size << " in dimension " << d
              << ", the payload binds " << binding.min[d] << " to "
              << binding.max[d];
    }
  }

  void CheckWrite(const DeclaredWrite& write, int32_t input, int32_t output) {
    const PteTensor* from = check_.Tensor(input);
    const PteTensor* to = check_.Tensor(output);
    if (from == nullptr || to == nullptr) return;
    if (!IsOnDevice(*from)) {
      Error() << "input " << write.input
              << " is written in place and isn't on the delegate's device";
    }
    if (from->type != to->type || from->sizes != to->sizes) {
      Error() << "output " << write.output << " is written over input "
              << write.input << ", which has another dtype or shape";
    }
  }

  void CheckKernel(const PteKernelCall& call) {
    const PteKernel* kernel =
        check_.kernels[static_cast<size_t>(call.operator_index)];
    if (kernel == nullptr || call.args.empty()) return;
    const bool to_device = kernel->name == "et_copy::_h2d_copy.out";
    const bool to_host = kernel->name == "et_copy::_d2h_copy.out";
    for (size_t i = 0; i < call.args.size(); ++i) {
      if (call.args[i] < 0) continue;
      const PteTensor* tensor = check_.Tensor(call.args[i]);
      if (tensor == nullptr) continue;
      const bool wants_device = (to_device && i > 0) || (to_host && i == 0);
      if (IsOnDevice(*tensor) == wants_device) continue;
      Error() << kernel->name << " gets argument " << i
              << (wants_device ? " on the host" : " on a device");
      return;
    }
  }

  const PlanCheck& check_;
  Place place_;
  std::vector<std::optional<DelegateBoundary>> boundaries_;
  bool holds_ = true;
};

}  // namespace

bool CheckDelegateCalls(const PlanCheck& check) {
  return DelegateCheck(check).Run();
}

}  // namespace tenon::pte
