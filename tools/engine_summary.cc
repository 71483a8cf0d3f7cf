#include "engine_summary.h"

#include "formats/tensorrt/engine_delegate.h"
#include "formats/tensorrt/lower_engines.h"
#include "verify/verify.h"

namespace tenon::tools {
namespace {

std::string DeviceText(const EngineDevice& device) {
  return device.name + " (cuda:" + std::to_string(device.id) + ", " +
         std::to_string(device.major) + "." + std::to_string(device.minor) +
         (device.type == 1 ? ", DLA)" : ")");
}

EngineSummary SummaryOf(const EngineRecord& record, size_t num_calls) {
  EngineSummary out;
  out.name = record.name;
  out.device = DeviceText(record.device);
  out.platform = record.platform;
  out.engine_bytes = record.engine.size();
  out.num_calls = num_calls;
  out.inputs = record.input_names;
  out.outputs = record.output_names;
  for (const EngineAlias& alias : record.aliases) {
    out.aliases.push_back(alias.output + " is " + alias.input + " (" +
                          std::string(AliasKindName(alias.kind)) + ")");
  }
  return out;
}

std::vector<size_t> CountCalls(const Program& program) {
  std::vector<size_t> out(program.delegates.size());
  for (uint32_t i = 0; i < program.num_graphs(); ++i) {
    if (program.graph(GraphId(i)).is_erased) continue;
    for (const NodeId n : program.nodes(GraphId(i))) {
      const Node& node = program.node(n);
      if (node.kind == NodeKind::kDelegateCall &&
          node.delegate.index < out.size()) {
        ++out[node.delegate.index];
      }
    }
  }
  return out;
}

Status ListDelegates(const Program& program, std::vector<EngineSummary>* out,
                     Diagnostics& diags) {
  const std::vector<size_t> num_calls = CountCalls(program);
  for (size_t i = 0; i < program.delegates.size(); ++i) {
    const Delegate& d = program.delegates[i];
    if (program.view(d.backend) != kEngineBackend) continue;
    const Place place = Place::Node(std::string(program.view(d.name)));
    TENON_ASSIGN(const EngineRecord record,
                 RecordOfDelegate(program, d, place, diags));
    out->push_back(SummaryOf(record, num_calls[i]));
  }
  return {};
}

}  // namespace

EngineList ListEngines(const Program& program) {
  EngineList out;
  Diagnostics diags;
  if (!HasEngineCalls(program)) {
    if (!ListDelegates(program, &out.engines, diags)) {
      out.problem = diags.FirstError();
    }
    return out;
  }
  Program lowered = program.Clone();
  if (!Verify(lowered, VerifyOptions(), diags) ||
      !LowerEngineCalls(&lowered, diags) ||
      !ListDelegates(lowered, &out.engines, diags)) {
    out.problem = diags.FirstError();
  }
  return out;
}

}  // namespace tenon::tools
