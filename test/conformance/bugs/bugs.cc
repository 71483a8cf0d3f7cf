#include "conformance/bugs/bugs.h"

#include <simdjson.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/digest.h"
#include "backends/backend.h"
#include "conformance/bugs/facts.h"
#include "conformance/bugs/passes.h"
#include "conformance/pt2/replay.h"
#include "conformance/pt2/step_report.h"
#include "export/export.h"
#include "export/join_program.h"
#include "formats/pt2/pt2.h"
#include "link/compose.h"
#include "verify/verify.h"

namespace tenon::conformance {
namespace {

using Json = simdjson::dom::element;

struct Case {
  CorpusProgram entry;
  std::string json;  // the whole record
  std::filesystem::path folder;
};

class BugCheck {
 public:
  explicit BugCheck(const Case& c) : case_(c), report_(c.entry.name) {}

  CheckResult Run() {
    if (parser_.parse(case_.json).get(record_)) {
      report_.Fail("read", "the record isn't JSON");
      return std::move(report_).Finish();
    }
    std::string_view check;
    if (record_["check"].get(check)) check = "";
    if (!record_["expect"].get(expect_)) has_expect_ = true;
    if (check == "reject") {
      Reject();
      return std::move(report_).Finish();
    }
    Diagnostics diags;
    auto tensors = OpenSafetensors(case_.entry.io_path, diags);
    if (!tensors) {
      report_.Fail("read", diags, "the tensors can't be read");
      return std::move(report_).Finish();
    }
    tensors_ = &*tensors;
    if (check == "join") {
      JoinParts();
    } else {
      Whole();
    }
    return std::move(report_).Finish();
  }

 private:
  bool Flag(std::string_view name) const {
    bool flag = false;
    return has_expect_ && !expect_[name].get(flag) && flag;
  }

  Expected<Program> Read(const std::string& path,
                         std::shared_ptr<Context> context,
                         Diagnostics& diags) const {
    Pt2ReadOptions options;
    options.check_crc = true;
    auto program = ReadPt2(path, std::move(context), options, diags);
    if (program && !Verify(*program, VerifyOptions(), diags)) return Failure{};
    return program;
  }

  void Reject() {
    Diagnostics diags;
    bool may_accept = false;
    if (record_["accept_ok"].get(may_accept)) may_accept = false;
    const auto program =
        Read(case_.entry.path, std::make_shared<Context>(), diags);
    std::string_view broken;
    if (record_["broken"].get(broken)) broken = "";
    if (program && !may_accept) {
      report_.Fail("read", "accepted, expected: " + std::string(broken));
    } else if (!program && diags.num_errors() == 0) {
      report_.Fail("read", "refused without a message");
    }
  }

  void CheckRun(const std::string& step, const Program& program) {
    const ReplayResult result =
        Replay(std::make_shared<const Program>(program.Clone()), case_.entry,
               *tensors_);
    if (result.difference.empty()) return;
    // A program that can't be executed at all, where that is what is due.
    if (result.is_unsupported && !case_.entry.runs.empty() &&
        !case_.entry.runs[0].error.empty()) {
      return;
    }
    report_.Fail(step, result.difference);
  }

  void CheckExpected(const std::string& step, const Program& program,
                     const std::string& path) {
    if (!has_expect_) return;
    const std::string why = CheckFacts(expect_, program, path);
    if (!why.empty()) report_.Fail(step, why);
  }

  void Whole() {
    Diagnostics diags;
    const auto program =
        Read(case_.entry.path, std::make_shared<Context>(), diags);
    if (!program) {
      report_.Fail("read", diags, "failed without an error");
      return;
    }
    CheckExpected("facts", *program, case_.entry.path);
    CheckRun("run", *program);
    CheckWritten(*program, "write");
    if (has_expect_) {
      CheckPasses(*program, case_.entry, *tensors_, expect_, &report_);
    }
    CheckRegions(*program);
    CheckCuts(*program);
  }

