#include "call_inputs.h"

#include <utility>

#include "command_line.h"
#include "formats/tensor/npy.h"
#include "formats/tensor/safetensors.h"
#include "runtime/binding.h"
#include "tensor_elements.h"
#include "testing/choices.h"
#include "text/text.h"

namespace tenon::tools {
namespace {

// What the text means for an input of this type; nullopt when it means nothing.
std::optional<RuntimeValue> ParseValue(const Type& type,
                                       std::string_view text) {
  switch (type.kind) {
    case TypeKind::kTensor:
      if (type.rank() != 0) return std::nullopt;
      if (Tensor t = ParseElement(text, type.dtype); t.defined()) {
        return RuntimeValue(std::move(t));
      }
      return std::nullopt;
    case TypeKind::kSymInt:
    case TypeKind::kInt:
      if (const auto i = ParseInt(text)) return RuntimeValue(*i);
      return std::nullopt;
    case TypeKind::kSymFloat:
    case TypeKind::kFloat:
      if (const auto f = ParseFloat(text)) return RuntimeValue(*f);
      return std::nullopt;
    case TypeKind::kSymBool:
    case TypeKind::kBool:
      if (const auto b = ParseBool(text)) return RuntimeValue(*b);
      return std::nullopt;
    case TypeKind::kString:
      return RuntimeValue(std::string(text));
    case TypeKind::kNone:
      if (text == "None") return RuntimeValue();
      return std::nullopt;
    case TypeKind::kObject:
      return std::nullopt;
  }
  return std::nullopt;
}

// Splits "path=value" at the first '='.
bool Split(std::string_view assignment, std::string_view* address,
           std::string_view* value) {
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) return false;
  *address = assignment.substr(0, equals);
  *value = assignment.substr(equals + 1);
  return true;
}

}  // namespace

CallInputs::CallInputs(const Program& program, Diagnostics& diags)
    : program_(program), diags_(diags) {
  const std::vector<std::string> paths = UserInputPaths(program);
  const std::vector<uint32_t> positions = UserInputPositions(program);
  for (size_t i = 0; i < positions.size(); ++i) {
    const ValueId v = program.root().inputs[positions[i]];
    const TypeId type = program.value(v).type;
    inputs_.push_back({i < paths.size() ? paths[i] : std::to_string(i), type,
                       FixedInput(program, program.type(type))});
  }
}

CallInputs::Input* CallInputs::Find(std::string_view address,
                                    const Place& place) {
  std::vector<std::string> paths;
  for (const Input& input : inputs_) paths.push_back(input.path);
  if (const auto at = FindUserInput(program_, paths, address)) {
    return &inputs_[*at];
  }
  const std::vector<std::string_view> known(paths.begin(), paths.end());
  std::string message = "no input is called '" + std::string(address) + "'";
  const std::string_view closest = ClosestName(address, known);
  if (!closest.empty()) {
    message += "; did you mean '" + std::string(closest) + "'?";
  } else if (known.empty()) {
    message += "; the program takes none";
  } else {
    message += ", expected one of " + std::string(known[0]);
    for (size_t i = 1; i < known.size() && i < 8; ++i) {
      message += ", " + std::string(known[i]);
    }
    if (known.size() > 8) message += ", ...";
  }
  diags_.Error(Rule::kUsage, place) << message;
  return nullptr;
}

Status CallInputs::Set(std::string_view address, RuntimeValue value,
                       const Place& place) {
  Input* input = Find(address, place);
  if (input == nullptr) return Failure{};
  if (input->value && !type(*input).is_literal()) {
    return diags_.Error(Rule::kUsage, place)
           << "input " << input->path << " is given twice";
  }
  input->value = std::move(value);
  return {};
}

Status CallInputs::AddSafetensors(const std::string& path) {
  Expected<Safetensors> file = OpenSafetensors(path, diags_);
  if (!file) return Failure{};
  for (NamedTensor& named : file->tensors) {
    TENON_TRY(Set(named.name, std::move(named.tensor), Place::File(path)));
  }
  return {};
}

Status CallInputs::AddNpy(std::string_view assignment) {
  std::string_view address, path;
  if (!Split(assignment, &address, &path)) {
    return diags_.Error(Rule::kUsage)
           << "option --input wants PATH=FILE.npy, not '" << assignment << "'";
  }
  TENON_ASSIGN(Tensor tensor, OpenNpy(std::string(path), diags_));
  return Set(address, std::move(tensor), Place::File(std::string(path)));
}

Status CallInputs::AddSetting(std::string_view assignment) {
  std::string_view address, text;
  if (!Split(assignment, &address, &text)) {
    return diags_.Error(Rule::kUsage)
           << "option --set wants PATH=VALUE, not '" << assignment << "'";
  }
  const Input* input = Find(address, {});
  if (input == nullptr) return Failure{};
  std::optional<RuntimeValue> value = ParseValue(type(*input), text);
  if (!value) {
    return diags_.Error(Rule::kUsage)
           << "input " << input->path << " is "
           << PrintType(program_, input->type) << ", and '" << text
           << "' is no value for it";
  }
  return Set(address, std::move(*value), {});
}

