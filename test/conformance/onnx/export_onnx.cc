#include "conformance/onnx/export_onnx.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "conformance/onnx/recording_backend.h"
#include "conformance/pt2/corpus_value.h"
#include "conformance/pt2/flat_call.h"
#include "conformance/pt2/manifest.h"
#include "conformance/pt2/step_report.h"
#include "export/export.h"
#include "formats/pt2/pt2.h"
#include "formats/tensor/safetensors.h"
#include "onnx/export_onnx.h"
#include "runtime/session.h"
#include "weights/state_tensor.h"

namespace tenon::conformance {
namespace {

namespace fs = std::filesystem;

class OnnxCheck {
 public:
  OnnxCheck(const CorpusProgram& entry, fs::path keep)
      : entry_(entry), keep_(std::move(keep)), report_(entry.name) {}

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
    if (ExportWhole()) AddWhole();
    AddRegions();
    std::ofstream(keep_ / (entry_.name + ".json"))
        << "{\"rtol\": " << entry_.tolerance.relative
        << ", \"atol\": " << entry_.tolerance.absolute << ", \"models\": ["
        << models_ << "]}\n";
    return std::move(report_).Finish();
  }

 private:
  bool ExportWhole() {
    Diagnostics diags;
    onnx::TranslateOptions options;
    options.widen_bfloat16 = true;
    auto report = ExportOnnx(*program_, {}, keep_ / (entry_.name + ".onnx"),
                             options, diags);
    if (report) {
      exported_ = std::move(*report);
      return true;
    }
    if (diags.num_errors() == 0) {
      report_.Fail("export", "failed without an error");
    }
    for (const Diagnostic& d : diags.all()) {
      if (d.severity != Severity::kError) continue;
      report_.Skip("export", std::string(RuleId(d.rule)) + ": " + d.message);
      break;
    }
    return false;
  }

  // What stands for an input that the caller doesn't pass: the state at first.
  Tensor InitialState(const std::string& fqn) const {
    for (const StateEntry& e : program_->state.entries) {
      if (program_->view(e.fqn) == fqn) return StateTensor(*program_, e);
    }
    return Tensor();
  }

  static void Add(const std::string& name, Tensor tensor, Safetensors* out) {
    if (tensor.defined()) out->tensors.push_back({name, tensor.Contiguous()});
  }

  void AddWhole() {
    std::string runs;
    for (size_t k = 0; k < entry_.runs.size(); ++k) {
      const RecordedRun& run = entry_.runs[k];
      if (!run.error.empty()) continue;
      std::string error;
      const auto inputs = FlatInputs(*program_, run, recording_, &error);
      CorpusValue outputs;
      if (!inputs ||
          !DecodeCorpusValue(run.outputs, recording_, &outputs, &error)) {
        return report_.Fail("record", error);
      }
      std::vector<RuntimeValue> leaves;
      CollectLeaves(outputs, &leaves);
      if (IsJudgedByTenon() && !RunReference(*inputs, &leaves)) return;
      Safetensors in, want;
      for (const onnx::Port& p : exported_.inputs) {
        Add(p.name, p.user ? AsArray((*inputs)[*p.user]) : InitialState(p.fqn),
            &in);
      }
      for (const onnx::Port& p : exported_.outputs) {
        if (p.user) {
          Add(p.name, AsArray(leaves[*p.user]), &want);
          continue;
        }
        for (const auto& [fqn, json] : run.state_after) {
          CorpusValue value;
          if (fqn != p.fqn ||
              !DecodeCorpusValue(json, recording_, &value, &error)) {
            continue;
          }
          Add(p.name, AsArray(value.leaf), &want);
        }
      }
      AddRun(entry_.name + "." + std::to_string(k), in, want, &runs);
    }
    AddModel(entry_.name + ".onnx", "whole", runs);
  }

  // PyTorch's record isn't what the file says.
  bool IsJudgedByTenon() const {
    return entry_.is_hazard || !entry_.known_failure.empty();
  }

  bool RunReference(const std::vector<RuntimeValue>& inputs,
                    std::vector<RuntimeValue>* outputs) {
    Diagnostics diags;
    auto session = Session::Load(program_, SessionOptions(), diags);
    if (session) {
      auto got = (*session)->RunFlat(Copies(inputs), diags);
      if (got) *outputs = std::move(*got);
    }
    if (diags.has_errors()) report_.Skip("session", diags.FirstError());
    return !diags.has_errors();
  }

  void AddRun(const std::string& name, const Safetensors& in,
              const Safetensors& want, std::string* runs) {
    Diagnostics diags;
    for (const Safetensors* content : {&in, &want}) {
      for (const NamedTensor& t : content->tensors) {
        if (HasSafetensorsName(t.tensor.dtype())) continue;
        return report_.Skip("record", "no array format for a dtype");
      }
    }
    if (!WriteSafetensors(keep_ / (name + ".in"), in, diags) ||
        !WriteSafetensors(keep_ / (name + ".want"), want, diags)) {
      return report_.Fail("record", diags, "can't be written");
    }
    *runs += (runs->empty() ? "" : ", ") + ("{\"in\": \"" + name) +
             ".in\", \"want\": \"" + name + ".want\"}";
  }

  void AddModel(const std::string& file, const std::string& what,
                const std::string& runs) {
    models_ += (models_.empty() ? "" : ", ") + ("{\"onnx\": \"" + file) +
               "\", \"what\": \"" + what + "\", \"runs\": [" + runs + "]}";
  }

  // The program with every region that TensorRT takes as a delegate that runs
  // by the reference kernels and keeps what it is given and gives.
  void AddRegions() {
    Diagnostics diags;
    const RecordingBackend backend(keep_ / (entry_.name + ".region"));
    Program hybrid = program_->Clone();
    ExportOptions options;
    options.backends.emplace_back().backend = &backend;
    if (!ExportProgram(&hybrid, options, diags)) {
      return report_.Fail("cut", diags, "failed");
    }
    for (const std::string& f : backend.failures()) report_.Fail("region", f);
    SessionOptions session_options;
    session_options.find_backend = [&](std::string_view) { return &backend; };
    auto session =
        Session::Load(std::make_shared<const Program>(std::move(hybrid)),
                      session_options, diags);
    if (!session) {
      // Other nodes have no kernel.
      return report_.Skip("regions", diags.FirstError());
    }
    for (const RecordedRun& run : entry_.runs) {
      std::string error;
      const auto inputs = FlatInputs(*program_, run, recording_, &error);
      if (!run.error.empty() || !inputs) continue;
      if (!(*session)->RunFlat(Copies(*inputs), diags)) {
        return report_.Skip("regions", diags.FirstError());
      }
      break;
    }
    for (const RecordedRegion& region : backend.regions()) {
      std::string runs;
      for (size_t k = 0; k < region.calls.size(); ++k) {
        AddRun(region.name + "." + std::to_string(k), region.calls[k].in,
               region.calls[k].want, &runs);
      }
      AddModel(region.name + ".onnx", "region", runs);
    }
  }

  const CorpusProgram& entry_;
  const fs::path keep_;
  StepReport report_;
  std::shared_ptr<const Program> program_;
  Safetensors recording_;
  OnnxExportReport exported_;
  std::string models_;  // JSON
};

}  // namespace

int RunExportOnnx(const std::string& manifest, const std::string& keep,
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
      [&](size_t i) { return OnnxCheck((*programs)[i], keep).Check(); },
      options);
}

}  // namespace tenon::conformance
