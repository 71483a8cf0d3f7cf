#include "pte_report.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "formats/pte/method_lifetimes.h"
#include "formats/pte/pte_text.h"
#include "json_writer.h"
#include "memory/memory_picture.h"
#include "support/counted.h"

namespace tenon::tools {
namespace {

std::string Joined(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) {
    out += (out.empty() ? "" : ", ") + item;
  }
  return out;
}

std::string StateText(const PteMethodReport& m) {
  if (m.num_in_place + m.copies.size() == 0) return "";
  std::string text = "state: " + Count(m.num_in_place, "mutation") +
                     " in place, " + std::to_string(m.copies.size()) +
                     " copied back";
  if (!m.copies.empty()) {
    text += ", " + Count(m.copied_bytes(), "byte") + " a call";
  }
  text += "\n";
  for (const PteStateCopy& c : m.copies) {
    text += "  " + c.fqn + ": " + Count(c.bytes, "byte") + ", made by " +
            c.made_by + "\n";
  }
  return text;
}

// Copies between host and device, and which buffers stay there; nothing without
// them.
std::string DeviceText(const PteMethodReport& m) {
  const executorch::DeviceTraffic& t = m.traffic;
  if (t.num_to_device + t.num_to_host + t.initial_bytes == 0) return "";
  std::string text = "per call: " + Count(t.num_to_device, "transfer") +
                     " to the device, " + Count(t.bytes_to_device, "byte") +
                     ", " + Count(t.num_to_host, "transfer") + " back, " +
                     Count(t.bytes_to_host, "byte") + "\n";
  if (t.initial_bytes > 0) {
    text += "first call: " + Count(t.initial_bytes, "byte") +
            " of initial state to the device\n";
  }
  for (const executorch::DeviceState& state : m.device_state) {
    text += "  " + state.fqn +
            ": stays on cuda:" + std::to_string(int{state.device}) + ", " +
            Count(state.size_bytes, "byte") + "\n";
  }
  return text;
}

std::string MethodText(const PteMethodReport& m, bool is_only) {
  std::string text = is_only ? "" : m.name + ": ";
  text += Count(m.num_nodes, "node") + " became " +
          Count(m.num_instructions, "instruction") +
          " of ExecuTorch's portable kernels";
  if (!is_only) text += ", " + Count(m.arena_bytes, "byte") + " planned";
  text += "\n";
  for (size_t i = 0; i < m.regions.size(); ++i) {
    text += "  region_" + std::to_string(i) + " (" + m.regions[i].backend +
            "): " + Count(m.regions[i].num_nodes, "node") + "\n";
  }
  return text;
}

std::string FileText(const PteExportReport& report) {
  std::string text;
  const bool has_regions =
      std::any_of(report.methods.begin(), report.methods.end(),
                  [](const PteMethodReport& m) { return !m.regions.empty(); });
  if (report.num_constant_methods > 0) {
    text += "constants: " + Count(report.num_constant_methods, "method") + "\n";
  }
  if (has_regions) {
    text += "payloads: " + Count(report.payload_bytes, "byte") + ", and " +
            Count(report.named_bytes, "byte") + " that they ask for\n";
  }
  text += "memory: ";
  if (report.methods.size() == 1) {
    text += Count(report.methods[0].arena_bytes, "byte") + " planned, ";
  } else if (report.shared_bytes > 0) {
    text += Count(report.shared_bytes, "byte") +
            " for state in arena 2 of every method, ";
  }
  text += Count(report.constant_bytes, "byte") + " of constants, " +
          Count(report.state_bytes, "byte") + " of initial state\n";
  if (!report.data_path.empty()) {
    text += "data: " + Count(report.data_bytes, "byte") + " in " +
            report.data_path +
            ", which the runtime has to be given with the program\n";
  }
  if (report.methods.size() > 1 && report.deduplicated > 0) {
    text += "shared: " + Count(report.deduplicated, "byte") +
            " stored once that methods have in common\n";
  }
  if (!report.shared_state.empty()) {
    text += "shared state: " + Joined(report.shared_state) +
            "; load all methods with one memory "
            "(Module's share_memory_arenas) before the first call\n";
  }
  return text;
}

void WriteMethodJson(const PteMethodReport& m, JsonWriter* json) {
  json->BeginObject();
  json->Member("name", m.name);
  json->Member("nodes", uint64_t{m.num_nodes});
  json->Member("instructions", uint64_t{m.num_instructions});
  json->Member("arena_bytes", m.arena_bytes);
  json->Member("peak_live_bytes", m.peak_live_bytes);
  json->Key("regions");
  json->BeginArray();
  for (const PteMethodReport::Region& r : m.regions) {
    json->BeginObject();
    json->Member("backend", r.backend);
    json->Member("nodes", uint64_t{r.num_nodes});
    json->EndObject();
  }
  json->EndArray();
  json->Key("state");
  json->BeginObject();
  json->Member("in_place", uint64_t{m.num_in_place});
  json->Member("copied_bytes", m.copied_bytes());
  json->Key("copies");
  json->BeginArray();
  for (const PteStateCopy& c : m.copies) {
    json->BeginObject();
    json->Member("fqn", c.fqn);
    json->Member("bytes", c.bytes);
    json->Member("made_by", c.made_by);
    json->EndObject();
  }
  json->EndArray();
  json->Key("on_device");
  json->BeginArray();
  for (const executorch::DeviceState& state : m.device_state) {
    json->BeginObject();
    json->Member("fqn", state.fqn);
    json->Member("bytes", state.size_bytes);
    json->Member("device", "cuda:" + std::to_string(int{state.device}));
    json->EndObject();
  }
  json->EndArray();
  json->EndObject();
  json->Key("transfers");
  json->BeginObject();
  json->Member("to_device", uint64_t{m.traffic.num_to_device});
  json->Member("bytes_to_device", m.traffic.bytes_to_device);
  json->Member("to_host", uint64_t{m.traffic.num_to_host});
  json->Member("bytes_to_host", m.traffic.bytes_to_host);
  json->Member("initial_bytes", m.traffic.initial_bytes);
  json->EndObject();
  json->Key("notes");
  json->BeginArray();
  for (const std::string& note : m.notes) json->String(note);
  json->EndArray();
  json->EndObject();
}

// A picture for each arena, in which the others' buffers are left out.
void PictureMethod(const PtePlan& plan, std::vector<PicturedPlan>* out) {
  if (plan.chains.size() != 1) return;
  const auto found = FindLifetimes(plan, 1);
  if (!found) return;
  for (size_t arena = 1; arena < plan.arena_bytes.size(); ++arena) {
    PicturedPlan picture;
    picture.title = plan.name + ", arena " + std::to_string(arena);
    // The inputs, each instruction, the outputs.
    picture.num_steps = plan.chains[0].instructions.size() + 2;
    picture.size_bytes = static_cast<uint64_t>(plan.arena_bytes[arena]);
    std::vector<Lifetime> lifetimes;
    std::vector<uint64_t> offsets;
    std::vector<std::string> about;
    for (size_t i = 0; i < found->lifetimes.size(); ++i) {
      const int32_t value = found->values[i][0];
      const PteValue& content = plan.values[static_cast<size_t>(value)];
      const auto& at = content.tensor()->allocation;
      if (!at || at->memory_id != arena) continue;
      lifetimes.push_back(found->lifetimes[i]);
      offsets.push_back(at->offset);
      about.push_back("%" + std::to_string(value) + " = " +
                      PrintValue(content));
    }
    if (lifetimes.empty()) continue;
    picture.buffers = PictureBuffers(lifetimes, offsets, about);
    out->push_back(std::move(picture));
  }
}

}  // namespace

