#include "conformance/ops/call_results.h"

#include <algorithm>
#include <utility>

namespace tenon {
namespace {

void Flatten(const RuntimeValue& value, std::vector<RuntimeValue>* out) {
  if (!value.is_list()) return out->push_back(value);
  for (const RuntimeValue& item : value.list()) Flatten(item, out);
}

}  // namespace

std::vector<RuntimeValue> FlatResults(
    const std::vector<RuntimeValue>& results) {
  std::vector<RuntimeValue> flat;
  for (const RuntimeValue& result : results) Flatten(result, &flat);
  return flat;
}

bool IsComparable(const OpSchema& schema,
                  const std::vector<RuntimeValue>& flat) {
  return !schema.is_mutating() && !schema.nondeterministic &&
         schema.name.find("empty") == std::string::npos && !flat.empty() &&
         std::all_of(flat.begin(), flat.end(), [](const RuntimeValue& v) {
           return v.is_tensor() && v.tensor().defined();
         });
}

void ReturnResults(CallProgram* call, NodeId n,
                   const std::vector<RuntimeValue>& results,
                   const std::vector<RuntimeValue>& flat) {
  Program& program = call->program();
  Form form;
  for (const RuntimeValue& result : results) {
    FormItem item;
    if (result.is_list()) {
      item.kind = FormItem::Kind::kList;
      item.list_size = static_cast<uint32_t>(result.list().size());
    }
    form.push_back(item);
  }
  if (std::any_of(results.begin(), results.end(),
                  [](const RuntimeValue& v) { return v.is_list(); })) {
    program.mutable_node(n).form = program.context().InternForm(form);
  }
  const ValueRange values = program.node(n).results;
  const NodeId output = program.root().output;
  const ArgRange outputs = program.NewArgs(values.count);
  program.SetOutputs(Program::kRoot, outputs);
  for (uint32_t i = 0; i < values.count; ++i) {
    program.mutable_value(values[i]).type = call->TypeOf(flat[i].tensor());
    program.SetValueArg(outputs[i], output, values[i]);
  }
  program.signature.inputs.resize(program.root().inputs.size());
  program.signature.outputs.resize(values.count);
}

}  // namespace tenon
