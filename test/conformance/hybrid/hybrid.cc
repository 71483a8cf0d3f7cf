#include "conformance/hybrid/hybrid.h"

#include <simdjson.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include "analysis/digest.h"
#include "backends/backend.h"
#include "conformance/pt2/replay.h"
#include "conformance/pt2/step_report.h"
#include "export/export.h"
#include "export/join_program.h"
#include "formats/hybrid/hybrid.h"
#include "formats/pt2/pt2.h"
#include "text/text.h"

namespace tenon::conformance {
namespace {

struct Case {
  CorpusProgram entry;  // path: the JSON, io_path: its tensors
  bool expects_error = false;
  std::string why;
};

std::string Text(const simdjson::dom::element& e) {
  return simdjson::to_string(e);
}

// The values of a run are those of the pt2 corpus.
bool ReadRun(const simdjson::dom::element& run, RecordedRun* out) {
  simdjson::dom::element args, kwargs, result, after;
  if (run["args"].get(args) || run["kwargs"].get(kwargs) ||
      run["result"].get(result)) {
    return false;
  }
  out->args = Text(args);
  out->kwargs = Text(kwargs);
  out->outputs = Text(result);
  const auto tensor = [](std::string_view key) {
    return "{\"t\": \"" + std::string(key) + "\"}";
  };
  if (!run["state_after"].get(after)) {
    simdjson::dom::object object;
    if (after.get(object)) return false;
    for (const auto field : object) {
      std::string_view key;
      if (field.value.get(key)) return false;
      out->state_after.emplace_back(field.key, tensor(key));
    }
  }
  if (!run["inputs_after"].get(after)) {
    simdjson::dom::array array;
    if (after.get(array)) return false;
    for (const auto pair : array) {
      uint64_t leaf = 0;
      std::string_view key;
      if (pair.at(0).get(leaf) || pair.at(1).get(key)) return false;
      out->leaves_after.emplace_back(leaf, tensor(key));
    }
  }
  return true;
}

bool ReadCase(const std::filesystem::path& path, Case* out) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.load(path.string()).get(root)) return false;
  out->entry.name = path.stem();
  out->entry.path = path;
  out->entry.carries_state = true;
  std::string_view text;
  if (!root["tensors"].get(text)) {
    out->entry.io_path = path.parent_path() / text;
  }
  if (root["expect"].get(text)) return false;
  out->expects_error = text == "error";
  if (!root["why"].get(text)) out->why = std::string(text);
  double tolerance = 0;
  if (!root["tol"].get(tolerance)) {
    out->entry.tolerance = {tolerance, tolerance};
  }
  simdjson::dom::array runs;
  if (out->expects_error || root["runs"].get(runs)) return out->expects_error;
  for (const auto run : runs) {
    out->entry.runs.emplace_back();
    if (!ReadRun(run, &out->entry.runs.back())) return false;
  }
  return true;
}

class HybridCheck {
 public:
  explicit HybridCheck(const Case& c) : case_(c), report_(c.entry.name) {}

  CheckResult Run() {
    Diagnostics diags;
    auto hybrid = ReadHybrid(case_.entry.path, std::make_shared<Context>(),
                             HybridReadOptions(), diags);
    if (case_.expects_error) {
      CheckError(hybrid, diags);
      return std::move(report_).Finish();
    }
    if (!hybrid) {
      report_.Fail("read", diags, "failed without an error");
      return std::move(report_).Finish();
    }
    auto tensors = OpenSafetensors(case_.entry.io_path, diags);
    if (!tensors) {
      report_.Fail("read", diags, "the tensors can't be read");
      return std::move(report_).Finish();
    }
    tensors_ = &*tensors;
    CheckText("text", *hybrid);
    CheckJoin(*hybrid, false);
    CheckJoin(*hybrid, true);
    return std::move(report_).Finish();
  }

