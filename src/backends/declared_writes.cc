#include "backends/declared_writes.h"

#include <optional>
#include <string>

#include "analysis/origins.h"

namespace tenon {
namespace {

std::optional<uint32_t> FindWholeOutput(const Program& region,
                                        const Origins& origins, ValueId input) {
  const auto outputs = region.outputs(Program::kRoot);
  for (uint32_t j = 0; j < outputs.size(); ++j) {
    if (!outputs[j].is_value()) continue;
    const Origin origin = origins.of(outputs[j].value());
    if (origin.value == input && origin.is_whole) return j;
  }
  return std::nullopt;
}

}  // namespace

std::vector<ValueId> WrittenOperands(const Program& program, NodeId node) {
  std::vector<ValueId> written;
  if (program.node(node).kind != NodeKind::kOp) return written;
  const OpSchema* schema = program.schema(node);
  if (schema == nullptr) return written;
  for (const SchemaArg& arg : schema->args) {
    if (!arg.is_written) continue;
    const Arg* given = program.FindArg(node, arg.name);
    if (given != nullptr && given->is_value()) {
      written.push_back(given->value());
    }
  }
  return written;
}

Expected<std::vector<DeclaredWrite>> FindDeclaredWrites(
    std::string_view backend, const Program& region, Diagnostics& diags) {
  const Origins origins(region, Program::kRoot);
  std::vector<DeclaredWrite> writes;
  std::vector<bool> done(region.num_values());
  for (const NodeId n : region.nodes(Program::kRoot)) {
    for (const ValueId operand : WrittenOperands(region, n)) {
      const ValueId base = origins.of(operand).value;
      if (!base.valid() || !region.value(base).is_input()) continue;
      if (done[base.index]) continue;
      done[base.index] = true;
      const auto output = FindWholeOutput(region, origins, base);
      if (!output) {
        return diags.Error(Rule::kUnsupported,
                           Place::Node(region.Describe(Program::kRoot, n)))
               << "backend " << backend << ": the region writes its input "
               << region.value(base).index
               << " in place, but no output of the region is that input";
      }
      writes.push_back({region.value(base).index, *output, WriteKind::kUser});
    }
  }
  return writes;
}

}  // namespace tenon
