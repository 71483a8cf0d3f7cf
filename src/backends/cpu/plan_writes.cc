// Writing in place, and what becomes of a region's outputs.
#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "backends/cpu/plan_builder.h"

namespace tenon::cpu {
namespace {

void ForEachTensor(RuntimeValue* value,
                   const std::function<void(Tensor*)>& visit) {
  if (value->is_tensor()) {
    visit(&value->tensor());
  } else if (value->is_list()) {
    for (RuntimeValue& item : value->list()) ForEachTensor(&item, visit);
  }
}

// Copies a constant's whole storage to fresh memory.
class CopyBytesStep : public Step {
 public:
  CopyBytesStep(Ref from, Ref to, size_t size_bytes)
      : from_(from), to_(to), size_bytes_(size_bytes) {}
  bool Run(Frame& frame) override {
    std::memcpy(frame.at<std::byte>(to_), frame.at<std::byte>(from_),
                size_bytes_);
    return true;
  }
  std::string_view name() const override { return "copy_bytes"; }

 private:
  Ref from_, to_;
  size_t size_bytes_;
};

}  // namespace

bool PlanBuilder::updates_in_place() const {
  return may_update_ && (*request_.in_place_updates)[current_.index];
}

void PlanBuilder::Retarget(const Storage* from,
                           const std::shared_ptr<Storage>& to) {
  for (RuntimeValue& value : values_) {
    ForEachTensor(&value, [&](Tensor* t) {
      if (t->storage().get() != from) return;
      *t = Tensor(to, t->dtype(), t->sizes(), t->strides(), t->offset());
    });
  }
}

Tensor PlanBuilder::Writable(const Tensor& target) {
  if (!is_constant(target)) return target;
  const size_t size_bytes = target.storage()->size_bytes();
  const Ref from{BufferOf(target), 0};
  const uint32_t id = AddBuffer(BufferKind::kArena, size_bytes);
  const Tensor whole(stand_ins_[id], target.dtype(), target.sizes(),
                     target.strides(), target.offset());
  const Tensor reads[] = {target};
  const Tensor writes[] = {whole};
  Emit(std::make_unique<CopyBytesStep>(from, Ref{id, 0}, size_bytes), reads,
       writes);
  steps_.back().is_copy = true;
  Retarget(target.storage().get(), stand_ins_[id]);
  return whole;
}

bool PlanBuilder::Overwrite(Tensor* target, const Tensor& value) {
  const size_t item = SizeBytes(target->dtype());
  const bool fills_buffer = target->is_dense() && target->offset() == 0 &&
                            target->numel() > 0 &&
                            static_cast<size_t>(target->numel()) * item ==
                                target->storage()->size_bytes();
  const bool is_alike =
      value.dtype() == target->dtype() && value.sizes() == target->sizes() &&
      value.strides() == target->strides() && value.offset() == 0;
  if (fills_buffer && is_alike && InputOf(*target) < 0 && !is_constant(value) &&
      InputOf(value) < 0) {
    Retarget(target->storage().get(), value.storage());
    *target = value;
    return true;
  }
  *target = Writable(*target);
  return EmitCopy(value, *target);
}

bool PlanBuilder::ReplaceInput(const DeclaredWrite& write, Tensor* output,
                               std::string* error) {
  const Tensor& input = bound_inputs_[write.input];
  if (input.sizes() != output->sizes() || input.dtype() != output->dtype()) {
    *error = "output " + std::to_string(write.output) + " is " +
             output->ToString() + " and can't replace input " +
             std::to_string(write.input) + ", " + input.ToString();
    return false;
  }
  if (!EmitUpdate(*output, input)) {
    *error = "cannot copy an output to the input that it replaces";
    return false;
  }
  *output = input;
  return true;
}

Status PlanBuilder::PlanOutputs(Diagnostics& diags) {
  std::vector<RuntimeValue> values;
  for (const Arg& arg : request_.region->outputs(Program::kRoot)) {
    values.push_back(Read(arg));
  }
  // Last of all, when whoever reads the inputs has done so. None of the other
  // outputs views them (BackendOptions::replaceable).
  const auto outputs = request_.region->outputs(Program::kRoot);
  for (const DeclaredWrite& write : request_.replaced) {
    const NodeId def =
        request_.region->value(outputs[write.output].value()).def;
    if (def.valid()) current_ = def;
    std::string error = "an output that replaces an input isn't a tensor";
    if (!values[write.output].is_tensor() ||
        !ReplaceInput(write, &values[write.output].tensor(), &error)) {
      return diags.Error(Rule::kRun01) << "backend cpu: " << error;
    }
  }
  for (RuntimeValue& value : values) {
    PlannedOutput output;
    output.value = std::move(value);
    if (output.value.is_list()) {
      return diags.Error(Rule::kUnsupported)
             << "backend cpu: a region output is a list";
    }
    if (output.value.is_tensor()) {
      output.value = Writable(output.value.tensor());
      output.buffer = BufferOf(output.value.tensor());
      Buffer& buffer = buffers_[output.buffer];
      if (buffer.kind == BufferKind::kArena) buffer.kind = BufferKind::kOutput;
    }
    outputs_.push_back(std::move(output));
  }
  return {};
}

}  // namespace tenon::cpu
