#include "report_text.h"

#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "json_writer.h"
#include "support/counted.h"

namespace tenon::tools {
namespace {

constexpr std::string_view kInPlace = "in place";

// Nodes shown of each group of refusals.
constexpr size_t kShownNodes = 5;

std::string BoundaryText(const std::vector<BoundaryValue>& values,
                         std::string_view noun) {
  int64_t bytes = 0;
  size_t num_state = 0;
  bool is_bounded = true;
  for (const BoundaryValue& v : values) {
    num_state += v.is_state ? 1 : 0;
    if (v.is_state) continue;
    is_bounded = is_bounded && v.bytes >= 0;
    bytes += v.bytes >= 0 ? v.bytes : 0;
  }
  std::string out = Count(values.size() - num_state, noun);
  out +=
      is_bounded ? " of " + std::to_string(bytes) + " B" : " of unbounded size";
  if (num_state > 0) out += " and " + std::to_string(num_state) + " of state";
  return out;
}

void AppendRegion(const RegionReport& region, std::string* out) {
  const std::string backend = region.backend.empty() ? "none" : region.backend;
  *out += "  " + region.name + " (" + backend +
          "): " + Count(region.num_nodes, "node") + ", " +
          BoundaryText(region.inputs, "input") + ", " +
          BoundaryText(region.outputs, "output");
  if (!region.payload_digest.empty()) {
    *out += ", payload " + std::to_string(region.payload_bytes) + " B";
  }
  *out += "\n";
  for (const DeclaredWrite& write : region.writes) {
    *out += "    writes input " + std::to_string(write.input) +
            " in place, as output " + std::to_string(write.output) + "\n";
  }
  if (!region.fallback_reason.empty()) {
    *out += "    fell back: " + region.fallback_reason + "\n";
  }
}

void AppendRefusals(const ExportReport& report, std::string* out) {
  if (report.refusals.empty()) {
    *out += "every node was taken\n";
    return;
  }
  *out += "not taken:\n";
  for (const RefusalGroup& group : report.refusals) {
    *out += "  " + group.backend + ": " + Count(group.nodes.size(), "node") +
            ": " + group.reason;
    if (!group.detail.empty()) *out += " (" + group.detail + ")";
    *out += "\n";
    for (size_t i = 0; i < group.nodes.size(); ++i) {
      if (i == kShownNodes) {
        *out += "    and " + Count(group.nodes.size() - i, "other") + "\n";
        break;
      }
      *out += "    " + group.nodes[i] + "\n";
    }
  }
}

// The signature by kinds where it stayed as it was, else both in full.
void AppendSignature(const ExportReport& report, std::string* out) {
  if (report.signature_before != report.signature_after) {
    *out += "signature before:\n";
    for (const auto& line : report.signature_before) *out += "  " + line + "\n";
    *out += "signature after:\n";
    for (const auto& line : report.signature_after) *out += "  " + line + "\n";
    return;
  }
  std::vector<std::pair<std::string, size_t>> kinds;
  for (const std::string& line : report.signature_after) {
    // "in parameter fc.weight: f32[4]" -> "in parameter"
    const size_t end = line.find_first_of(" :", line.find(' ') + 1);
    const std::string kind = line.substr(0, end);
    if (kinds.empty() || kinds.back().first != kind)
      kinds.emplace_back(kind, 0);
    ++kinds.back().second;
  }
  *out += "signature, before as after:";
  for (const auto& [kind, count] : kinds) {
    *out += (&kind == &kinds.front().first ? " " : ", ") +
            std::to_string(count) + " " + kind;
  }
  *out += "\n";
}

void WriteBoundary(std::string_view key,
                   const std::vector<BoundaryValue>& values, JsonWriter* json) {
  json->Key(key);
  json->BeginArray();
  for (const BoundaryValue& v : values) {
    json->BeginObject();
    json->Member("name", v.name);
    json->Member("type", v.type);
    json->Key("bytes");
    if (v.bytes < 0) {
      json->Null();
    } else {
      json->Int(v.bytes);
    }
    json->Member("is_state", v.is_state);
    json->EndObject();
  }
  json->EndArray();
}

void WriteRegion(const RegionReport& region, JsonWriter* json) {
  json->BeginObject();
  json->Member("name", region.name);
  json->Member("backend", region.backend);
  json->Member("nodes", uint64_t{region.num_nodes});
  WriteBoundary("inputs", region.inputs, json);
  WriteBoundary("outputs", region.outputs, json);
  json->Member("payload_bytes", region.payload_bytes);
  json->Member("payload_digest", region.payload_digest);
  json->Key("writes");
  json->BeginArray();
  for (const DeclaredWrite& write : region.writes) {
    json->BeginObject();
    json->Member("input", uint64_t{write.input});
    json->Member("output", uint64_t{write.output});
    json->Member("kind", write.kind == WriteKind::kKvCacheUpdate
                             ? "kv_cache_update"
                             : "user");
    json->EndObject();
  }
  json->EndArray();
  json->Member("fallback_reason", region.fallback_reason);
  json->EndObject();
}

void WriteStrings(std::string_view key, const std::vector<std::string>& items,
                  JsonWriter* json) {
  json->Key(key);
  json->BeginArray();
  for (const std::string& item : items) json->String(item);
  json->EndArray();
}

}  // namespace

std::string ReportAsText(const ExportReport& report,
                         const ReportTextOptions& options) {
  size_t num_delegates = 0;
  for (const RegionReport& region : report.regions) {
    num_delegates += region.backend.empty() ? 0 : 1;
  }
  std::string out = Count(report.num_nodes, "node") + ", " +
                    Count(report.regions.size(), "region");
  if (report.num_nodes_delegated > 0) {
    out += ", " + std::to_string(report.num_nodes_delegated) + " nodes in " +
           Count(num_delegates, "delegate");
  }
  out += "\n";
  for (const RegionReport& region : report.regions) AppendRegion(region, &out);
  if (options.explain) AppendRefusals(report, &out);
  AppendSignature(report, &out);
  if (!report.mutations.empty()) out += "mutations:\n";
  for (const MutationReport& m : report.mutations) {
    const bool is_said = !m.in_place || m.kind == kInPlace;
    out += "  " + m.target + ": " + m.kind +
           (is_said ? "" : ", " + std::string(kInPlace)) + " by " + m.owner +
           "\n";
  }
  for (const std::string& note : report.notes) out += "note: " + note + "\n";
  if (!(report.result_digest == Digest())) {
    const bool is_proven = report.source_digest == report.result_digest;
    out += "digest " + report.result_digest.ToHex() +
           (is_proven ? ", that of the source\n" : "\n");
  }
  if (options.phases) {
    out += "phases:\n";
    for (const PhaseTime& phase : report.phases) {
      char line[80];
      std::snprintf(line, sizeof line, "  %-14s %10.3f ms\n",
                    phase.name.c_str(), phase.seconds * 1e3);
      out += line;
    }
  }
  return out;
}

std::string ReportAsJson(const ExportReport& report, bool with_phases) {
  JsonWriter json;
  json.BeginObject();
  json.Member("nodes", uint64_t{report.num_nodes});
  json.Member("nodes_delegated", uint64_t{report.num_nodes_delegated});
  json.Key("regions");
  json.BeginArray();
  for (const RegionReport& region : report.regions) WriteRegion(region, &json);
  json.EndArray();
  json.Key("refusals");
  json.BeginArray();
  for (const RefusalGroup& group : report.refusals) {
    json.BeginObject();
    json.Member("backend", group.backend);
    json.Member("reason", group.reason);
    json.Member("detail", group.detail);
    WriteStrings("nodes", group.nodes, &json);
    json.EndObject();
  }
  json.EndArray();
  json.Key("mutations");
  json.BeginArray();
  for (const MutationReport& m : report.mutations) {
    json.BeginObject();
    json.Member("target", m.target);
    json.Member("kind", m.kind);
    json.Member("owner", m.owner);
    json.Member("in_place", m.in_place);
    json.EndObject();
  }
  json.EndArray();
  WriteStrings("signature_before", report.signature_before, &json);
  WriteStrings("signature_after", report.signature_after, &json);
  WriteStrings("notes", report.notes, &json);
  json.Member("source_digest", report.source_digest.ToHex());
  json.Member("result_digest", report.result_digest.ToHex());
  if (with_phases) {
    json.Key("phases");
    json.BeginArray();
    for (const PhaseTime& phase : report.phases) {
      json.BeginObject();
      json.Member("name", phase.name);
      json.Key("seconds");
      json.Double(phase.seconds);
      json.EndObject();
    }
    json.EndArray();
  }
  json.EndObject();
  return json.Take();
}

}  // namespace tenon::tools