  void CheckWritten(const Program& program, const std::string& step) {
    const ScratchFolder folder;
    const std::string path = folder.path() + "/written.pt2";
    Diagnostics diags;
    if (!WriteProved(program, path, Pt2WriteOptions(), diags)) {
      report_.Fail(step, diags, "failed without an error");
      return;
    }
    const auto back = Read(path, std::make_shared<Context>(), diags);
    if (!back) {
      report_.Fail(step, diags, "can't be read back");
      return;
    }
    CheckExpected(step + " facts", *back, path);
    CheckRun(step + " run", *back);
  }

  // Nodes by the names in the file.
  bool FindRegions(const Program& program,
                   std::vector<std::vector<NodeId>>* out) {
    simdjson::dom::array regions;
    if (record_["partition"].get(regions)) return true;
    std::map<std::string, NodeId, std::less<>> by_name;
    for (const NodeId n : program.nodes(Program::kRoot)) {
      const Node& node = program.node(n);
      const StringId name =
          node.results.count > 0 && !program.view(node.name).size()
              ? program.value(node.results[0]).name
              : node.name;
      by_name.emplace(program.view(name), n);
    }
    for (const auto region : regions) {
      simdjson::dom::array names;
      if (region.get(names)) return false;
      out->emplace_back();
      for (const auto item : names) {
        std::string_view name;
        if (item.get(name)) return false;
        const auto at = by_name.find(name);
        if (at == by_name.end()) {
          report_.Fail("regions", "no node '" + std::string(name) + "'");
          return true;
        }
        out->back().push_back(at->second);
      }
    }
    return true;
  }

  void CheckRegions(const Program& program) {
    std::vector<std::vector<NodeId>> regions;
    if (!FindRegions(program, &regions)) {
      report_.Fail("regions", "the record's partition");
      return;
    }
    if (regions.empty()) return;
    for (const char* name : {"echo", "cpu"}) {
      ExportOptions options = Over(name);
      options.fixed_regions = regions;
      const std::string step = "regions " + std::string(name);
      CheckCut(program, options, step);
      CheckRepeats(program, options, step);
    }
  }

  // The cuts that the case itself asks for.
  void CheckCuts(const Program& program) {
    if (!has_expect_) return;
    simdjson::dom::array names;
    if (!expect_["supported_ops"].get(names)) {
      ExportOptions options = Over("echo");
      options.backends[0].allow = Texts(names, "");
      CheckCut(program, options, "supported operators");
    }
    if (!expect_["unsupported"].get(names)) {
      ExportOptions options = Over("echo");
      options.backends[0].deny = Texts(names, "%");
      CheckCut(program, options, "unsupported nodes");
    }
    uint64_t every = 0;
    if (!expect_["cut_every"].get(every) && every > 0) {
      ExportOptions options = Over("echo");
      uint64_t i = 0;
      for (const NodeId n : program.nodes(Program::kRoot)) {
        if (program.node(n).kind == NodeKind::kOutput) break;
        if (i++ % every == 0) options.fixed_regions.emplace_back();
        options.fixed_regions.back().push_back(n);
      }
      CheckCut(program, options, "cut every");
    }
  }

  static ExportOptions Over(const char* backend) {
    ExportOptions options;
    options.backends.emplace_back().backend = FindBackend(backend);
    return options;
  }

  static std::vector<std::string> Texts(simdjson::dom::array items,
                                        const std::string& prefix) {
    std::vector<std::string> out;
    for (const auto item : items) {
      std::string_view text;
      if (!item.get(text)) out.push_back(prefix + std::string(text));
    }
    return out;
  }

