#include "pte_calls.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "formats/pte/pte_kinds.h"
#include "formats/pte/pte_text.h"
#include "ir/kinds.h"

namespace tenon::tools {
namespace {

constexpr std::pair<PteScalarType, std::string_view> kCppNames[] = {
#define TENON_PTE_SCALAR_TYPE(name, code, short_name, bytes, runs) \
  {PteScalarType::name, #name},
#include "formats/pte/pte_kinds.def"
};

// c10's name: "Float", "BFloat16", "Float8_e5m2".
std::string CppName(PteScalarType type) {
  switch (type) {
    case PteScalarType::kFloat8E5M2:
      return "Float8_e5m2";
    case PteScalarType::kFloat8E4M3FN:
      return "Float8_e4m3fn";
    case PteScalarType::kFloat8E5M2FNUZ:
      return "Float8_e5m2fnuz";
    case PteScalarType::kFloat8E4M3FNUZ:
      return "Float8_e4m3fnuz";
    default:
      break;
  }
  for (const auto& [known, name] : kCppNames) {
    if (known == type) return std::string(name.substr(1));
  }
  return "Undefined";
}

// PyTorch's name: "float32".
std::string TorchName(PteScalarType type) {
  const auto dtype = FindDType(Name(type));
  return std::string(dtype ? tenon::Name(*dtype) : Name(type));
}

template <typename T>
std::string List(const std::vector<T>& items) {
  std::string out;
  for (const T item : items) {
    out += (out.empty() ? "" : ", ") + std::to_string(item);
  }
  return out;
}

bool IsRowMajor(const std::vector<uint8_t>& order) {
  return std::is_sorted(order.begin(), order.end());
}

bool NeedsData(const PtePlan& plan) {
  return std::any_of(
      plan.values.begin(), plan.values.end(), [](const PteValue& v) {
        return v.tensor() != nullptr && v.tensor()->is_external();
      });
}

const PteTensor* TensorAt(const PtePlan& plan, int32_t value) {
  const bool exists =
      value >= 0 && static_cast<size_t>(value) < plan.values.size();
  return exists ? plan.values[static_cast<size_t>(value)].tensor() : nullptr;
}

// "x0 = torch.empty(4, 3, dtype=torch.float32)"
std::string PythonInput(const PtePlan& plan, size_t i) {
  const PteSlot slot = SlotOf(plan, plan.inputs[i]);
  const std::string name = "x" + std::to_string(i);
  if (TensorAt(plan, plan.inputs[i]) == nullptr) {
    std::string value = slot.value;
    if (slot.kind == "Bool") value = value == "true" ? "True" : "False";
    if (slot.kind == "Null") value = "None";
    if (slot.kind == "Double" &&
        value.find_first_not_of("-infa") == std::string::npos) {
      value = "float(\"" + value + "\")";
    }
    return name + " = " + value;
  }
  std::string out = name + " = torch.empty((" + List(slot.sizes) +
                    (slot.sizes.size() == 1 ? ",)" : ")") + ", dtype=torch." +
                    slot.dtype + ")";
  if (!IsRowMajor(slot.dim_order)) {
    out += ".to(memory_format=torch.channels_last)";
  }
  return out + (slot.is_bounded ? "  # or smaller" : "");
}

// "auto x0 = from_blob(p0, {4, 3}, ScalarType::Float);"
std::string CppTensor(const PteTensor& t, const std::string& name,
                      const std::string& memory) {
  std::string out = "auto " + name + " = from_blob(" + memory + ", {" +
                    List(t.sizes) + "}, ScalarType::" + CppName(t.type) + ");";
  if (t.shape != PteShape::kStatic) out += "  // or smaller";
  return out;
}

std::string CppInput(const PtePlan& plan, size_t i) {
  const std::string number = std::to_string(i);
  const PteTensor* t = TensorAt(plan, plan.inputs[i]);
  if (t != nullptr) {
    if (IsRowMajor(t->dim_order)) {
      return CppTensor(*t, "x" + number, "p" + number);
    }
    return "auto x" + number + " = make_tensor_ptr({" + List(t->sizes) +
           "}, p" + number + ", {" + List(t->dim_order) +
           "}, {}, ScalarType::" + CppName(t->type) + ");";
  }
  const PteSlot slot = SlotOf(plan, plan.inputs[i]);
  if (slot.kind == "Int")
    return "EValue x" + number + "(int64_t{" + slot.value + "});";
  if (slot.kind == "Null") return "EValue x" + number + ";";
  if (slot.kind == "String") {
    return "ArrayRef<char> s" + number + "(" + slot.value + ", " +
           std::to_string(slot.value.size() - 2) + "); EValue x" + number +
           "(&s" + number + ");";
  }
  return "EValue x" + number + "(" + slot.value + ");";
}

std::string Names(size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    out += (i > 0 ? ", x" : "x") + std::to_string(i);
  }
  return out;
}

}  // namespace

std::string PteSlot::Describe() const {
  if (kind != "Tensor") {
    return value.empty() ? kind : kind + ", always " + value;
  }
  std::string out = dtype + "[" + List(sizes) + "]";
  if (!IsRowMajor(dim_order)) out += " in the order " + List(dim_order);
  if (is_bounded) out += " at most";
  if (is_callers) out += ", caller's memory";
  return out;
}

PteSlot SlotOf(const PtePlan& plan, int32_t value) {
  PteSlot slot;
  if (value < 0 || static_cast<size_t>(value) >= plan.values.size()) {
    slot.kind = "nothing";
    return slot;
  }
  const PteValue& content = plan.values[static_cast<size_t>(value)];
  slot.kind = KindName(content);
  const PteTensor* t = content.tensor();
  if (t == nullptr) {
    // "int 7"
    const std::string text = PrintValue(content);
    const size_t space = text.find(' ');
    if (space != std::string::npos) slot.value = text.substr(space + 1);
    return slot;
  }
  slot.dtype = TorchName(t->type);
  slot.sizes = t->sizes;
  slot.dim_order = t->dim_order;
  slot.is_bounded = t->shape != PteShape::kStatic;
  slot.is_callers = !t->allocation && !t->is_constant() && !t->is_external();
  return slot;
}

std::vector<std::string> PythonCall(const PtePlan& plan) {
  std::vector<std::string> lines;
  lines.push_back("from executorch.runtime import Runtime");
  lines.push_back(std::string("program = Runtime.get().load_program(FILE") +
                  (NeedsData(plan) ? ", data_path=DATA)" : ")"));
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    lines.push_back(PythonInput(plan, i));
  }
  lines.push_back("outputs = program.load_method(\"" + plan.name +
                  "\").execute([" + Names(plan.inputs.size()) + "])");
  return lines;
}

std::vector<std::string> CppCall(const PtePlan& plan) {
  std::vector<std::string> lines;
  lines.push_back(
      std::string("Module module(FILE") +
      (NeedsData(plan) ? ", std::vector<std::string>{DATA});" : ");"));
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    lines.push_back(CppInput(plan, i));
  }
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const PteTensor* t = TensorAt(plan, plan.outputs[i]);
    const bool is_input = std::find(plan.inputs.begin(), plan.inputs.end(),
                                    plan.outputs[i]) != plan.inputs.end();
    if (t == nullptr || is_input || !SlotOf(plan, plan.outputs[i]).is_callers) {
      continue;
    }
    const std::string number = std::to_string(i);
    lines.push_back(CppTensor(*t, "y" + number, "q" + number));
    lines.push_back("module.set_output(\"" + plan.name + "\", y" + number +
                    ", " + number + ");");
  }
  lines.push_back("auto outputs = module.execute(\"" + plan.name + "\", {" +
                  Names(plan.inputs.size()) + "});");
  return lines;
}

}  // namespace tenon::tools