 private:
  void CheckError(Expected<Program>& hybrid, Diagnostics& diags) {
    if (hybrid && JoinProgram(&*hybrid, JoinProgramOptions(), diags)) {
      report_.Fail("read", "accepted, expected: " + case_.why);
    } else if (diags.num_errors() == 0) {
      report_.Fail("read", "refused without a message");
    }
  }

  void CheckText(const char* step, const Program& program) {
    std::map<Digest, Bytes> side;
    PrintOptions options;
    options.side_file = [&](const Digest& digest, Bytes bytes) {
      side.emplace(digest, bytes);
    };
    const std::string text = PrintProgram(program, options);
    Diagnostics diags;
    const auto back = ParseProgram(
        text, "text", std::make_shared<Context>(),
        [&](const Digest& digest)
            -> std::pair<Bytes, std::shared_ptr<const void>> {
          const auto at = side.find(digest);
          if (at == side.end()) return {};
          return {at->second, nullptr};
        },
        diags);
    if (!back) {
      report_.Fail(step, diags, "failed without an error");
      return;
    }
    if (WiringDigest(*back) != WiringDigest(program)) {
      report_.Fail(step, "the parsed program has another wiring digest");
    }
    if (PrintProgram(*back, options) != text) {
      report_.Fail(step, "printed again, the text is another");
    }
  }

  void CheckRun(const std::string& step, const Program& program) {
    const ReplayResult result =
        Replay(std::make_shared<const Program>(program.Clone()), case_.entry,
               *tensors_);
    if (!result.difference.empty()) report_.Fail(step, result.difference);
  }

  void CheckJoin(const Program& hybrid, bool is_inline) {
    const std::string variant = is_inline ? " inline" : "";
    Program program = hybrid.Clone();
    Diagnostics diags;
    JoinProgramOptions options;
    options.inline_delegates = is_inline;
    options.verify_each_phase = true;
    if (!JoinProgram(&program, options, diags)) {
      report_.Fail("join" + variant, diags, "failed without an error");
      return;
    }
    CheckText("text joined", program);
    CheckRun("run" + variant, program);
    CheckWritten(program, variant);
    if (is_inline) CheckCut(program);
  }

  void CheckWritten(const Program& program, const std::string& variant) {
    const ScratchFolder folder;
    const std::string path = folder.path() + "/joined.pt2";
    Diagnostics diags;
    if (!WriteProved(program, path, Pt2WriteOptions(), diags)) {
      report_.Fail("write" + variant, diags, "failed without an error");
      return;
    }
    const auto back =
        ReadPt2(path, std::make_shared<Context>(), Pt2ReadOptions(), diags);
    if (!back) {
      report_.Fail("write" + variant, diags, "can't be read back");
      return;
    }
    CheckRun("run written" + variant, *back);
  }

  void CheckCut(const Program& joined) {
    for (const char* name : {"echo", "cpu"}) {
      Program program = joined.Clone();
      ExportOptions options;
      options.backends.push_back({});
      options.backends.back().backend = FindBackend(name);
      options.num_random_colors = 3;
      Diagnostics diags;
      if (!ExportProgram(&program, options, diags)) {
        report_.Fail("cut " + std::string(name), diags,
                     "failed without an error");
        continue;
      }
      CheckRun("run cut " + std::string(name), program);
    }
  }

  const Case& case_;
  StepReport report_;
  const Safetensors* tensors_ = nullptr;
};

}  // namespace

int RunHybrid(const std::string& folder, const RunOptions& options) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
    if (file.path().extension() == ".json") paths.push_back(file.path());
  }
  if (paths.empty()) {
    std::fprintf(stderr, "%s: no hybrid graphs there\n", folder.c_str());
    return 2;
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Case> cases(paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    if (!ReadCase(paths[i], &cases[i])) {
      std::fprintf(stderr, "%s: no record of a hybrid graph\n",
                   paths[i].c_str());
      return 2;
    }
  }
  return RunEntries(
      cases.size(), [&](size_t i) { return cases[i].entry.name; },
      [&](size_t i) { return HybridCheck(cases[i]).Run(); }, options);
}

}  // namespace tenon::conformance
