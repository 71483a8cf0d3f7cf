#include "executorch/plan_emitter.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <variant>

#include "executorch/in_place.h"
#include "executorch/plan_memory.h"
#include "formats/pte/pte_kinds.h"
#include "ir/reach.h"
#include "support/checked.h"

namespace tenon::executorch {
namespace {

constexpr int32_t kNoValue = -1;
// The runtime holds sizes in 32 bits.
constexpr int64_t kMaxSize = INT32_MAX;
constexpr size_t kMaxRank = 16;

}  // namespace

std::optional<PteScalarType> ToPteType(DType dtype) {
  for (int code = 0; code < 64; ++code) {
    const auto type = static_cast<PteScalarType>(code);
    if (!Name(type).empty() && Name(type) == ShortName(dtype) &&
        IsExecutable(type)) {
      return type;
    }
  }
  return std::nullopt;
}

PlanEmitter::PlanEmitter(const Source& source, Weights* weights,
                         StoredData* mutable_data, Diagnostics& diags)
    : program_(source.program),
      delegates_(source.delegates),
      options_(source.options),
      state_(source.state),
      method_(source.method),
      absorbed_(FindAbsorbed(program_, delegates_)),
      weights_(weights),
      mutable_data_(mutable_data),
      diags_(diags),
      bounds_(program_),
      index_of_(program_.num_values(), kNoValue),
      target_of_(program_.num_values(), kNoValue),
      in_place_(FindInPlace(program_)) {
  ExprPool& exprs = program_.context().exprs;
  const std::map<std::string, int64_t>& limits = options_.bounds;
  std::map<std::string, int64_t> left = limits;
  for (size_t i = 0; i < exprs.size(); ++i) {
    const Expr& e = exprs.get(ExprId(i));
    if (e.kind != ExprKind::kSymbol) continue;
    const std::string name(program_.view(e.text));
    const auto limit = limits.find(name);
    if (limit == limits.end()) continue;
    bounds_.Limit(ExprId(i), limit->second);
    left.erase(name);
  }
  for (const auto& [name, max] : left) {
    diags.Error(Rule::kUsage)
        << "a bound for '" << name << "', which no size mentions";
  }
}

Expected<PtePlan> PlanEmitter::Emit() {
  draft_.plan.name = method_;
  FindDeviceState();
  if (diags_.has_errors() || !EmitInputs() || !EmitGraph(Program::kRoot) ||
      !EmitOutputs()) {
    TENON_ASSERT(diags_.has_errors(), "a plan that isn't written says why");
    return Failure{};
  }
  const auto state_bytes =
      state_ == nullptr ? std::nullopt : std::optional(state_->size_bytes);
  TENON_ASSIGN(peak_live_bytes_, PlaceBlocks(&draft_, state_bytes, diags_));
  return std::move(draft_.plan);
}

bool PlanEmitter::Refuse(GraphId graph, NodeId n, Rule rule,
                         const std::string& why) {
  diags_.Error(rule, PlaceOf(graph, n)) << why;
  return false;
}

std::optional<PteTensor> PlanEmitter::TensorOf(const Type& type,
                                               const Place& place) {
  PteTensor tensor;
  const auto dtype = ToPteType(type.dtype);
  if (!dtype) {
    diags_.Error(Rule::kPte12, place)
        << "ExecuTorch has no tensors of " << Name(type.dtype);
    return std::nullopt;
  }
  if (type.sizes.size() > kMaxRank) {
    diags_.Error(Rule::kPte11, place)
        << "a tensor of " << type.sizes.size()
        << " dimensions; ExecuTorch has at most " << kMaxRank;
    return std::nullopt;
  }
  tensor.type = *dtype;
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    const auto max = bounds_.Max(type.sizes[d]);
    if (!max) {
      diags_.Error(Rule::kPte32, place)
          << "dimension " << d << " is "
          << program_.context().exprs.PrintInfix(type.sizes[d].expr)
          << ", which has no upper bound; state one where the program is "
             "exported, as in Dim(\"batch\", max=64), or here with --bound";
      return std::nullopt;
    }
    if (*max < 0 || *max > kMaxSize) {
      diags_.Error(Rule::kPte11, place)
          << "dimension " << d << " may be " << *max
          << "; ExecuTorch holds sizes in 32 bits";
      return std::nullopt;
    }
    if (!type.sizes[d].is_literal()) tensor.shape = PteShape::kBounded;
    tensor.sizes.push_back(static_cast<int32_t>(*max));
    tensor.dim_order.push_back(static_cast<uint8_t>(d));
  }
  return tensor;
}

std::optional<uint64_t> BytesOf(const PteTensor& tensor) {
  int64_t bytes = static_cast<int64_t>(SizeBytes(tensor.type));
  for (const int32_t size : tensor.sizes) {
    const auto product = CheckedMul(bytes, size);
    if (!product) return std::nullopt;
    bytes = *product;
  }
  return static_cast<uint64_t>(bytes);
}

