#include "conformance/pte/export.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "conformance/pt2/corpus_value.h"
#include "conformance/pt2/flat_call.h"
#include "conformance/pt2/manifest.h"
#include "conformance/pt2/replay.h"
#include "conformance/pt2/step_report.h"
#include "executorch/export_pte.h"
#include "formats/pt2/pt2.h"
#include "formats/tensor/safetensors.h"
#include "runtime/draw_inputs.h"
#include "runtime/session.h"
#include "testing/generator.h"

namespace tenon::conformance {
namespace {

namespace fs = std::filesystem;

bool KeepsState(const Program& program) {
  for (const OutputSpec& o : program.signature.outputs) {
    if (o.kind == OutputKind::kBufferMutation ||
        o.kind == OutputKind::kParameterMutation) {
      return true;
    }
  }
  return false;
}

using Delegates = std::vector<const Backend*>;

class ExportCheck {
 public:
  ExportCheck(const CorpusProgram& entry, fs::path keep,
              const Delegates& delegates)
      : entry_(entry),
        keep_(std::move(keep)),
        delegates_(delegates),
        report_(entry.name) {}

  CheckResult Check() {
    Diagnostics diags;
    Pt2ReadOptions options;
    options.method = entry_.method;
    auto read =
        ReadPt2(entry_.path, std::make_shared<Context>(), options, diags);
    auto recording = OpenSafetensors(entry_.io_path, diags);
    if (!read || !recording) {
      report_.Fail("read", diags, "failed without an error");
      return std::move(report_).Finish();
    }
    program_ = std::make_shared<const Program>(std::move(*read));
    recording_ = std::move(*recording);
    if (Export()) {
      CheckLowered();
      WriteRuns();
    }
    return std::move(report_).Finish();
  }

 private:
  fs::path File(const std::string& suffix) const {
    return keep_ / (entry_.name + suffix);
  }

  // Sizes that the program leaves open get one that its recorded calls fit.
  PteExportOptions Bounds() const {
    constexpr int64_t kMax = 128;
    PteExportOptions options;
    options.backends = delegates_;
    for (const SymbolRange& range : program_->ranges) {
      const Expr& e = program_->context().exprs.get(range.expr);
      const bool is_open = !range.max || *range.max > (int64_t{1} << 40);
      if (e.kind != ExprKind::kSymbol || !is_open) continue;
      const std::string name(program_->view(e.text));
      if (name.starts_with('s')) options.bounds[name] = kMax;
    }
    return options;
  }

  bool Export() {
    Diagnostics diags;
    if (const auto report =
            ExportPte(*program_, File(".pte"), Bounds(), diags)) {
      // M-3: the plan is as small as any could be, all but a hundredth.
      const auto arena = static_cast<double>(report->methods[0].arena_bytes);
      const auto peak = static_cast<double>(report->methods[0].peak_live_bytes);
      const double limit = delegates_.empty() ? 1.01 : 1.05;
      if (arena > limit * peak + 64) {
        report_.Fail("memory",
                     std::to_string(report->methods[0].arena_bytes) +
                         " bytes are planned, but only " +
                         std::to_string(report->methods[0].peak_live_bytes) +
                         " are alive at once");
      }
      return true;
    }
    if (diags.num_errors() == 0) {
      report_.Fail("export", "failed without an error");
      return false;
    }
    for (const Diagnostic& d : diags.all()) {
      if (d.severity != Severity::kError) continue;
      report_.Skip("export", std::string(RuleId(d.rule)) + ": " + d.message);
      break;
    }
    return false;
  }

  bool IsJudgedByTenon() const {
    return entry_.is_hazard || !entry_.known_failure.empty();
  }

  void CheckLowered() {
    Diagnostics diags;
    auto lowered = LowerForPte(*program_, diags);
    if (!lowered) {
      // Kernels alone needn't do for what delegates take.
      lowered_keeps_state_ = KeepsState(*program_);
      if (delegates_.empty()) report_.Fail("lower", diags, "failed");
      return;
    }
    lowered_keeps_state_ = KeepsState(*lowered);
    if (IsJudgedByTenon() || !FindUnsupported(*program_).empty()) return;
    const ReplayResult result =
        Replay(std::make_shared<const Program>(std::move(*lowered)), entry_,
               recording_);
    if (!result.difference.empty()) {
      report_.Fail("lowered", result.difference);
    }
  }

  std::optional<std::vector<RuntimeValue>> Inputs(const RecordedRun& run) {
    std::string error;
    auto inputs = FlatInputs(*program_, run, recording_, &error);
    if (!inputs) report_.Fail("record", error);
    return inputs;
  }