  void CheckCut(const Program& program, const ExportOptions& options,
                const std::string& step) {
    Program cut = program.Clone();
    Diagnostics diags;
    if (!ExportProgram(&cut, options, diags)) {
      CheckRefusal(step, diags);
      return;
    }
    if (!options.fixed_regions.empty() && Flag("hint_is_illegal")) {
      report_.Fail(step, "regions that can't be were accepted");
      return;
    }
    CheckRun(step + " run", cut);
    if (WiringDigest(cut) != WiringDigest(program)) {
      report_.Fail(step, "another wiring digest");
    }
    CheckRegionInputs(step, cut);
  }

  // The same bytes each time.
  void CheckRepeats(const Program& program, const ExportOptions& options,
                    const std::string& step) {
    uint64_t count = 0;
    if (!has_expect_ || expect_["deterministic_runs"].get(count)) return;
    std::string first;
    for (uint64_t i = 0; i < count; ++i) {
      const ScratchFolder folder;
      const std::string path = folder.path() + "/written.pt2";
      Program cut = program.Clone();
      Diagnostics diags;
      if (!ExportProgram(&cut, options, diags) ||
          !WriteProved(cut, path, Pt2WriteOptions(), diags)) {
        report_.Fail(step + " repeated", diags, "failed without an error");
        return;
      }
      std::ifstream file(path, std::ios::binary);
      const std::string bytes(std::istreambuf_iterator<char>(file), {});
      if (i == 0) first = bytes;
      if (bytes != first || bytes.empty()) {
        report_.Fail(step + " repeated",
                     "other bytes in repetition " + std::to_string(i));
        return;
      }
    }
  }

  void CheckRefusal(const std::string& step, const Diagnostics& diags) {
    const auto has = [&](Rule rule) {
      return std::any_of(diags.all().begin(), diags.all().end(),
                         [&](const Diagnostic& d) { return d.rule == rule; });
    };
    const bool is_cycle = has(Rule::kP1), is_not_taken = has(Rule::kP3);
    const bool may_refuse =
        Flag("hint_is_illegal") || Flag("hint_may_need_splitting");
    // A backend may not know an operator; the hint isn't the program's fault.
    if ((may_refuse && is_cycle) || is_not_taken) return;
    report_.Fail(step, diags, "failed without an error");
  }

  // The order in which a region's inputs are passed: that of the program.
  void CheckRegionInputs(const std::string& step, const Program& cut) {
    simdjson::dom::array regions;
    if (!has_expect_ || expect_["region_inputs"].get(regions)) return;
    size_t i = 0;
    for (const NodeId n : cut.nodes(Program::kRoot)) {
      if (cut.node(n).kind != NodeKind::kDelegateCall) continue;
      std::string got;
      cut.ForEachOperand(n, [&](ValueId v) {
        got += (got.empty() ? "" : ",") +
               ("\"" + std::string(cut.view(cut.value(v).name)) + "\"");
      });
      auto want = regions.at(i++);
      if (want.error() || simdjson::minify(want.value()) != "[" + got + "]") {
        report_.Fail(step, "region " + std::to_string(i - 1) + " gets " + got);
      }
    }
  }

  // --- several files as one ---

  static bool ReadWire(Json json, CompositionPlan::Wire* out) {
    std::string_view kind;
    int64_t first = 0, second = 0;
    if (json.at(0).get(kind) || json.at(1).get(first)) return false;
    if (kind == "in") {
      *out = {-1, static_cast<uint32_t>(first)};
      return true;
    }
    if (json.at(2).get(second)) return false;
    *out = {first, static_cast<uint32_t>(second)};
    return true;
  }