std::optional<int32_t> PlanEmitter::NewResult(GraphId graph, NodeId n,
                                              ValueId v) {
  if (target_of_[v.index] != kNoValue) {
    SetIndex(v, target_of_[v.index]);
    return IndexOf(v);
  }
  if (in_place_[v.index].valid()) {
    SetIndex(v, IndexOf(in_place_[v.index]));
    return IndexOf(v);
  }
  auto tensor = TensorOf(program_.type(v), PlaceOf(graph, n));
  if (!tensor) return std::nullopt;
  const auto bytes = BytesOf(*tensor);
  if (!bytes) {
    Refuse(graph, n, Rule::kPte11, "the result's bytes don't fit 63 bits");
    return std::nullopt;
  }
  MemoryBlock block;
  block.size_bytes = *bytes;
  const uint32_t at = draft_.AddBlock(block);
  SetIndex(v, draft_.AddTensor(std::move(*tensor), at));
  return IndexOf(v);
}

int32_t PlanEmitter::NewScalar(const Type& type) {
  switch (type.kind) {
    case TypeKind::kSymFloat:
    case TypeKind::kFloat:
      return draft_.Add(PteDouble{0});
    case TypeKind::kSymBool:
    case TypeKind::kBool:
      return draft_.AddBool(false);
    default:
      return draft_.AddInt(0);
  }
}

bool PlanEmitter::EmitInputs() {
  bool holds = true;
  for (uint32_t i = 0; i < program_.root().inputs.size(); ++i) {
    holds = EmitInput(i) && holds;
  }
  if (holds) FillDeviceState();
  return holds;
}

bool PlanEmitter::EmitInput(uint32_t i) {
  const ValueId v = program_.root().inputs[i];
  const InputSpec& spec = program_.signature.inputs[i];
  bool is_written = false;
  for (const OutputSpec& o : program_.signature.outputs) {
    if (!IsMutation(o)) continue;
    is_written |= spec.state.valid() ? o.state == spec.state
                                     : !o.state.valid() && o.input == i;
  }
  const Place place = Place::Node(
      "input " + std::string(program_.view(program_.value(v).name)));
  if (spec.state.valid()) {
    // What another method writes is state of this one, too.
    is_written |=
        state_ != nullptr && state_->offsets.contains(spec.state.index);
    const bool is_read = program_.value(v).num_uses > 0 && !absorbed_[v.index];
    if (!is_read && !is_written) return true;
    return EmitState(v, spec.state, is_written);
  }
  const Type& type = program_.type(v);
  int32_t index = kNoValue;
  switch (type.kind) {
    case TypeKind::kTensor: {
      auto tensor = TensorOf(type, place);
      if (!tensor) return false;
      MemoryBlock block;
      const auto bytes = BytesOf(*tensor);
      if (!bytes) {
        diags_.Error(Rule::kPte11, place)
            << "the input's bytes don't fit 63 bits";
        return false;
      }
      block.size_bytes = *bytes;
      // What is written back must be the caller's memory, not a copy.
      block.is_foreign = is_written || !options_.plans_inputs;
      index = draft_.AddTensor(std::move(*tensor), draft_.AddBlock(block));
      break;
    }
    case TypeKind::kInt:
      index = draft_.AddInt(type.sym.value);
      break;
    case TypeKind::kBool:
      index = draft_.AddBool(type.sym.value != 0);
      break;
    case TypeKind::kFloat:
      index = draft_.Add(PteDouble{type.real});
      break;
    case TypeKind::kString:
      index = draft_.Add(PteString{std::string(program_.view(type.text))});
      break;
    case TypeKind::kNone:
      index = draft_.Add(PteNull{});
      break;
    case TypeKind::kSymInt:
    case TypeKind::kSymFloat:
    case TypeKind::kSymBool:
      diags_.Error(Rule::kPte33, place)
          << "a number that callers pass; ExecuTorch takes only the number "
             "that the file holds: pass a 0-d tensor instead";
      return false;
    case TypeKind::kObject:
      diags_.Error(Rule::kUnsupported, place)
          << "an object of class '" << program_.view(type.text)
          << "', which ExecuTorch doesn't have";
      return false;
  }
  SetIndex(v, index);
  draft_.plan.inputs.push_back(index);
  return true;
}

