#include "verbs.h"

#include <algorithm>
#include <new>
#include <vector>

#include "console.h"
#include "version.h"

namespace tenon::tools {
namespace {

constexpr const Verb* kVerbs[] = {
    &kInfoVerb, &kScanVerb,  &kVerifyVerb,    &kDisVerb,     &kAsmVerb,
    &kDiffVerb, &kProveVerb, &kPartitionVerb, &kExportVerb,  &kExportOnnxVerb,
    &kJoinVerb, &kRunVerb,   &kBenchVerb,     &kWeightsVerb, &kStripVerb,
    &kSizeVerb, &kGenVerb,   &kRuleVerb,
};

constexpr size_t kSummaryColumn = 14;

std::string GeneralHelp() {
  std::string out =
      "usage: tenon VERB [OPTION]... [ARGUMENT]...\n"
      "       tenon help [VERB]\n"
      "       tenon --version\n\n"
      "Reads, checks, compares, cuts, joins and runs PyTorch programs (.pt2)\n"
      "without Python.\n\n"
      "verbs:\n";
  for (const Verb* verb : kVerbs) {
    std::string line = "  " + std::string(verb->name);
    line.resize(std::max(line.size() + 1, kSummaryColumn), ' ');
    out += line + std::string(verb->summary) + "\n";
  }
  out +=
      "\nexit codes:\n"
      "  0  fine\n"
      "  1  a finding: bad input, programs that differ\n"
      "  2  no verdict: usage, I/O, something unsupported\n"
      "  3  an internal error\n\n"
      "examples:\n"
      "  tenon info model.pt2\n"
      "  tenon help verify\n";
  return out;
}

ExitCode UsageError(std::string_view message, std::string_view hint,
                    Console& console) {
  Diagnostics diags;
  diags.Error(Rule::kUsage) << message;
  console.Report(diags);
  if (console.format() == FindingFormat::kText) {
    console.Err("see '" + std::string(hint) + "'\n");
  }
  return ExitCode::kNoVerdict;
}

const Verb* FindVerb(std::string_view name) {
  for (const Verb* verb : kVerbs) {
    if (verb->name == name) return verb;
  }
  return nullptr;
}

ExitCode UnknownVerb(const std::string& name, Console& console) {
  std::vector<std::string_view> names = {"help"};
  for (const Verb* verb : kVerbs) names.push_back(verb->name);
  std::string message = "unknown verb '" + name + "'";
  const std::string_view closest = ClosestName(name, names);
  if (!closest.empty()) {
    message += "; did you mean '" + std::string(closest) + "'?";
  }
  return UsageError(message, "tenon --help", console);
}

ExitCode Help(std::span<const std::string> words, Console& console) {
  if (words.empty()) {
    console.Out(GeneralHelp());
    return ExitCode::kFine;
  }
  const Verb* verb = FindVerb(words[0]);
  if (verb == nullptr) return UnknownVerb(words[0], console);
  console.Out(HelpOf(*verb));
  return ExitCode::kFine;
}

}  // namespace

std::span<const Verb* const> AllVerbs() { return kVerbs; }

namespace {

ExitCode RunWords(std::span<const std::string> words, Console& console) {
  if (words.empty()) {
    console.Err(GeneralHelp());
    return ExitCode::kNoVerdict;
  }
  const std::string& first = words[0];
  if (first == "--help" || first == "-h") return Help({}, console);
  if (first == "help") return Help(words.subspan(1), console);
  if (first == "--version") {
    console.Out("tenon " + std::string(kVersion) + "\n");
    return ExitCode::kFine;
  }
  const Verb* verb = FindVerb(first);
  if (verb == nullptr) return UnknownVerb(first, console);

  CommandLine line(verb);
  std::string error;
  const bool is_parsed = ParseCommandLine(words.subspan(1), &line, &error);
  const std::string format = line.Get("--format");
  if (format == "json") console.set_format(FindingFormat::kJson);
  if (format == "sarif") console.set_format(FindingFormat::kSarif);
  if (!is_parsed) {
    return UsageError(error, "tenon " + std::string(verb->name) + " --help",
                      console);
  }
  if (line.Has("--help")) return Help(words.first(1), console);
  return verb->run(line, console);
}

}  // namespace

ExitCode RunCommand(std::span<const std::string> words, Console& console) {
  try {
    return RunWords(words, console);
  } catch (const std::bad_alloc&) {
    console.Err("error: out of memory [T-IO]\n");
    return ExitCode::kNoVerdict;
  }
}

}  // namespace tenon::tools