  bool ReadPlan(std::vector<Program>* parts, CompositionPlan* plan,
                Diagnostics& diags) {
    simdjson::dom::object files;
    simdjson::dom::array calls, outputs, names;
    if (record_["parts"].get(files) || record_["plan"]["calls"].get(calls) ||
        record_["plan"]["outputs"].get(outputs)) {
      return false;
    }
    const auto context = std::make_shared<Context>();
    for (const auto field : files) {
      std::string_view file;
      if (field.value.get(file)) return false;
      auto part = Read(case_.folder / file, context, diags);
      if (!part) return false;
      plan->part_names.emplace_back(field.key);
      parts->push_back(std::move(*part));
    }
    for (const Program& part : *parts) plan->parts.push_back(&part);
    for (const auto call : calls) {
      std::string_view part;
      simdjson::dom::array args;
      if (call["part"].get(part) || call["args"].get(args)) return false;
      auto& out = plan->calls.emplace_back();
      while (out.part < plan->part_names.size() &&
             plan->part_names[out.part] != part) {
        ++out.part;
      }
      for (const auto wire : args) {
        if (!ReadWire(wire, &out.args.emplace_back())) return false;
      }
    }
    for (const auto wire : outputs) {
      if (!ReadWire(wire, &plan->outputs.emplace_back())) return false;
    }
    if (!record_["plan"]["input_names"].get(names)) {
      for (const auto name : names) {
        std::string_view text;
        if (!name.get(text)) plan->input_names.emplace_back(text);
      }
    }
    return true;
  }

  void JoinParts() {
    std::vector<Program> parts;
    CompositionPlan plan;
    Diagnostics diags;
    if (!ReadPlan(&parts, &plan, diags)) {
      report_.Fail("read", diags, "the record's plan");
      return;
    }
    auto program = Compose(plan, diags);
    if (!program || !JoinProgram(&*program, JoinProgramOptions(), diags)) {
      report_.Fail("join", diags, "failed without an error");
      return;
    }
    CheckRun("run", *program);
    CheckWritten(*program, "write");
  }

  const Case& case_;
  StepReport report_;
  simdjson::dom::parser parser_;
  Json record_;
  simdjson::dom::object expect_;
  bool has_expect_ = false;
  const Safetensors* tensors_ = nullptr;
};

bool ReadCase(Json record, const std::filesystem::path& folder, Case* out) {
  std::string_view text;
  out->json = simdjson::minify(record);
  out->folder = folder;
  if (record["name"].get(text)) return false;
  out->entry.name = std::string(text);
  if (!record["file"].get(text)) out->entry.path = folder / text;
  if (!record["io"].get(text)) out->entry.io_path = folder / text;
  if (record["rtol"].get(out->entry.tolerance.relative)) {
    out->entry.tolerance.relative = 0;
  }
  if (record["atol"].get(out->entry.tolerance.absolute)) {
    out->entry.tolerance.absolute = 0;
  }
  out->entry.carries_state = true;
  out->entry.is_sketchy = true;
  // What several files' states are called in the whole is free.
  std::string_view check;
  out->entry.checks_state = record["check"].get(check) || check != "join";
  simdjson::dom::array runs;
  if (record["runs"].get(runs)) return false;
  for (const auto run : runs) {
    if (!ReadRecordedRun(simdjson::minify(run),
                         &out->entry.runs.emplace_back())) {
      return false;
    }
  }
  return true;
}

}  // namespace

int RunBugs(const std::string& manifest, const RunOptions& options) {
  simdjson::dom::parser parser;
  simdjson::dom::array records;
  if (parser.load(manifest)["cases"].get(records)) {
    std::fprintf(stderr, "%s: not a manifest with 'cases'\n", manifest.c_str());
    return 2;
  }
  const auto folder = std::filesystem::path(manifest).parent_path();
  std::vector<Case> cases;
  for (const auto record : records) {
    if (!ReadCase(record, folder, &cases.emplace_back())) {
      std::fprintf(stderr, "%s: entry %zu lacks a name or its runs\n",
                   manifest.c_str(), cases.size() - 1);
      return 2;
    }
  }
  return RunEntries(
      cases.size(), [&](size_t i) { return cases[i].entry.name; },
      [&](size_t i) { return BugCheck(cases[i]).Run(); }, options);
}

}  // namespace tenon::conformance
