#include "conformance/ops/lowered.h"

#include <algorithm>
#include <utility>

#include "conformance/ops/onnx_calls.h"
#include "conformance/pt2/compare.h"
#include "interpreter/interpreter.h"
#include "lower/lower.h"
#include "verify/verify.h"

namespace tenon {
std::string CompareLowered(const OpSchema& schema,
                           const std::vector<RuntimeValue>& args,
                           const std::vector<bool>& present,
                           const std::vector<RuntimeValue>& results,
                           double rtol, double atol, LoweredCounts* counts) {
  const std::vector<RuntimeValue> flat = CallProgram::Flattened(results);
  if (!CallProgram::IsComparable(schema, flat)) return {};
  CallProgram call;
  const NodeId n =
      call.Build(schema, args, present, static_cast<uint32_t>(flat.size()));
  call.Return(n, results);
  Diagnostics diags;
  Program& program = call.program();
  if (counts->onnx != nullptr) {
    const std::string why = counts->onnx->Add(call, flat, rtol, atol);
    if (!why.empty()) return why;
  }
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
