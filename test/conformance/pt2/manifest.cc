#include "conformance/pt2/manifest.h"

#include <simdjson.h>

#include <filesystem>
#include <string_view>

namespace tenon::conformance {
namespace {

using Json = simdjson::dom::element;

std::string TextOf(Json object, std::string_view member) {
  std::string_view text;
  return object[member].get(text) ? std::string() : std::string(text);
}

double NumberOf(Json object, std::string_view member) {
  double number;
  return object[member].get(number) ? 0 : number;
}

// The member's JSON, "" when it isn't there.
std::string JsonOf(Json object, std::string_view member) {
  Json value;
  return object[member].get(value) ? std::string() : simdjson::minify(value);
}

// False when a run lacks a member that it must have.
bool ReadRun(Json json, RecordedRun* run) {
  run->args = JsonOf(json, "args");
  run->kwargs = JsonOf(json, "kwargs");
  run->outputs = JsonOf(json, "outputs");
  run->args_after = JsonOf(json, "args_after");
  run->kwargs_after = JsonOf(json, "kwargs_after");
  run->error = TextOf(json, "error");
  simdjson::dom::object state;
  if (!json["state_after"].get(state)) {
    for (const auto entry : state) {
      // A tensor, or just its key.
      std::string value = simdjson::minify(entry.value);
      if (entry.value.is_string()) value = "{\"t\": " + value + "}";
      run->state_after.emplace_back(entry.key, std::move(value));
    }
  }
  return !run->args.empty() && !run->kwargs.empty() &&
         (!run->outputs.empty() || !run->error.empty());
}

// {folder: {file: {release: what happens there}}}, of one corpus. Only results
// count here: that a release can't open a file says nothing of its program.
class KnownFailures {
 public:
  // What any release computes wrongly, "" when nothing is known.
  std::string Find(const std::filesystem::path& program) {
    const auto folder = program.parent_path();
    const auto list = folder.parent_path() / "known_failures.json";
    if (list != list_) Load(list);
    simdjson::dom::object releases;
    if (!is_loaded_ ||
        root_[folder.filename().string()][program.filename().string()].get(
            releases)) {
      return "";
    }
    for (const auto release : releases) {
      std::string_view text;
      if (!release.value.get(text) && text.starts_with(kWrongResult)) {
        return std::string(text);
      }
    }
    return "";
  }

 private:
  static constexpr std::string_view kWrongResult = "run ";

  void Load(const std::filesystem::path& list) {
    list_ = list;
    is_loaded_ = !parser_.load(list.string()).get(root_);
  }

  simdjson::dom::parser parser_;
  std::filesystem::path list_;
  Json root_;
  bool is_loaded_ = false;
};

bool ReadProgram(Json json, const std::filesystem::path& folder,
                 CorpusProgram* program) {
  program->name = TextOf(json, "name");
  program->path = folder / TextOf(json, "file");
  program->io_path = folder / TextOf(json, "io");
  program->method = TextOf(json, "method");
  program->tolerance = {NumberOf(json, "rtol"), NumberOf(json, "atol")};
  if (json["flat"].get(program->is_flat)) program->is_flat = false;
  simdjson::dom::array features;
  if (!json["features"].get(features)) {
    for (Json feature : features) {
      std::string_view text;
      if (!feature.get(text) && text == "hazard") program->is_hazard = true;
    }
  }
  simdjson::dom::array runs;
  if (json["runs"].get(runs)) return false;
  for (Json run : runs) {
    if (!ReadRun(run, &program->runs.emplace_back())) return false;
  }
  return !program->name.empty();
}

}  // namespace

bool ReadRecordedRun(std::string_view json, RecordedRun* out) {
  simdjson::dom::parser parser;
  Json record;
  return !parser.parse(json.data(), json.size()).get(record) &&
         ReadRun(record, out);
}

Expected<std::vector<CorpusProgram>> ReadManifest(const std::string& path,
                                                  Diagnostics& diags) {
  simdjson::dom::parser parser;
  simdjson::dom::array entries;
  const auto document = parser.load(path);
  if (document.error()) {
    return diags.Error(Rule::kIo, Place::File(path))
           << "a manifest can't be read: "
           << simdjson::error_message(document.error());
  }
  if (document["programs"].get(entries)) {
    return diags.Error(Rule::kUsage, Place::File(path))
           << "a manifest without 'programs'";
  }
  const auto folder = std::filesystem::path(path).parent_path();
  KnownFailures known;
  std::vector<CorpusProgram> programs;
  for (Json entry : entries) {
    if (!ReadProgram(entry, folder, &programs.emplace_back())) {
      return diags.Error(Rule::kUsage, Place::File(path))
             << "entry " << programs.size() - 1
             << " lacks a name, its runs or a part of one";
    }
    programs.back().known_failure = known.Find(programs.back().path);
  }
  return programs;
}

}  // namespace tenon::conformance