bool PlanEmitter::EmitState(ValueId input, StateId state, bool is_written) {
  const StateEntry& entry = program_.state.get(state);
  const Place place = Place::Node(std::string(program_.view(entry.fqn)));
  const Type& type = program_.type(entry.type);
  if (entry.kind == StateKind::kObject || !type.is_tensor() ||
      !entry.storage.valid()) {
    diags_.Error(Rule::kUnsupported, place)
        << "an object, which ExecuTorch doesn't have";
    return false;
  }
  if (entry.is_pickled || type.layout != Layout::kStrided) {
    diags_.Error(Rule::kUnsupported, place)
        << "this tensor is a pickled object or isn't strided; ExecuTorch has "
           "only plain tensors";
    return false;
  }
  auto tensor = TensorOf(type, place);
  const auto bytes = ReachBytes(type);
  if (!tensor || !bytes) return false;
  const StorageRecord& storage = program_.state.storage(entry.storage);
  if (storage.is_weightless || storage.bytes.size() < *bytes) {
    diags_.Error(Rule::kState04, place)
        << "the file holds no bytes for this tensor; put the weights back "
           "first, with tenon weights";
    return false;
  }
  const Bytes data = storage.bytes.subspan(0, *bytes);
  if (resident_on_[input.index] != MemoryBlock::kHost) {
    EmitDeviceState(input, std::string(program_.view(entry.fqn)),
                    std::move(*tensor), data, storage.owner);
    return true;
  }
  MemoryBlock block;
  block.size_bytes = *bytes;
  if (is_written) {
    block.is_state = true;
    PteTensorExtra extra;
    extra.name = std::string(program_.view(entry.fqn));
    tensor->extra = std::move(extra);
    if (!data.empty()) {
      tensor->data_index = mutable_data_->Add(data, storage.owner);
    }
    if (state_ != nullptr) {
      const auto offset = state_->offsets.find(state.index);
      TENON_ASSERT(offset != state_->offsets.end(),
                   "state that is written has a place");
      block.state_offset = offset->second;
    }
  } else {
    block.is_foreign = true;
    weights_->Store(method_, program_.view(entry.fqn), data, storage.owner,
                    &*tensor);
  }
  SetIndex(input, draft_.AddTensor(std::move(*tensor), draft_.AddBlock(block)));
  return true;
}

bool PlanEmitter::EmitGraph(GraphId graph) {
  constexpr int kMaxDepth = 200;
  if (++depth_ > kMaxDepth) {
    diags_.Error(Rule::kUnsupported)
        << "graphs are nested deeper than " << kMaxDepth;
    return false;
  }
  bool holds = true;
  for (const NodeId n : program_.nodes(graph)) {
    if (program_.node(n).kind == NodeKind::kOutput) break;
    holds = EmitNode(graph, n) && holds;
    // What comes after an error would be about values that aren't there.
    if (!holds) break;
  }
  --depth_;
  return holds;
}

bool PlanEmitter::EmitNode(GraphId graph, NodeId n) {
  const Node& node = program_.node(n);
  if (node.kind == NodeKind::kDelegateCall) return EmitDelegate(graph, n);
  if (!OperandsToHost(graph, n)) return false;
  if (node.kind != NodeKind::kOp) {
    return Refuse(graph, n, Rule::kUnsupported,
                  "a node that lowering should have replaced");
  }
  const std::string_view op = program_.op_name(n);
  if (op == "aten.view_copy.default") return EmitView(graph, n);
  if (op == "higher_order.cond") return EmitCond(graph, n);
  if (op == "higher_order.while_loop") return EmitWhile(graph, n);
  if (op == "higher_order.map_impl" || op == "higher_order.map" ||
      op == "higher_order.scan") {
    return EmitScan(graph, n);
  }
  if (program_.context().op(node.op).is_python_function) {
    return EmitScalarNode(graph, n);
  }
  return EmitKernel(graph, n);
}

// A view of memory whose place is known is a second tensor there; otherwise the
// runtime points the view at it.
bool PlanEmitter::EmitView(GraphId graph, NodeId n) {
  const ValueId base = program_.args(n)[0].value();
  const ValueId v = program_.node(n).results[0];
  if (target_of_[v.index] != kNoValue) return EmitKernel(graph, n);
  auto tensor = TensorOf(program_.type(v), PlaceOf(graph, n));
  if (!tensor) return false;
  const int32_t from = IndexOf(base);
  const PteTensor& source = draft_.tensor(from);
  const MemoryBlock& block = draft_.block(from);
  const bool is_constant =
      block.is_foreign && (source.is_constant() || source.is_external());
  const bool is_fixed =
      tensor->shape == PteShape::kStatic && source.shape == PteShape::kStatic;
  // Memory of the caller has no place that could be shared.
  if (block.is_foreign && !(is_constant && is_fixed)) {
    return EmitKernel(graph, n);
  }
  if (is_constant) weights_->StoreView(source, &*tensor);
  const uint32_t at = draft_.block_of[static_cast<size_t>(from)];
  SetIndex(v, draft_.AddTensor(std::move(*tensor), at));
  if (is_fixed) return true;
  SchemaArg sizes;
  sizes.type = SchemaType::kInt;
  sizes.is_list = true;
  const auto list = EmitList(graph, n, sizes, program_.args(n)[1]);
  if (!list) return false;
  draft_.CallKernel("executorch_prim::et_view.default",
                    {from, *list, IndexOf(v)});
  return true;
}

}  // namespace tenon::executorch