bool CallInputs::TryFill(uint64_t seed, std::vector<RuntimeValue>* out) const {
  const ExprPool& exprs = program_.context().exprs;
  testing::Choices choices(seed);
  SymbolValues symbols;
  const auto bindings = [&](ExprId id) -> std::optional<int64_t> {
    const auto it = symbols.find(id.index);
    if (it == symbols.end()) return std::nullopt;
    return it->second;
  };
  const auto fix = [&](const SymInt& size, int64_t value) {
    if (!size.is_literal()) {
      SolveSymbol(program_.context(), size.expr, value, &symbols);
    }
  };
  // What was given decides first.
  for (const Input& input : inputs_) {
    if (!input.value) continue;
    const Type& t = type(input);
    if (t.kind == TypeKind::kSymInt && input.value->is_int()) {
      fix(t.sym, input.value->int_value());
    }
    if (!t.is_tensor() || !input.value->is_tensor()) continue;
    const Sizes& sizes = input.value->tensor().sizes();
    for (size_t d = 0; d < std::min(sizes.size(), t.sizes.size()); ++d) {
      fix(t.sizes[d], sizes[d]);
    }
  }
  const auto draw = [&](const SymInt& size) -> std::optional<int64_t> {
    if (size.is_literal()) return size.value;
    std::vector<ExprId> unknown;
    exprs.CollectSymbols(size.expr, &unknown);
    for (const ExprId symbol : unknown) {
      if (symbols.contains(symbol.index)) continue;
      int64_t min = 2, max = INT64_MAX;
      for (const SymbolRange& range : program_.ranges) {
        if (range.expr != symbol) continue;
        min = range.min.value_or(min);
        max = range.max.value_or(max);
      }
      // Small sizes are as good as large ones, and faster.
      constexpr int64_t kSpread = 8;
      if (max > min && max - min > kSpread) max = min + kSpread;
      symbols[symbol.index] = max < min ? min : choices.Between(min, max);
    }
    return exprs.EvaluateInt(size.expr, bindings);
  };
  for (const Input& input : inputs_) {
    if (input.value) {
      out->push_back(*input.value);
      continue;
    }
    const Type& t = type(input);
    if (t.kind == TypeKind::kSymInt) {
      const auto value = draw(t.sym);
      if (!value) return false;
      out->emplace_back(*value);
    } else if (t.kind == TypeKind::kSymFloat) {
      out->emplace_back(static_cast<double>(choices.Between(-64, 64)) / 64);
    } else if (t.kind == TypeKind::kSymBool) {
      out->emplace_back(choices.OneIn(2));
    } else if (t.is_tensor()) {
      Sizes sizes;
      for (const SymInt& size : t.sizes) {
        const auto value = draw(size);
        if (!value || *value < 0) return false;
        sizes.push_back(*value);
      }
      Tensor tensor = RandomTensor(t.dtype, sizes, &choices);
      if (!tensor.defined()) return false;
      out->emplace_back(std::move(tensor));
    } else {
      return false;
    }
  }
  return true;
}

Status CallInputs::FillRandomly(uint64_t seed) {
  // Relations between sizes may exclude a drawing; another one may fit.
  constexpr uint64_t kTries = 200;
  Diagnostics reasons;
  const std::vector<Guard> guards = ParseGuards(program_);
  for (uint64_t i = 0; i < kTries; ++i) {
    std::vector<RuntimeValue> values;
    if (!TryFill(seed + i * 0x9E3779B97F4A7C15ull, &values)) continue;
    reasons.Clear();
    if (!CheckUserInputs(program_, values, guards, reasons)) continue;
    for (size_t k = 0; k < inputs_.size(); ++k) {
      inputs_[k].value = std::move(values[k]);
    }
    return {};
  }
  if (!reasons.has_errors()) {
    return diags_.Error(Rule::kUnsupported)
           << "inputs of these types can't be drawn";
  }
  for (const Diagnostic& d : reasons.all()) diags_.Report(d);
  return Failure{};
}

Expected<std::vector<RuntimeValue>> CallInputs::Take() {
  std::vector<RuntimeValue> out;
  bool is_complete = true;
  for (Input& input : inputs_) {
    if (!input.value) {
      diags_.Error(Rule::kUsage, Place::Node(input.path))
          << "the input is missing: " << PrintType(program_, input.type);
      is_complete = false;
      continue;
    }
    out.push_back(std::move(*input.value));
  }
  if (!is_complete) return Failure{};
  return out;
}

}  // namespace tenon::tools
