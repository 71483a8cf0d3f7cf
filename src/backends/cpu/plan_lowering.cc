// From nodes to calls, and from calls to steps.
#include <algorithm>
#include <functional>
#include <utility>

#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_widened.h"
#include "backends/cpu/plan_builder.h"

namespace tenon::cpu {
namespace {

bool AnyTensor(const RuntimeValue& value,
               const std::function<bool(const Tensor&)>& predicate) {
  if (value.is_tensor()) return predicate(value.tensor());
  if (!value.is_list()) return false;
  return std::any_of(
      value.list().begin(), value.list().end(),
      [&](const RuntimeValue& item) { return AnyTensor(item, predicate); });
}

}  // namespace

void PlanBuilder::BindInputs() {
  values_.resize(request_.region->num_values());
  bound_inputs_.resize(request_.inputs.size());
  may_update_ = request_.in_place_updates != nullptr;
  const auto& ids = request_.region->root().inputs;
  for (uint32_t i = 0; i < ids.size(); ++i) {
    const RuntimeValue& input = request_.inputs[i];
    if (!input.is_tensor()) {
      values_[ids[i].index] = input;
      continue;
    }
    const Tensor& t = input.tensor();
    const int64_t before = request_.sees_storages ? t.offset() : 0;
    const auto skipped =
        static_cast<size_t>(t.offset() - before) * SizeBytes(t.dtype());
    const uint32_t id =
        AddBuffer(BufferKind::kInput, t.storage()->size_bytes() - skipped);
    buffers_[id].input = i;
    buffers_[id].elements_before = before;
    // A copy of a tensor with gaps has none, and those who read it count on
    // that.
    const bool is_replaced = std::any_of(
        request_.replaced.begin(), request_.replaced.end(),
        [&](const DeclaredWrite& write) { return write.input == i; });
    may_update_ = may_update_ && (!is_replaced || t.is_dense());
    bound_inputs_[i] =
        Tensor(stand_ins_[id], t.dtype(), t.sizes(), t.strides(), before);
    values_[ids[i].index] = bound_inputs_[i];
  }
}

RuntimeValue PlanBuilder::Read(const Arg& arg) const {
  const Program& region = *request_.region;
  switch (arg.kind) {
    case ArgKind::kValue:
      return values_[arg.v.value.index];
    case ArgKind::kInt:
      return arg.i;
    case ArgKind::kFloat:
      return arg.f;
    case ArgKind::kBool:
      return arg.i != 0;
    case ArgKind::kString:
      return std::string(region.view(arg.text));
    case ArgKind::kDtype:
      return arg.dtype();
    case ArgKind::kLayout:
      return arg.layout();
    case ArgKind::kMemoryFormat:
      return arg.memory_format();
    case ArgKind::kDevice:
      return DeviceValue{std::string(region.view(arg.device.type)),
                         arg.device.index};
    case ArgKind::kList: {
      RuntimeValue::List items;
      for (const Arg& item : region.args(arg.list)) items.push_back(Read(item));
      return items;
    }
    case ArgKind::kNone:
    case ArgKind::kComplex:
    case ArgKind::kGraph:
    case ArgKind::kOperator:
    case ArgKind::kObject:
    case ArgKind::kDict:
      break;  // refused, or None
  }
  return {};
}

bool PlanBuilder::Store(NodeId node, std::vector<RuntimeValue> results) {
  const Node& n = request_.region->node(node);
  uint32_t next = 0;
  for (size_t r = 0; r < results.size(); ++r) {
    FormItem item;
    if (n.form.valid()) {
      const Form& form = request_.region->context().form(n.form);
      if (r >= form.size()) return false;
      item = form[r];
    } else if (next >= n.results.count) {
      // Trailing results that nobody named.
      break;
    }
    if (item.kind == FormItem::Kind::kNone) continue;
    if (item.kind == FormItem::Kind::kValue) {
      if (next >= n.results.count) return false;
      values_[n.results[next++].index] = std::move(results[r]);
      continue;
    }
    if (!results[r].is_list() || results[r].list().size() != item.list_size ||
        next + item.list_size > n.results.count) {
      return false;
    }
    for (RuntimeValue& element : results[r].list()) {
      values_[n.results[next++].index] = std::move(element);
    }
  }
  return next == n.results.count;
}

bool PlanBuilder::LowerCall(const Lowering& lowering, KernelCall& call) {
  bool all_constant = true;
  for (size_t i = 0; i < call.num_args(); ++i) {
    all_constant = all_constant &&
                   !AnyTensor(call.arg(i),
                              [&](const Tensor& t) { return !is_constant(t); });
  }
  const Kernel kernel = FindKernel(lowering.name);
  const bool is_computed_now =
      lowering.kind == LoweringKind::kGeometry ||
      (all_constant && lowering.kind == LoweringKind::kPure &&
       kernel != nullptr);
  return is_computed_now ? kernel(call) : LowerWidened(*this, call, lowering);
}

bool PlanBuilder::LowerNode(NodeId node, std::string* error) {
  const Program& region = *request_.region;
  current_ = node;
  const std::string_view name = region.op_name(node);
  const Lowering* lowering = FindLowering(name);
  const OpSchema* schema = FindCallSchema(name);
  if (lowering == nullptr || schema == nullptr) {
    *error = "no lowering for '" + std::string(name) + "'";
    return false;
  }
  std::vector<RuntimeValue> args(schema->args.size());
  std::vector<bool> present(schema->args.size(), false);
  int position = 0;
  for (const Arg& arg : region.args(node)) {
    const std::string_view label = region.view(arg.name);
    const int labelled = label.empty() ? -1 : schema->FindArg(label);
    const int at = region.schema(node) != nullptr ? labelled : position;
    ++position;
    if (at < 0 || static_cast<size_t>(at) >= args.size()) {
      *error = "'" + std::string(name) + "' has no parameter '" +
               std::string(label) + "'";
      return false;
    }
    const auto slot = static_cast<size_t>(at);
    args[slot] = Read(arg);
    present[slot] = true;
  }
  if (!CompleteArgs(*schema, &args, present, error)) return false;
  KernelCall call(*schema, std::move(args));
  if (!LowerCall(*lowering, call)) {
    *error = std::string(name) + ": " + call.error();
    return false;
  }
  if (!Store(node, std::move(call.results()))) {
    *error = std::string(name) + ": the results don't fit the node";
    return false;
  }
  return true;
}

Status PlanBuilder::LowerAll(Diagnostics& diags) {
  const Program& region = *request_.region;
  for (const NodeId n : region.nodes(Program::kRoot)) {
    if (region.node(n).kind == NodeKind::kOutput) continue;
    std::string error;
    if (!LowerNode(n, &error)) {
      return diags.Error(Rule::kRun01,
                         Place::Node(region.Describe(Program::kRoot, n)))
             << "backend cpu: " << error;
    }
  }
  return {};
}

}  // namespace tenon::cpu