  void WriteRuns() {
    Diagnostics diags;
    auto session = Session::Load(program_, SessionOptions(), diags);
    if (!session) return report_.Fail("session", diags, "failed");
    std::string runs;
    std::vector<std::vector<RuntimeValue>> calls;
    for (size_t k = 0; k < entry_.runs.size(); ++k) {
      const RecordedRun& run = entry_.runs[k];
      if (!run.error.empty()) continue;
      const auto inputs = Inputs(run);
      if (!inputs) return;
      calls.push_back(*inputs);
      Safetensors in, want;
      AddArrays(*inputs, "in.", &in);
      if (IsJudgedByTenon()) {
        (*session)->ResetState();
        const auto got = (*session)->RunFlat(Copies(*inputs), diags);
        if (!got) return report_.Skip("session", diags.FirstError());
        AddArrays(*got, "out.", &want);
      } else {
        CorpusValue outputs;
        std::string error;
        if (!DecodeCorpusValue(run.outputs, recording_, &outputs, &error)) {
          return report_.Fail("record", error);
        }
        std::vector<RuntimeValue> leaves;
        CollectLeaves(outputs, &leaves);
        AddArrays(leaves, "out.", &want);
      }
      if (!AddRun(std::to_string(k), in, want, "PyTorch's record", &runs)) {
        return;
      }
    }
    if (lowered_keeps_state_ && !calls.empty()) {
      Safetensors in, want;
      (*session)->ResetState();
      for (size_t k = 0; k < 2 * calls.size(); ++k) {
        const std::string prefix = k == 0 ? "" : std::to_string(k) + "/";
        const auto& inputs = calls[k % calls.size()];
        AddArrays(inputs, prefix + "in.", &in);
        const auto got = (*session)->RunFlat(Copies(inputs), diags);
        // Without a kernel in the reference executor there is no judge.
        if (!got) break;
        AddArrays(*got, prefix + "out.", &want);
      }
      if (!diags.has_errors() &&
          !AddRun("row", in, want, "calls in a row", &runs)) {
        return;
      }
    }
    std::ofstream(File(".json")) << "{\"rtol\": " << entry_.tolerance.relative
                                 << ", \"atol\": " << entry_.tolerance.absolute
                                 << ", \"runs\": [" << runs << "]}\n";
  }

  bool AddRun(const std::string& label, const Safetensors& in,
              const Safetensors& want, const std::string& what,
              std::string* runs) {
    Diagnostics diags;
    const std::string in_name = entry_.name + "." + label + ".in";
    const std::string want_name = entry_.name + "." + label + ".want";
    for (const Safetensors* content : {&in, &want}) {
      for (const NamedTensor& t : content->tensors) {
        if (HasSafetensorsName(t.tensor.dtype())) continue;
        report_.Skip("record", "no array format for a dtype");
        return false;
      }
    }
    if (!WriteSafetensors(keep_ / in_name, in, diags) ||
        !WriteSafetensors(keep_ / want_name, want, diags)) {
      report_.Fail("record", diags, "can't be written");
      return false;
    }
    *runs += (runs->empty() ? "" : ", ") + ("{\"in\": \"" + in_name) +
             "\", \"want\": \"" + want_name + "\", \"what\": \"" + what + "\"}";
    return true;
  }

  const CorpusProgram& entry_;
  const fs::path keep_;
  const Delegates& delegates_;
  StepReport report_;
  std::shared_ptr<const Program> program_;
  Safetensors recording_;
  bool lowered_keeps_state_ = false;
};

}  // namespace

namespace {

// A generated program and what the reference executor makes of two calls.
CheckResult CheckRandom(uint64_t seed, const fs::path& keep,
                        const Delegates& delegates) {
  const std::string name = "random" + std::to_string(seed);
  StepReport report(name);
  testing::GeneratorOptions options;
  options.shape = testing::ProgramShape::kRandom;
  options.num_nodes = 10 + seed % 50;
  options.seed = seed;
  const auto program = std::make_shared<const Program>(
      testing::GenerateProgram(options, std::make_shared<Context>()));
  Diagnostics diags;
  PteExportOptions export_options;
  export_options.backends = delegates;
  if (!ExportPte(*program, keep / (name + ".pte"), export_options, diags)) {
    if (!diags.has_errors()) report.Fail("export", "says nothing");
    for (const Diagnostic& d : diags.all()) {
      if (d.severity != Severity::kError) continue;
      report.Skip("export", std::string(RuleId(d.rule)) + ": " + d.message);
      break;
    }
    return std::move(report).Finish();
  }
  auto session = Session::Load(program, SessionOptions(), diags);
  Safetensors in, want;
  for (uint64_t call = 0; session && call < 2; ++call) {
    DrawOptions draw;
    draw.seed = seed * 2 + call;
    const auto inputs = DrawInputs(*program, draw, diags);
    if (!inputs) break;
    const std::string prefix = call == 0 ? "" : std::to_string(call) + "/";
    AddArrays(*inputs, prefix + "in.", &in);
    const auto got = (*session)->RunFlat(Copies(*inputs), diags);
    if (!got) break;
    AddArrays(*got, prefix + "out.", &want);
  }
  if (diags.has_errors() ||
      !WriteSafetensors(keep / (name + ".in"), in, diags) ||
      !WriteSafetensors(keep / (name + ".want"), want, diags)) {
    report.Skip("run", diags.FirstError());
    return std::move(report).Finish();
  }
  std::ofstream(keep / (name + ".json"))
      << "{\"rtol\": 1e-3, \"atol\": 1e-4, \"runs\": [{\"in\": \"" << name
      << ".in\", \"want\": \"" << name
      << ".want\", \"what\": \"the reference executor\"}]}\n";
  return std::move(report).Finish();
}

}  // namespace

int RunExportRandom(uint64_t count, const std::string& keep,
                    const std::vector<const Backend*>& delegates,
                    const RunOptions& options) {
  std::error_code error;
  fs::create_directories(keep, error);
  return RunEntries(
      count, [](size_t i) { return "random" + std::to_string(i); },
      [&](size_t i) { return CheckRandom(i, keep, delegates); }, options);
}

int RunExportPte(const std::string& manifest, const std::string& keep,
                 const std::vector<const Backend*>& delegates,
                 const RunOptions& options) {
  Diagnostics diags;
  const auto programs = ReadManifest(manifest, diags);
  if (!programs) {
    std::fputs(diags.ToString().c_str(), stderr);
    return 2;
  }
  std::error_code error;
  fs::create_directories(keep, error);
  return RunEntries(
      programs->size(), [&](size_t i) { return (*programs)[i].name; },
      [&](size_t i) {
        return ExportCheck((*programs)[i], keep, delegates).Check();
      },
      options);
}

}  // namespace tenon::conformance