std::string PteReportAsText(const PteExportReport& report) {
  const bool is_only = report.methods.size() == 1;
  std::string text;
  for (const PteMethodReport& m : report.methods) {
    text += MethodText(m, is_only);
    if (!is_only) text += StateText(m) + DeviceText(m);
  }
  text += FileText(report);
  if (is_only) {
    text += StateText(report.methods[0]) + DeviceText(report.methods[0]);
  }
  for (const PteMethodReport& m : report.methods) {
    for (const std::string& note : m.notes) {
      text += "note: " + (is_only ? "" : m.name + ": ") + note + "\n";
    }
  }
  return text;
}

std::string PteReportAsJson(const PteExportReport& report) {
  JsonWriter json;
  json.BeginObject();
  json.Key("methods");
  json.BeginArray();
  for (const PteMethodReport& m : report.methods) WriteMethodJson(m, &json);
  json.EndArray();
  json.Member("constant_methods", uint64_t{report.num_constant_methods});
  json.Member("constant_bytes", report.constant_bytes);
  json.Member("initial_state_bytes", report.state_bytes);
  json.Member("payload_bytes", report.payload_bytes);
  json.Member("named_bytes", report.named_bytes);
  json.Member("deduplicated_bytes", report.deduplicated);
  json.Key("shared_state");
  json.BeginArray();
  for (const std::string& fqn : report.shared_state) json.String(fqn);
  json.EndArray();
  json.Member("state_arena_bytes", report.shared_bytes);
  json.Key("data_file");
  if (report.data_path.empty()) {
    json.Null();
  } else {
    json.BeginObject();
    json.Member("path", report.data_path);
    json.Member("bytes", report.data_bytes);
    json.EndObject();
  }
  json.EndObject();
  return json.Take();
}

std::string PteMemoryAsSvg(const PteProgram& program) {
  std::vector<PicturedPlan> plans;
  for (const PtePlan& plan : program.plans) PictureMethod(plan, &plans);
  return MemoryAsSvg(plans);
}

}  // namespace tenon::tools
