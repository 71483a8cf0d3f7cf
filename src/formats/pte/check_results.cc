// V-PTE-28: results of kernels against the tensors that they are written to.
//
// A kernel writes what an operator of PyTorch returns, so that operator's rules
// for shapes and dtypes (analysis/infer.h) say what its out tensors must be.
// Only what is certain is compared: static shapes, arguments whose numbers are
// in the file rather than computed, operators with a rule.
#include <algorithm>
#include <memory>
#include <optional>
#include <variant>

#include "analysis/infer.h"
#include "formats/pte/checks.h"
#include "ir/program.h"

namespace tenon::pte {
namespace {

// A bound against hostile programs, whose calls may all name one long list.
constexpr uint64_t kMaxItems = uint64_t{1} << 24;

std::optional<DType> ToDType(PteScalarType type) {
  return FindDType(Name(type));
}

// Whether a kernel can store a result of one dtype in a tensor of another.
bool CanHold(DType result, DType out) {
  const auto rank = [](DType t) {
    if (IsComplex(t)) return 3;
    if (IsFloating(t)) return 2;
    return t == DType::kBool ? 0 : 1;
  };
  return rank(result) <= rank(out);
}

class ResultCheck {
 public:
  explicit ResultCheck(const PlanCheck& check)
      : check_(check), program_(std::make_shared<Context>()) {
    program_.AddGraph("main");
    for (const PteKernel* kernel : check.kernels) {
      functional_.push_back(kernel == nullptr ? nullptr
                                              : FindSchema(kernel->functional));
    }
    FindComputed();
    AddTensors();
  }

  bool Check() {
    // All calls first: inference looks at a finished program.
    for (size_t c = 0; c < check_.plan.chains.size(); ++c) {
      const auto& instructions = check_.plan.chains[c].instructions;
      for (size_t i = 0; i < instructions.size(); ++i) {
        const auto* call = std::get_if<PteKernelCall>(&instructions[i].action);
        if (call != nullptr) AddCall(*call, c, i);
      }
    }
    if (num_items_ > kMaxItems) {
      check_.diags.Warning(Rule::kUnsupported, check_.Here())
          << "results are compared up to instruction "
          << (calls_.empty() ? 0 : calls_.back().at)
          << ": the arguments hold more than " << kMaxItems << " items";
    }
    TypeInference inference(program_);
    for (const Call& call : calls_) {
      CompareResults(call, inference.Infer(call.node));
    }
    return holds_;
  }

 private:
  struct Call {
    const PteKernelCall* call;
    NodeId node;
    size_t chain, at;
  };

  // Values that instructions replace: their number isn't the file's.
  void FindComputed() {
    is_computed_.resize(check_.plan.values.size());
    for (const PteChain& chain : check_.plan.chains) {
      for (const PteInstruction& instruction : chain.instructions) {
        MarkComputed(instruction.action);
      }
    }
  }
  void MarkComputed(const PteAction& action) {
    if (const auto* move = std::get_if<PteMoveCall>(&action)) {
      is_computed_[move->to] = true;
    } else if (const auto* call = std::get_if<PteDelegateCall>(&action)) {
      for (const int32_t arg : call->args) is_computed_[arg] = true;
    } else if (const auto* kernel = std::get_if<PteKernelCall>(&action)) {
      if (!kernel->args.empty()) is_computed_[kernel->args.back()] = true;
    }
  }

  // One input of the scratch graph per static tensor.
  void AddTensors() {
    tensors_.resize(check_.plan.values.size());
    for (size_t v = 0; v < tensors_.size(); ++v) {
      const PteTensor* t = check_.plan.values[v].tensor();
      if (t == nullptr || t->shape != PteShape::kStatic) continue;
      const auto dtype = ToDType(t->type);
      if (!dtype) continue;
      Type type;
      type.kind = TypeKind::kTensor;
      type.dtype = *dtype;
      type.device.type = program_.context().Intern("cpu");
      type.strides.resize(t->sizes.size());
      int64_t stride = 1;
      for (size_t i = t->sizes.size(); i-- > 0;) {
        const int64_t size = t->sizes[t->dim_order[i]];
        type.strides[t->dim_order[i]] = SymInt::Literal(stride);
        stride *= std::max<int64_t>(size, 1);
      }
      for (const int32_t size : t->sizes) {
        type.sizes.push_back(SymInt::Literal(size));
      }
      type.storage_offset = SymInt::Literal(0);
      tensors_[v] = program_.AddInput(
          Program::kRoot, program_.context().types.Intern(std::move(type)),
          StringId());
    }
  }

