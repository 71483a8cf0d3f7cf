// tenon rule: explains the rules that findings cite.
#include "console.h"
#include "diag/rules.h"
#include "json_writer.h"
#include "verbs.h"
#include "verdict.h"

namespace tenon::tools {
namespace {

constexpr Option kOptions[] = {
    {"--json", 0, "", "Writes JSON."},
};

void WriteJson(const RuleInfo& rule, JsonWriter* json) {
  json->BeginObject();
  json->Member("id", rule.id);
  json->Member("rule", rule.title);
  json->Member("reason", rule.reason);
  json->Member("example", rule.example);
  json->EndObject();
}

void List(bool as_json, Console& console) {
  constexpr size_t kTitleColumn = 16;
  JsonWriter json;
  json.BeginArray();
  for (int i = 0; i < kNumRules; ++i) {
    const RuleInfo& rule = Info(static_cast<Rule>(i));
    if (as_json) {
      WriteJson(rule, &json);
      continue;
    }
    std::string line(rule.id);
    line.resize(std::max(line.size() + 1, kTitleColumn), ' ');
    console.Out(line + std::string(rule.title) + "\n");
  }
  json.EndArray();
  if (as_json) console.Out(json.Take());
}

ExitCode Run(const CommandLine& line, Console& console) {
  const bool as_json = line.Has("--json");
  if (line.arguments().empty()) {
    List(as_json, console);
    return ExitCode::kFine;
  }
  const std::string& id = line.arguments()[0];
  Rule found;
  if (!FindRule(id, &found)) {
    std::vector<std::string_view> ids;
    for (int i = 0; i < kNumRules; ++i) {
      ids.push_back(RuleId(static_cast<Rule>(i)));
    }
    std::string message = "no rule has the id '" + id + "'";
    const std::string_view closest = ClosestName(id, ids);
    if (!closest.empty()) {
      message += "; did you mean '" + std::string(closest) + "'?";
    }
    return FailUsage(message, console);
  }
  const RuleInfo& rule = Info(found);
  if (as_json) {
    JsonWriter json;
    WriteJson(rule, &json);
    console.Out(json.Take());
    return ExitCode::kFine;
  }
  console.Out(std::string(rule.id) + ": " + std::string(rule.title) +
              "\n  why:     " + std::string(rule.reason) +
              "\n  example: " + std::string(rule.example) + "\n");
  return ExitCode::kFine;
}

}  // namespace

const Verb kRuleVerb = {
    "rule",
    "[ID]",
    0,
    1,
    "explains the rules that findings cite",
    "Explains one rule: what must hold, why, and a small violation. Without ID "
    "it lists all rules. Findings carry the id of their rule in brackets.",
    "tenon rule\n"
    "tenon rule V-FILE-08\n",
    kOptions,
    Run};

}  // namespace tenon::tools
