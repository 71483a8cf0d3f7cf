#include "conformance/pt2/check.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/digest.h"
#include "conformance/pt2/replay.h"
#include "conformance/pt2/step_report.h"
#include "export/export.h"
#include "formats/pt2/pt2.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon::conformance {
namespace {

std::optional<Program> Read(const std::string& path, const std::string& method,
                            Diagnostics& diags) {
  Pt2ReadOptions options;
  options.method = method;
  options.check_crc = true;
  auto program = ReadPt2(path, std::make_shared<Context>(), options, diags);
  if (!program) return std::nullopt;
  return std::move(*program);
}

void CheckVerify(const Program& program, StepReport* report) {
  Diagnostics diags;
  if (!Verify(program, VerifyOptions(), diags)) {
    report->Fail("verify", diags, "failed without an error");
  }
}

// The first line at which two texts part.
std::string FirstDifference(const std::string& a, const std::string& b) {
  size_t line = 1, start = 0;
  for (size_t i = 0; i < a.size() && i < b.size() && a[i] == b[i]; ++i) {
    if (a[i] != '\n') continue;
    ++line;
    start = i + 1;
  }
  const auto line_of = [start](const std::string& text) {
    return start < text.size()
               ? text.substr(start, text.find('\n', start) - start)
               : std::string("the end");
  };
  return "line " + std::to_string(line) + ": '" + line_of(b) +
         "' instead of '" + line_of(a) + "'";
}

void CheckText(const Program& program, StepReport* report) {
  std::map<Digest, Bytes> side;
  PrintOptions options;
  options.side_file = [&side](const Digest& digest, Bytes bytes) {
    side.emplace(digest, bytes);
  };
  const std::string text = PrintProgram(program, options);
  const PayloadSource payloads = [&side](const Digest& digest) {
    const auto found = side.find(digest);
    return std::pair(found == side.end() ? Bytes() : found->second,
                     std::shared_ptr<const void>());
  };
  Diagnostics diags;
  auto parsed = ParseProgram(text, "printed", std::make_shared<Context>(),
                             payloads, diags);
  if (!parsed) {
    report->Fail("text", diags, "printed text doesn't parse");
    return;
  }
  const std::string again = PrintProgram(*parsed, options);
  if (again != text) {
    report->Fail("text", "printed again: " + FirstDifference(text, again));
  }
  if (WiringDigest(*parsed) != WiringDigest(program)) {
    report->Fail("text", "the parsed program has another digest");
  }
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Written, read back, written again: the same wiring, the same bytes.
void CheckRoundTrip(const Program& program, const std::string& step,
                    const std::string& folder, const Pt2WriteOptions& options,
                    StepReport* report) {
  Diagnostics diags;
  const std::string path = folder + "/once.pt2";
  const std::string path_again = folder + "/again.pt2";
  if (!WritePt2(program, path, options, diags)) {
    const bool is_refused =
        options.release != nullptr && !diags.all().empty() &&
        std::all_of(
            diags.all().begin(), diags.all().end(),
            [](const Diagnostic& d) { return d.rule == Rule::kFile11; });
    if (!is_refused) report->Fail(step, diags, "failed without an error");
    return;
  }
  const bool is_named = options.release == nullptr ||
                        options.release->layout != Pt2Layout::kPlainZip;
  auto read = Read(path, is_named ? program.name : "", diags);
  if (!read) {
    report->Fail(step, diags, "the written file can't be read");
    return;
  }
  if (!Verify(*read, VerifyOptions(), diags)) {
    report->Fail(step, diags, "the program read back is wrong");
  }
  if (WiringDigest(*read) != WiringDigest(program)) {
    report->Fail(step, "the program read back has another digest");
  }
  if (!WritePt2(*read, path_again, options, diags)) {
    report->Fail(step, diags, "the program read back can't be written");
  } else if (ReadFile(path) != ReadFile(path_again)) {
    report->Fail(step, "written again, the bytes differ");
  }
}

void CheckWrite(const Program& program, const std::string& folder,
                StepReport* report) {
  Pt2WriteOptions options;
  options.root = "program";
  CheckRoundTrip(program, "write", folder, options, report);
  for (const Pt2Release& release : AllPt2Releases()) {
    options.release = &release;
    CheckRoundTrip(program, "write for " + std::string(release.name), folder,
                   options, report);
  }
}

// One way to cut the program up.
struct CutChoice {
  std::string name;  // the step
  std::vector<std::string_view> backends;
  uint32_t num_colors = 0;  // 0: by what the backends take
  uint64_t seed = 0;
};

// By what backend cpu takes; by chance among what echo takes, thrice; by chance
// over both; and by chance, joined back without compiling.
std::vector<CutChoice> CutChoices() {
  return {{"cut cpu", {"cpu"}, 0, 0},          {"cut echo 1", {"echo"}, 2, 1},
          {"cut echo 2", {"echo"}, 3, 2},      {"cut echo 3", {"echo"}, 5, 3},
          {"cut both", {"cpu", "echo"}, 2, 4}, {"cut join", {}, 3, 5}};
}

class CutCheck {
 public:
  CutCheck(const CorpusProgram& entry, const Program& source,
           const Safetensors* recording, const std::string& folder,
           StepReport* report)
      : entry_(entry),
        source_(source),
        digest_(WiringDigest(source)),
        recording_(recording),
        path_(folder + "/cut.pt2"),
        report_(report) {}

  void Run(const CutChoice& choice) {
    ExportOptions options;
    for (const std::string_view name : choice.backends) {
      BackendRequest request;
      request.backend = FindBackend(name);
      if (request.backend == nullptr) {
        report_->Fail(choice.name, "no backend " + std::string(name));
        return;
      }
      options.backends.push_back(std::move(request));
    }
    options.num_random_colors = choice.num_colors;
    options.cut_seed = choice.seed;
    Diagnostics diags;
    Program program = source_.Clone();
    if (!ExportProgram(&program, options, diags)) {
      report_->Fail(choice.name, diags, "failed without an error");
      return;
    }
    if (choice.backends.empty()) {
      CheckSameText(choice, std::move(program));
    } else {
      CheckFile(choice, program);
    }
  }

 private:
  // Cut and joined without a backend, the program is what it was, names and
  // order of nodes included. Only that a node was once in a region is noted.
  void CheckSameText(const CutChoice& choice, Program program) {
    program.regions.clear();
    for (uint32_t n = 0; n < program.num_nodes(); ++n) {
      program.mutable_node(NodeId(n)).region = RegionId();
    }
    const std::string before = PrintProgram(source_, PrintOptions());
    const std::string after = PrintProgram(program, PrintOptions());
    if (before != after) {
      report_->Fail(choice.name, FirstDifference(before, after));
    }
  }

  // Through a file and back: the same wiring, the same results.
  void CheckFile(const CutChoice& choice, const Program& program) {
    Diagnostics diags;
    if (!WritePt2(program, path_, Pt2WriteOptions(), diags)) {
      report_->Fail(choice.name, diags, "can't be written");
      return;
    }
    auto read = Read(path_, program.name, diags);
    if (!read) {
      report_->Fail(choice.name, diags, "can't be read back");
      return;
    }
    if (WiringDigest(*read) != digest_) {
      report_->Fail(choice.name, "the wiring digest isn't the source's");
    }
    if (read->delegates.size() != program.delegates.size()) {
      report_->Fail(choice.name, "a delegate got lost in the file");
    }
    if (recording_ == nullptr) return;
    const ReplayResult result = Replay(
        std::make_shared<Program>(std::move(*read)), entry_, *recording_);
    if (!result.difference.empty()) {
      report_->Fail(choice.name, result.difference);
    }
  }

  const CorpusProgram& entry_;
  const Program& source_;
  const Digest digest_;
  const Safetensors* recording_;  // null: the program can't be executed
  const std::string path_;
  StepReport* report_;
};

// Whether the program can be executed, for the cuts.
bool CheckRun(const CorpusProgram& entry, const Program& program,
              const Safetensors& recording, StepReport* report) {
  const std::string unsupported = FindUnsupported(program);
  if (!unsupported.empty()) {
    report->Skip("run", unsupported);
    return false;
  }
  const ReplayResult result =
      Replay(std::make_shared<Program>(program.Clone()), entry, recording);
  if (result.is_unsupported) {
    report->Skip("run", result.difference);
  } else if (!entry.known_failure.empty() && result.difference.empty()) {
    report->Fail("run", "gives what was recorded, though PyTorch doesn't: " +
                            entry.known_failure);
  } else if (!entry.known_failure.empty()) {
    report->Skip("run", "PyTorch doesn't give what was recorded either: " +
                            entry.known_failure);
  } else if (entry.is_hazard && !result.difference.empty()) {
    report->Skip("run", "PyTorch saved the file wrongly: " + result.difference);
  } else if (!result.difference.empty()) {
    report->Fail("run", result.difference);
  }
  return result.difference.empty();
}

}  // namespace

CheckResult CheckProgram(const CorpusProgram& entry) {
  StepReport report(entry.name);
  const ScratchFolder scratch;
  if (scratch.path().empty()) {
    report.Fail("process", "no temporary folder");
    return std::move(report).Finish();
  }
  Diagnostics diags;
  auto program = Read(entry.path, entry.method, diags);
  if (!program) {
    report.Fail("read", diags, "failed without an error");
    return std::move(report).Finish();
  }
  CheckVerify(*program, &report);
  CheckText(*program, &report);
  CheckWrite(*program, scratch.path(), &report);

  auto recording = OpenSafetensors(entry.io_path, diags);
  if (!recording) {
    report.Fail("run", diags, "no recording");
    return std::move(report).Finish();
  }
  const bool can_run = CheckRun(entry, *program, *recording, &report);
  CutCheck cut(entry, *program, can_run ? &*recording : nullptr, scratch.path(),
               &report);
  for (const CutChoice& choice : CutChoices()) cut.Run(choice);
  return std::move(report).Finish();
}

}  // namespace tenon::conformance
