// tenon scan: what a loader would execute.
#include "scan/scan.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "console.h"
#include "findings.h"
#include "json_writer.h"
#include "source_file.h"
#include "support/counted.h"
#include "verbs.h"
#include "verdict.h"

namespace tenon::tools {
namespace {

constexpr Option kOptions[] = {
    {"--json", 0, "",
     "Writes JSON: of each file its kind, verdict, findings, and all pickles "
     "with all imports, harmless ones too."},
    {"--sarif", 0, "", "Writes SARIF 2.1.0; the same as --format sarif."},
    {"--warnings-as-errors", 0, "", "Ends with 1 when there are cautions."},
    {"--limit", 0, "N", "Shows at most N findings a file. Default: 100."},
    {"--quiet", 'q', "", "Says nothing about files without findings."},
};

constexpr size_t kManyFiles = 1'000'000;
// Of one file, before the worst are picked.
constexpr size_t kMaxCollected = 100'000;

struct ScannedFile {
  std::string path;
  uint64_t file_bytes = 0;
  ScanReport report;
  Diagnostics findings{kMaxCollected};
  bool was_read = false;
};

// "danger", "caution", "clean"; "unknown" when it couldn't be looked at.
std::string_view VerdictOf(const ScannedFile& file) {
  if (ExitCodeOf(file.findings) == ExitCode::kNoVerdict) return "unknown";
  if (file.findings.has_errors()) return LevelName(Severity::kError);
  if (file.findings.num_warnings() > 0) return LevelName(Severity::kWarning);
  return "clean";
}

// The worst first.
Diagnostics Worst(const Diagnostics& from, size_t limit) {
  std::vector<const Diagnostic*> order;
  for (const Diagnostic& d : from.all()) order.push_back(&d);
  std::stable_sort(
      order.begin(), order.end(),
      [](const auto* a, const auto* b) { return a->severity > b->severity; });
  Diagnostics out(limit);
  for (const Diagnostic* d : order) out.Report(*d);
  return out;
}

ScannedFile ScanFile(const std::string& path, size_t limit) {
  ScannedFile file;
  file.path = path;
  Diagnostics found(kMaxCollected);
  const Expected<SourceFile> source = OpenSource(path, found);
  file.was_read = source.ok();
  if (source) {
    file.file_bytes = source->bytes.size();
    file.report = ScanBytes(source->bytes, source->name, ScanOptions(), found);
  }
  file.findings = Worst(found, limit);
  return file;
}

// "model.pt2: clean: a torch.export program (.pt2), 3 pickles, 2 guards".
std::string SummaryLine(const ScannedFile& file) {
  const ScanReport& r = file.report;
  std::string out = file.path + ": " + std::string(VerdictOf(file)) + ": " +
                    std::string(Describe(r.kind));
  const std::pair<uint64_t, std::string_view> counts[] = {
      {r.num_members, "member"}, {r.pickles.size(), "pickle"},
      {r.num_targets, "target"}, {r.num_expressions, "expression"},
      {r.num_guards, "guard"},
  };
  for (const auto& [n, noun] : counts) {
    if (n > 0) out += ", " + Count(n, noun);
  }
  return out + "\n";
}

// Names in hostile files may hold what a terminal obeys.
std::string Harmless(std::string text) {
  for (char& c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7F) c = '?';
  }
  return text;
}

// As diagnostics print, with the words of a scan.
std::string AsText(const ScannedFile& file) {
  std::string out;
  for (const Diagnostic& d : file.findings.all()) {
    out += Harmless(std::string(LevelName(d.severity)) + ": " +
                    d.place.ToString() + ": " + d.message) +
           " [" + std::string(RuleId(d.rule)) + "]\n";
  }
  const size_t counted =
      file.findings.num_errors() + file.findings.num_warnings();
  if (counted > file.findings.all().size()) {
    out += "note: " + std::to_string(counted - file.findings.all().size()) +
           " more not shown\n";
  }
  return out;
}

std::string_view ImportLevel(ImportKind kind) {
  switch (kind) {
    case ImportKind::kPlain:
    case ImportKind::kUnpickles:
      return "plain";
    case ImportKind::kData:
    case ImportKind::kUnknown:
      return LevelName(Severity::kWarning);
    case ImportKind::kActing:
      return LevelName(Severity::kError);
  }
  return "";
}

void WriteFindings(const ScannedFile& file, JsonWriter* json) {
  json->Key("findings");
  json->BeginArray();
  for (const Diagnostic& d : file.findings.all()) {
    json->BeginObject();
    json->Member("level", LevelName(d.severity));
    json->Member("rule", RuleId(d.rule));
    json->Member("message", d.message);
    json->Member("place", d.place.ToString());
    json->EndObject();
  }
  json->EndArray();
}

void WritePickles(const ScanReport& report, JsonWriter* json) {
  json->Key("pickles");
  json->BeginArray();
  for (const ScannedPickle& pickle : report.pickles) {
    json->BeginObject();
    json->Member("place", pickle.place);
    json->Member("protocol", static_cast<uint64_t>(pickle.protocol));
    json->Key("imports");
    json->BeginObject();
    for (const ScannedImport& import : pickle.imports) {
      json->Member(import.name, ImportLevel(import.kind));
    }
    json->EndObject();
    json->EndObject();
  }
  json->EndArray();
}

void WriteStrings(std::string_view key, const std::vector<std::string>& items,
                  JsonWriter* json) {
  json->Key(key);
  json->BeginArray();
  for (const std::string& item : items) json->String(item);
  json->EndArray();
}

std::string AsJson(const std::vector<ScannedFile>& files) {
  JsonWriter json;
  json.BeginObject();
  json.Key("files");
  json.BeginArray();
  for (const ScannedFile& file : files) {
    json.BeginObject();
    json.Member("file", file.path);
    json.Member("verdict", VerdictOf(file));
    if (file.was_read) {
      json.Member("kind", ShortName(file.report.kind));
      json.Member("file_bytes", file.file_bytes);
      json.Member("members", file.report.num_members);
      json.Member("targets", file.report.num_targets);
      json.Member("expressions", file.report.num_expressions);
      json.Member("guards", file.report.num_guards);
      WriteStrings("custom_classes", file.report.custom_classes, &json);
      WriteStrings("delegates", file.report.delegates, &json);
      WritePickles(file.report, &json);
    }
    WriteFindings(file, &json);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.Take();
}

ExitCode Run(const CommandLine& line, Console& console) {
  std::string error;
  const auto limit = line.GetCount("--limit", Diagnostics::kDefaultLimit,
                                   kMaxCollected, &error);
  if (!limit) return FailUsage(error, console);
  if (line.Has("--sarif")) console.set_format(FindingFormat::kSarif);
  const bool as_json = line.Has("--json");
  const bool as_text = !as_json && console.format() == FindingFormat::kText;

  std::vector<ScannedFile> files;
  Diagnostics all(kMaxCollected);
  for (const std::string& path : line.arguments()) {
    ScannedFile file = ScanFile(path, *limit);
    for (const Diagnostic& d : file.findings.all()) all.Report(d);
    if (as_text) {
      console.Out(AsText(file));
      const bool is_quiet = line.Has("--quiet") && file.findings.all().empty();
      if (file.was_read && !is_quiet) console.Out(SummaryLine(file));
    }
    if (as_json) files.push_back(std::move(file));
  }
  if (as_json) {
    console.Out(AsJson(files));
  } else if (!as_text) {
    console.ReportAsData(all);
  }
  const ExitCode code = ExitCodeOf(all);
  const bool has_cautions = all.num_warnings() > 0;
  if (code == ExitCode::kFine && has_cautions &&
      line.Has("--warnings-as-errors")) {
    return ExitCode::kFinding;
  }
  return code;
}

}  // namespace

const Verb kScanVerb = {
    "scan",
    "FILE...",
    1,
    kManyFiles,
    "says what a loader of a file would execute",
    "Looks through files of any kind for what Python, PyTorch or the system "
    "would run on opening them: imports of pickles, code where sizes, guards "
    "and operators should be, archives that readers disagree about, native "
    "code. Nothing is run, imported or looked up.\n\n"
    "A danger runs code that the file brings or chooses, or can't be looked "
    "at, and makes the exit code 1. A caution calls code that the machine "
    "already has, beyond what plain tensors need. Notes are harmless. 'tenon "
    "rule ID' explains each finding.",
    "tenon scan model.pt2 weights.pt\n"
    "tenon scan --sarif downloads/*.pt2 > findings.sarif\n",
    kOptions,
    Run};

}  // namespace tenon::tools