  // A part of an argument, in a form of the graph's.
  struct Item {
    Arg literal;
    ValueId value;
  };

  std::optional<Item> TensorItem(int32_t value) const {
    if (value == PteOptionalTensorList::kNone) return Item{};
    if (!tensors_[value].valid()) return std::nullopt;
    return Item{Arg(), tensors_[value]};
  }

  std::optional<Item> ScalarItem(const SchemaArg& arg,
                                 const PteContent& content) const {
    if (const auto* v = std::get_if<PteInt>(&content)) {
      if (arg.type == SchemaType::kInt || arg.type == SchemaType::kScalar) {
        return Item{Arg::Int(v->value), ValueId()};
      }
      if (arg.type != SchemaType::kDtype || v->value < 0 || v->value > 127) {
        return std::nullopt;
      }
      const auto dtype = ToDType(static_cast<PteScalarType>(v->value));
      if (!dtype) return std::nullopt;
      return Item{Arg::Dtype(*dtype), ValueId()};
    }
    if (const auto* v = std::get_if<PteDouble>(&content)) {
      return Item{Arg::Float(v->value), ValueId()};
    }
    if (const auto* v = std::get_if<PteBool>(&content)) {
      return Item{Arg::Bool(v->value), ValueId()};
    }
    return std::nullopt;
  }

  std::optional<std::vector<Item>> ListItems(const PteContent& content) const {
    std::vector<Item> items;
    if (const auto* list = std::get_if<PteIntList>(&content)) {
      for (const int64_t item : list->items) {
        if (is_computed_[item]) return std::nullopt;
        const auto& v = std::get<PteInt>(check_.plan.values[item].content);
        items.push_back({Arg::Int(v.value), ValueId()});
      }
      return items;
    }
    const auto* tensors = std::get_if<PteTensorList>(&content);
    const auto* optional = std::get_if<PteOptionalTensorList>(&content);
    if (tensors == nullptr && optional == nullptr) return std::nullopt;
    for (const int32_t v : tensors ? tensors->items : optional->items) {
      const auto item = TensorItem(v);
      if (!item) return std::nullopt;
      items.push_back(*item);
    }
    return items;
  }

  // Nothing is known of a call with an argument that has no counterpart.
  struct Argument {
    StringId name;
    bool is_list = false;
    std::vector<Item> items;
  };
  std::optional<Argument> Convert(const SchemaArg& arg, int32_t value) {
    Argument out;
    out.name = program_.context().Intern(arg.name);
    const PteContent& content = check_.plan.values[value].content;
    if (std::holds_alternative<PteTensor>(content)) {
      const auto item = TensorItem(value);
      if (!item) return std::nullopt;
      out.items = {*item};
      return out;
    }
    if (is_computed_[value]) return std::nullopt;
    if (std::holds_alternative<PteNull>(content)) {
      out.items = {Item{}};
      return out;
    }
    if (arg.is_list) {
      auto items = ListItems(content);
      if (!items) return std::nullopt;
      out.is_list = true;
      out.items = std::move(*items);
      return out;
    }
    const auto item = ScalarItem(arg, content);
    if (!item) return std::nullopt;
    out.items = {*item};
    return out;
  }

  void AddCall(const PteKernelCall& call, size_t chain, size_t at) {
    const PteKernel* kernel = check_.kernels[call.operator_index];
    const OpSchema* functional = functional_[call.operator_index];
    if (kernel == nullptr || functional == nullptr) return;
    if (num_items_ > kMaxItems) return;
    std::vector<Argument> arguments;
    for (const SchemaArg& arg : functional->args) {
      const int i = kernel->schema.FindArg(arg.name);
      if (i < 0) {
        // A dtype that the kernel takes from its out tensor.
        if (arg.type == SchemaType::kDtype) return;
        continue;
      }
      auto argument = Convert(arg, call.args[i]);
      if (!argument) return;
      num_items_ += argument->items.size();
      arguments.push_back(std::move(*argument));
    }
    calls_.push_back({&call, AddNode(functional->name, arguments), chain, at});
  }

