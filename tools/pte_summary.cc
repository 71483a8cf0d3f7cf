#include "pte_summary.h"

#include <algorithm>
#include <map>
#include <set>
#include <variant>

#include "formats/pte/delegate_boundary.h"
#include "formats/pte/device_memory.h"
#include "formats/pte/kernels.h"
#include "formats/pte/pte_text.h"

namespace tenon::tools {
namespace {

// A tensor's type alone; where it lies is of no interest to a caller.
std::string TypeOf(const PtePlan& plan, int32_t value) {
  if (value < 0 || static_cast<size_t>(value) >= plan.values.size()) {
    return "no value";
  }
  const std::string text = PrintValue(plan.values[value]);
  if (plan.values[value].tensor() == nullptr) return text;
  return text.substr(0, text.find(']') + 1);
}

uint64_t PayloadBytes(const PteProgram& program, const PtePayloadRef& ref) {
  if (ref.place == PtePayloadPlace::kSegment) {
    return ref.index < program.segments.size()
               ? program.segments[ref.index].size_bytes()
               : 0;
  }
  return ref.index < program.inline_payloads.size()
             ? program.inline_payloads[ref.index].data.bytes.size()
             : 0;
}

void CountCalls(const PtePlan& plan, PteMethodSummary* summary,
                std::vector<uint64_t>* delegate_calls) {
  std::vector<uint64_t> by_operator(plan.operators.size());
  for (const PteChain& chain : plan.chains) {
    summary->num_instructions += chain.instructions.size();
    for (const PteInstruction& instruction : chain.instructions) {
      if (const auto* call = std::get_if<PteKernelCall>(&instruction.action)) {
        const size_t op = static_cast<size_t>(call->operator_index);
        if (op < by_operator.size()) ++by_operator[op];
      }
      if (const auto* call =
              std::get_if<PteDelegateCall>(&instruction.action)) {
        const size_t d = static_cast<size_t>(call->delegate_index);
        if (d < delegate_calls->size()) ++(*delegate_calls)[d];
      }
    }
  }
  for (size_t i = 0; i < by_operator.size(); ++i) {
    summary->operators.push_back(
        {KernelName(plan.operators[i]), by_operator[i]});
  }
  std::stable_sort(
      summary->operators.begin(), summary->operators.end(),
      [](const auto& a, const auto& b) { return a.second > b.second; });
}

void AddDelegates(const PteProgram& program, const PtePlan& plan,
                  const std::vector<uint64_t>& calls,
                  PteMethodSummary* summary) {
  std::set<std::pair<PtePayloadPlace, uint32_t>> counted;
  std::map<std::string, size_t> index_of;
  for (size_t i = 0; i < plan.delegates.size(); ++i) {
    const PteDelegate& delegate = plan.delegates[i];
    const auto [it, is_first] =
        index_of.try_emplace(delegate.backend, summary->delegates.size());
    if (is_first) summary->delegates.push_back({delegate.backend});
    for (const std::string& line : pte::BoundaryLines(program, delegate)) {
      summary->bindings.push_back("delegate " + std::to_string(i) + ", " +
                                  line);
    }
    PteDelegateSummary& d = summary->delegates[it->second];
    ++d.num_delegates;
    d.num_calls += calls[i];
    if (counted.insert({delegate.payload.place, delegate.payload.index})
            .second) {
      d.payload_bytes += PayloadBytes(program, delegate.payload);
    }
  }
}

void AddTensors(const PtePlan& plan, PteMethodSummary* summary) {
  std::set<uint32_t> constants;
  for (const PteValue& value : plan.values) {
    const PteTensor* t = value.tensor();
    if (t == nullptr) continue;
    uint64_t bytes = SizeBytes(t->type);
    for (const int32_t size : t->sizes) {
      bytes *= static_cast<uint64_t>(std::max(size, 0));
    }
    PteTensorSummary* kind = nullptr;
    if (t->is_external()) {
      kind = &summary->external;
      summary->external_names.push_back(t->extra->name);
    } else if (t->is_constant()) {
      // Views of one constant count once.
      if (constants.insert(t->data_index).second) kind = &summary->constants;
    } else if (t->data_index > 0) {
      kind = &summary->initialised;
    }
    if (kind == nullptr) continue;
    ++kind->count;
    kind->bytes += bytes;
  }
}

}  // namespace

PteMethodSummary Summarise(const PteProgram& program, const PtePlan& plan) {
  PteMethodSummary summary;
  summary.name = plan.name;
  for (const int32_t v : plan.inputs) summary.inputs.push_back(TypeOf(plan, v));
  for (const int32_t v : plan.outputs) {
    summary.outputs.push_back(TypeOf(plan, v));
  }
  summary.num_values = plan.values.size();
  std::vector<uint64_t> delegate_calls(plan.delegates.size());
  CountCalls(plan, &summary, &delegate_calls);
  AddDelegates(program, plan, delegate_calls, &summary);
  AddTensors(plan, &summary);
  const std::vector<PteArena> arenas = ArenasOf(plan);
  for (size_t id = 1; id < arenas.size(); ++id) {
    std::string device(Name(arenas[id].device));
    if (arenas[id].device != PteDevice::kCpu) {
      device += ":" + std::to_string(arenas[id].device_index);
    }
    summary.arenas.push_back(
        {static_cast<uint64_t>(std::max<int64_t>(arenas[id].bytes, 0)),
         device});
  }
  return summary;
}

}  // namespace tenon::tools
