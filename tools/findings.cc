#include "findings.h"

#include <cctype>
#include <cstdio>
#include <string>
#include <vector>

#include "json_writer.h"
#include "version.h"

namespace tenon::tools {
namespace {

std::string_view Level(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "";
}

// Colours the severity at the start of each line that has one.
std::string WithColors(std::string_view text) {
  struct Word {
    std::string_view word, color;
  };
  constexpr Word kWords[] = {{"error:", "\033[1;31m"},
                             {"warning:", "\033[1;35m"},
                             {"note:", "\033[1;36m"}};
  std::string out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    for (const Word& w : kWords) {
      if (!line.starts_with(w.word)) continue;
      out.append(w.color).append(w.word).append("\033[0m");
      line.remove_prefix(w.word.size());
    }
    out.append(line).append("\n");
  }
  return out;
}

void WritePlace(const Place& place, JsonWriter* json) {
  json->BeginObject();
  if (!place.file.empty()) json->Member("file", place.file);
  if (place.line > 0) {
    json->Member("line", uint64_t{place.line});
    json->Member("column", uint64_t{place.column});
  }
  if (place.offset != Place::kNoOffset) json->Member("offset", place.offset);
  if (!place.json_path.empty()) json->Member("json_path", place.json_path);
  if (!place.node.empty()) json->Member("node", place.node);
  json->EndObject();
}

// Members of an archive are called "model.pt2: data/weights/model.pt".
constexpr std::string_view kBeforeMember = ": ";

std::string_view FileOf(const Place& place) {
  return std::string_view(place.file).substr(0, place.file.find(kBeforeMember));
}

bool IsInMember(const Place& place) {
  return place.file.find(kBeforeMember) != std::string::npos;
}

// Where inside the file. Offsets in members aren't the file's.
std::string LogicalName(const Place& place) {
  std::string out;
  if (IsInMember(place)) {
    out = place.file.substr(FileOf(place).size() + kBeforeMember.size());
    if (place.offset != Place::kNoOffset) {
      out += " at byte " + std::to_string(place.offset);
    }
  }
  const std::string& inner = place.node.empty() ? place.json_path : place.node;
  if (!out.empty() && !inner.empty()) out += ": ";
  return out + inner;
}

// A path as a relative reference: whatever means something in a URI is escaped.
std::string AsUri(std::string_view path) {
  constexpr std::string_view kPlain = "-._~/";
  std::string out;
  for (const char c : path) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) != 0 || kPlain.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    char escape[8];
    std::snprintf(escape, sizeof escape, "%%%02X", u);
    out += escape;
  }
  return out;
}

void WriteSarifLocation(const Place& place, std::string_view message,
                        JsonWriter* json) {
  json->BeginObject();
  if (!place.file.empty()) {
    json->Key("physicalLocation");
    json->BeginObject();
    json->Key("artifactLocation");
    json->BeginObject();
    json->Member("uri", AsUri(FileOf(place)));
    json->EndObject();
    if (place.line > 0) {
      json->Key("region");
      json->BeginObject();
      json->Member("startLine", uint64_t{place.line});
      json->Member("startColumn", uint64_t{place.column});
      json->EndObject();
    } else if (place.offset != Place::kNoOffset && !IsInMember(place)) {
      json->Key("region");
      json->BeginObject();
      json->Member("byteOffset", place.offset);
      json->EndObject();
    }
    json->EndObject();
  }
  const std::string logical = LogicalName(place);
  if (!logical.empty()) {
    json->Key("logicalLocations");
    json->BeginArray();
    json->BeginObject();
    json->Member("fullyQualifiedName", logical);
    json->EndObject();
    json->EndArray();
  }
  if (!message.empty()) {
    json->Key("message");
    json->BeginObject();
    json->Member("text", message);
    json->EndObject();
  }
  json->EndObject();
}

bool HasLocation(const Place& place) {
  return !place.file.empty() || !place.node.empty() || !place.json_path.empty();
}

void WriteSarifResult(const Diagnostic& d, JsonWriter* json) {
  json->BeginObject();
  json->Member("ruleId", RuleId(d.rule));
  json->Member("level", Level(d.severity));
  json->Key("message");
  json->BeginObject();
  json->Member("text", d.message);
  json->EndObject();
  if (HasLocation(d.place)) {
    json->Key("locations");
    json->BeginArray();
    WriteSarifLocation(d.place, "", json);
    json->EndArray();
  }
  if (!d.notes.empty()) {
    json->Key("relatedLocations");
    json->BeginArray();
    for (const Note& note : d.notes) {
      WriteSarifLocation(note.place, note.message, json);
    }
    json->EndArray();
  }
  json->EndObject();
}

// Each rule that a finding cites, once, in the order of the table.
void WriteSarifRules(const Diagnostics& diags, JsonWriter* json) {
  std::vector<bool> is_cited(kNumRules, false);
  for (const Diagnostic& d : diags.all()) {
    is_cited[static_cast<size_t>(d.rule)] = true;
  }
  json->BeginArray();
  for (int i = 0; i < kNumRules; ++i) {
    if (!is_cited[i]) continue;
    const RuleInfo& rule = Info(static_cast<Rule>(i));
    json->BeginObject();
    json->Member("id", rule.id);
    json->Key("shortDescription");
    json->BeginObject();
    json->Member("text", rule.title);
    json->EndObject();
    json->Key("fullDescription");
    json->BeginObject();
    json->Member("text", rule.reason);
    json->EndObject();
    json->EndObject();
  }
  json->EndArray();
}

}  // namespace

std::string FindingsAsText(const Diagnostics& diags, bool colors) {
  const std::string text = diags.ToString();
  return colors ? WithColors(text) : text;
}

std::string FindingsAsJson(const Diagnostics& diags) {
  JsonWriter json;
  json.BeginObject();
  json.Member("errors", uint64_t{diags.num_errors()});
  json.Member("warnings", uint64_t{diags.num_warnings()});
  json.Key("findings");
  json.BeginArray();
  for (const Diagnostic& d : diags.all()) {
    json.BeginObject();
    json.Member("severity", Level(d.severity));
    json.Member("rule", RuleId(d.rule));
    json.Member("message", d.message);
    json.Key("place");
    WritePlace(d.place, &json);
    json.Key("notes");
    json.BeginArray();
    for (const Note& note : d.notes) {
      json.BeginObject();
      json.Member("message", note.message);
      json.Key("place");
      WritePlace(note.place, &json);
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.Take();
}

std::string FindingsAsSarif(const Diagnostics& diags) {
  JsonWriter json;
  json.BeginObject();
  json.Member("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
  json.Member("version", "2.1.0");
  json.Key("runs");
  json.BeginArray();
  json.BeginObject();
  json.Key("tool");
  json.BeginObject();
  json.Key("driver");
  json.BeginObject();
  json.Member("name", "tenon");
  json.Member("version", kVersion);
  json.Key("rules");
  WriteSarifRules(diags, &json);
  json.EndObject();
  json.EndObject();
  json.Key("results");
  json.BeginArray();
  for (const Diagnostic& d : diags.all()) WriteSarifResult(d, &json);
  json.EndArray();
  json.EndObject();
  json.EndArray();
  json.EndObject();
  return json.Take();
}

}  // namespace tenon::tools