  NodeId AddNode(std::string_view name,
                 const std::vector<Argument>& arguments) {
    const NodeId node =
        program_.NewOp(program_.context().InternOp(name), StringId());
    const ArgRange range =
        program_.NewArgs(static_cast<uint32_t>(arguments.size()));
    program_.SetArgRange(node, range);
    for (uint32_t i = 0; i < arguments.size(); ++i) {
      const Argument& argument = arguments[i];
      if (argument.is_list) {
        const ArgRange items =
            program_.NewArgs(static_cast<uint32_t>(argument.items.size()));
        for (uint32_t k = 0; k < items.size(); ++k) {
          SetItem(items[k], node, argument.items[k]);
        }
        program_.SetArg(range[i], Arg::OfList(ListTag::kTensors, items), true);
      } else {
        SetItem(range[i], node, argument.items[0]);
      }
      program_.SetArgLabel(range[i], argument.name, PassKind::kUnstated);
    }
    program_.Append(Program::kRoot, node);
    return node;
  }

  void SetItem(ArgId at, NodeId node, const Item& item) {
    if (item.value.valid()) {
      program_.SetValueArg(at, node, item.value);
    } else {
      program_.SetArg(at, item.literal, true);
    }
  }

  // The tensors that the call writes results to, in order.
  std::vector<int32_t> Outs(const PteKernelCall& call) const {
    std::vector<int32_t> outs;
    const auto& args = check_.kernels[call.operator_index]->schema.args;
    for (size_t i = 0; i < args.size(); ++i) {
      if (!args[i].is_written || !args[i].keyword_only) continue;
      const PteContent& content = check_.plan.values[call.args[i]].content;
      if (const auto* list = std::get_if<PteTensorList>(&content)) {
        outs.insert(outs.end(), list->items.begin(), list->items.end());
      } else {
        outs.push_back(call.args[i]);
      }
    }
    return outs;
  }

  void CompareResults(const Call& call, std::span<const InferredType> results) {
    const std::vector<int32_t> outs = Outs(*call.call);
    for (size_t i = 0; i < std::min(outs.size(), results.size()); ++i) {
      const PteTensor* out = check_.Tensor(outs[i]);
      if (out == nullptr || !tensors_[outs[i]].valid()) continue;
      CompareResult(call, results[i], *out, outs[i]);
    }
  }

  DiagnosticBuilder Error(const Call& call, int32_t value) {
    holds_ = false;
    DiagnosticBuilder error = check_.diags.Error(
        Rule::kPte28, check_.InstructionPlace(call.chain, call.at));
    error << "the out tensor of "
          << check_.kernels[call.call->operator_index]->name << ", value "
          << value << ", ";
    return error;
  }

  void CompareResult(const Call& call, const InferredType& result,
                     const PteTensor& out, int32_t value) {
    if (result.has_kind && result.kind != TypeKind::kTensor) return;
    if (result.dtype != DType::kUnknown && !result.is_default_dtype &&
        !CanHold(result.dtype, *ToDType(out.type))) {
      Error(call, value) << "is of dtype " << Name(out.type)
                         << ", which can't hold the result of dtype "
                         << ShortName(result.dtype);
    }
    if (result.rank < 0 || result.rank > InferredType::kMaxRank) return;
    std::vector<int32_t> wanted;
    for (int d = 0; d < result.rank; ++d) {
      if (!result.sizes[d].is_literal()) return;
      wanted.push_back(static_cast<int32_t>(result.sizes[d].value));
    }
    if (wanted == out.sizes) return;
    Error(call, value) << "is " << TypeText(out.type, out.sizes)
                       << ", expected " << TypeText(out.type, wanted);
  }

  const PlanCheck& check_;
  Program program_;
  std::vector<const OpSchema*> functional_;  // by operator; null: none
  std::vector<bool> is_computed_;            // by value
  std::vector<ValueId> tensors_;             // by value
  std::vector<Call> calls_;
  uint64_t num_items_ = 0;
  bool holds_ = true;
};

}  // namespace

bool CheckResults(const PlanCheck& check) { return ResultCheck(check).Check(); }

}  // namespace tenon::pte
