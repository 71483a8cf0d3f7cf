// tenon verify: checks programs against the rules.
#include "verify/verify.h"

#include "console.h"
#include "pte_verbs.h"
#include "read_program.h"
#include "support/byte_text.h"
#include "support/counted.h"
#include "verbs.h"
#include "verdict.h"

namespace tenon::tools {
namespace {

constexpr Option kOptions[] = {
    {"--lint", 0, "", "Also warns of what is legal but probably not meant."},
    {"--warnings-as-errors", 0, "", "Ends with 1 when there are warnings."},
    {"--check-crc", 0, "",
     "Compares the checksums of all archive members. Reads every weight."},
    {"--method", 'm', "NAME",
     "The method to read. Default: 'model', or the only one."},
    {"--data", 0, "FILE", "External data of a .pte, a .ptd.",
     /*repeatable=*/true},
    {"--limit", 0, "N", "Shows at most N findings. Default: 100."},
    {"--quiet", 'q', "", "Says nothing about programs without findings."},
};

constexpr size_t kManyFiles = 1'000'000;

// Adds the findings of one file; `path`, if not empty, goes in front of places
// that name only a node.
void Append(const std::string& path, const Diagnostics& from, Diagnostics* to) {
  for (Diagnostic d : from.all()) {
    if (d.place.file.empty()) d.place.file = path;
    for (Note& note : d.notes) {
      if (note.place.file.empty()) note.place.file = path;
    }
    to->Report(std::move(d));
  }
}

std::string Fine(const std::string& path, const Program& program) {
  size_t num_nodes = 0;
  for (uint32_t g = 0; g < program.num_graphs(); ++g) {
    if (!program.graph(GraphId(g)).is_erased) {
      num_nodes += program.CountNodes(GraphId(g));
    }
  }
  return path + ": fine (" + Count(num_nodes, "node") + ")\n";
}

// Each checks a file and says what is fine; the text only counts when nothing
// was found.
std::string VerifyProgram(const std::string& path, const ReadOptions& read,
                          const VerifyOptions& verify, Diagnostics& diags) {
  const Expected<LoadedProgram> loaded =
      ReadProgram(path, std::make_shared<Context>(), read, diags);
  const bool holds = loaded && Verify(loaded->program, verify, diags);
  return holds ? Fine(path, loaded->program) : "";
}

std::string VerifyPteFile(const std::string& path, const CommandLine& line,
                          Diagnostics& diags) {
  const auto num_instructions = ReadAndVerifyPte(path, line, diags);
  if (!num_instructions) return "";
  return path + ": fine (" + Count(*num_instructions, "instruction") + ")\n";
}

ExitCode Run(const CommandLine& line, Console& console) {
  std::string error;
  const auto limit =
      line.GetCount("--limit", Diagnostics::kDefaultLimit, 1'000'000, &error);
  if (!limit) return FailUsage(error, console);
  ReadOptions read;
  read.limits = line.read_limits();
  read.method = line.Get("--method");
  read.check_crc = line.Has("--check-crc");
  VerifyOptions verify;
  verify.lint = line.Has("--lint");

  // Text about one file needn't repeat its name; other formats have a slot for
  // it that is always filled.
  const bool names_file =
      line.arguments().size() > 1 || console.format() != FindingFormat::kText;
  Diagnostics all(*limit);
  std::string fine;
  for (const std::string& path : line.arguments()) {
    Diagnostics diags(*limit);
    const std::string text = IsPte(path)
                                 ? VerifyPteFile(path, line, diags)
                                 : VerifyProgram(path, read, verify, diags);
    Append(names_file ? path : "", diags, &all);
    if (diags.num_errors() + diags.num_warnings() == 0) fine += text;
  }
  console.ReportAsData(all);
  if (!line.Has("--quiet") && console.format() == FindingFormat::kText) {
    console.Out(fine);
  }
  const ExitCode code = ExitCodeOf(all);
  const bool has_warnings = all.num_warnings() > 0;
  if (code == ExitCode::kFine && has_warnings &&
      line.Has("--warnings-as-errors")) {
    return ExitCode::kFinding;
  }
  return code;
}

}  // namespace

const Verb kVerifyVerb = {
    "verify",
    "FILE...",
    1,
    kManyFiles,
    "checks programs against the rules",
    "Reads each program and checks it against all rules: graph order, operator "
    "arguments, types, signature, state, calling convention, sizes, effects, "
    "regions. The findings are the result and go to standard output; each "
    "names its rule, which 'tenon rule ID' explains.",
    "tenon verify model.pt2\n"
    "tenon verify model.pte --data model.ptd\n"
    "tenon verify --lint --format sarif model.pt2 > findings.sarif\n",
    kOptions,
    Run};

}  // namespace tenon::tools
