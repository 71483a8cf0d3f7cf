#include "conformance/ops/lowered.h"

#include <algorithm>
#include <utility>

#include "conformance/ops/call_program.h"
#include "conformance/pt2/compare.h"
#include "interpreter/interpreter.h"
#include "lower/lower.h"
#include "verify/verify.h"

namespace tenon {
namespace {

void Flatten(const RuntimeValue& value, std::vector<RuntimeValue>* out) {
  if (!value.is_list()) return out->push_back(value);
  for (const RuntimeValue& item : value.list()) Flatten(item, out);
}

bool IsComparable(const OpSchema& schema,
                  const std::vector<RuntimeValue>& flat) {
  return !schema.is_mutating() && !schema.nondeterministic &&
         schema.name.find("empty") == std::string::npos && !flat.empty() &&
         std::all_of(flat.begin(), flat.end(), [](const RuntimeValue& v) {
           return v.is_tensor() && v.tensor().defined();
         });
}

// States the results' types, returns them, and fills the signature in.
void Finish(CallProgram* call, NodeId n,
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

}  // namespace

std::string CompareLowered(const OpSchema& schema,
                           const std::vector<RuntimeValue>& args,
                           const std::vector<bool>& present,
                           const std::vector<RuntimeValue>& results,
                           double rtol, double atol, LoweredCounts* counts) {
  std::vector<RuntimeValue> flat;
  for (const RuntimeValue& result : results) Flatten(result, &flat);
  if (!IsComparable(schema, flat)) return {};
  CallProgram call;
  const NodeId n =
      call.Build(schema, args, present, static_cast<uint32_t>(flat.size()));
  Finish(&call, n, results, flat);
  Diagnostics diags;
  Program& program = call.program();
  const auto report = LowerProgram(&program, diags);
  if (!report) {
    ++counts->refused;
    return diags.has_errors() ? "" : "lowering fails without an error";
  }
  if (report->num_rewritten == 0) return {};
  std::vector<RuntimeValue> inputs;
  for (const Tensor& t : call.inputs()) {
    // In the order of its dimensions, as the runtime passes it.
    inputs.emplace_back(t.Contiguous());
  }
  const auto got = Interpret(program, Program::kRoot, std::move(inputs),
                             InterpreterOptions(), diags);
  if (!got) return "lowered, it fails: " + diags.FirstError();
  // What a call writes although its schema doesn't say so comes first.
  const size_t first = got->size() - std::min(got->size(), flat.size());
  for (size_t i = 0; i < flat.size() && i < got->size(); ++i) {
    const std::string why = conformance::Differ(
        (*got)[first + i], flat[i], "lowered, result " + std::to_string(i),
        {rtol, atol});
    if (!why.empty()) return why;
  }
  ++counts->agreed;
  return {};
}

}  // namespace tenon
