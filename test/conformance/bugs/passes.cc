#include "conformance/bugs/passes.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/digest.h"
#include "conformance/bugs/facts.h"
#include "conformance/pt2/corpus_value.h"
#include "conformance/pt2/replay.h"
#include "export/export.h"
#include "formats/pt2/pt2.h"
#include "formats/tensor/weights_file.h"
#include "passes/rewrite.h"
#include "runtime/binding.h"
#include "runtime/session.h"
#include "text/text.h"
#include "verify/verify.h"
#include "weights/replace_weights.h"

namespace tenon::conformance {
namespace {

using Json = simdjson::dom::element;

std::string TextOf(const Program& program) {
  PrintOptions options;
  options.inline_limit_bytes = SIZE_MAX;
  return PrintProgram(program, options);
}

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Types of all values by label; labels that two values bear are left out.
std::map<std::string, std::string> TypesByLabel(const Program& program) {
  std::map<std::string, std::string> out;
  std::set<std::string> twice;
  const auto add = [&](ValueId v) {
    const std::string label(program.view(program.value(v).name));
    if (!out.emplace(label, PrintType(program, program.value(v).type)).second) {
      twice.insert(label);
    }
  };
  for (const ValueId v : program.root().inputs) add(v);
  for (const NodeId n : program.nodes(Program::kRoot)) {
    const ValueRange results = program.node(n).results;
    for (uint32_t i = 0; i < results.count; ++i) add(results[i]);
  }
  for (const std::string& label : twice) out.erase(label);
  return out;
}

uint64_t StateBytes(const Program& program) {
  uint64_t bytes = 0;
  for (const StorageRecord& s : program.state.storages) bytes += s.bytes.size();
  return bytes;
}

// FQNs, kinds, and which of them share a storage.
std::string StateDictText(const Program& program) {
  std::string out;
  std::map<uint32_t, std::string> first;
  for (const StateEntry& e : program.state.entries) {
    if (!e.in_state_dict()) continue;
    const std::string fqn(program.view(e.fqn));
    const auto [at, is_new] = first.emplace(e.storage.index, fqn);
    out += fqn + ": " + PrintType(program, e.type) + " in " + at->second + "\n";
  }
  return out;
}

std::vector<std::string> UserInputNames(const Program& program) {
  std::vector<std::string> out;
  for (const uint32_t i : UserInputPositions(program)) {
    out.emplace_back(
        program.view(program.value(program.root().inputs[i]).name));
  }
  return out;
}

class PassCheck {
 public:
  PassCheck(const Program& program, const CorpusProgram& entry,
            const Safetensors& tensors, const simdjson::dom::object& expect,
            StepReport* report)
      : program_(program),
        entry_(entry),
        tensors_(tensors),
        expect_(expect),
        report_(*report) {}

  void Run() {
    if (Flag("fold_constants")) {
      Fold("fold", /*weights=*/false);
      Fold("fold weights", /*weights=*/true);
    }
    if (Flag("run_cleanup_passes")) CleanUp();
    simdjson::dom::array list;
    if (!expect_["move_device"].get(list)) Move(Texts(list));
    if (!expect_["set_output_names"].get(list)) NameOutputs(Texts(list));
    simdjson::dom::element initial;
    if (!expect_["initial"].get(initial)) Update(initial);
    if (!expect_["last_run"].get(list)) RunSequence(list);
  }

 private:
  bool Flag(std::string_view name) const {
    bool flag = false;
    return !expect_[name].get(flag) && flag;
  }

  static std::vector<std::string> Texts(simdjson::dom::array items) {
    std::vector<std::string> out;
    for (const auto item : items) {
      std::string_view text;
      if (!item.get(text)) out.emplace_back(text);
    }
    return out;
  }

  std::optional<Program> Apply(const std::string& step, const Program& program,
                               const RewriteOptions& options) {
    Program changed = program.Clone();
    Diagnostics diags;
    if (Rewrite(&changed, options, diags)) return changed;
    report_.Fail(step, diags, "failed without an error");
    return std::nullopt;
  }

  void CheckRun(const std::string& step, const Program& program) {
    const ReplayResult result = Replay(
        std::make_shared<const Program>(program.Clone()), entry_, tensors_);
    if (!result.difference.empty()) {
      report_.Fail(step + " run", result.difference);
    }
  }

  // Written to `path` and read again.
  std::optional<Program> Write(const std::string& step, const Program& program,
                               const std::string& path) {
    Diagnostics diags;
    std::optional<Program> out;
    if (WriteProved(program, path, Pt2WriteOptions(), diags)) {
      auto back =
          ReadPt2(path, std::make_shared<Context>(), Pt2ReadOptions(), diags);
      if (back && Verify(*back, VerifyOptions(), diags)) out = std::move(*back);
    }
    if (!out) report_.Fail(step + " write", diags, "failed without an error");
    return out;
  }

  void Fold(const std::string& step, bool weights) {
    RewriteOptions options;
    options.fold_constants = true;
    options.fold.weights = weights;
    const auto folded = Apply(step, program_, options);
    if (!folded) return;
    CheckRun(step, *folded);
    const ScratchFolder folder;
    const std::string path = folder.path() + "/written.pt2";
    const auto back = Write(step, *folded, path);
    if (!back) return;
    CheckRun(step + " written", *back);
    const std::string why = CheckFacts(expect_, *back, path);
    if (!why.empty()) report_.Fail(step + " facts", why);
    CheckNewConstants(step, *back);
    if (StateDictText(*back) != StateDictText(program_)) {
      report_.Fail(step, "another state dict:\n" + StateDictText(*back));
    }
    if (StateBytes(*back) > StateBytes(program_)) {
      report_.Fail(step, std::to_string(StateBytes(*back)) +
                             " bytes of state instead of " +
                             std::to_string(StateBytes(program_)));
    }
    CheckNothingLeft(step, *back);
  }

  // Each stands under the label of the value that it was.
  void CheckNewConstants(const std::string& step, const Program& folded) {
    std::set<std::string> old;
    for (const StateEntry& e : program_.state.entries) {
      old.emplace(program_.view(e.fqn));
    }
    const auto types = TypesByLabel(program_);
    for (size_t i = 0; i < folded.root().inputs.size(); ++i) {
      const StateId state = folded.signature.inputs[i].state;
      if (!state.valid()) continue;
      const std::string fqn(folded.view(folded.state.get(state).fqn));
      if (old.count(fqn) > 0) continue;
      const Value& v = folded.value(folded.root().inputs[i]);
      const auto was = types.find(std::string(folded.view(v.name)));
      const std::string is = PrintType(folded, folded.state.get(state).type);
      if (was == types.end() || was->second != is) {
        report_.Fail(step, "the new constant " + fqn + " is " + is);
      }
    }
  }

  // No operator is left that computes with constants only and no view.
  void CheckNothingLeft(const std::string& step, const Program& folded) {
    std::set<ValueId> constants;
    for (size_t i = 0; i < folded.root().inputs.size(); ++i) {
      if (folded.signature.inputs[i].kind == InputKind::kConstantTensor) {
        constants.insert(folded.root().inputs[i]);
      }
    }
    for (const NodeId n : folded.nodes(Program::kRoot)) {
      const OpSchema* schema =
          folded.node(n).kind == NodeKind::kOp ? folded.schema(n) : nullptr;
      if (schema == nullptr || schema->is_view()) continue;
      size_t num_operands = 0, num_constants = 0;
      folded.ForEachOperand(n, [&](ValueId v) {
        ++num_operands;
        num_constants += constants.count(v);
      });
      if (num_operands > 0 && num_operands == num_constants) {
        report_.Fail(step, "left: " + folded.Describe(Program::kRoot, n));
      }
    }
  }

  void CleanUp() {
    RewriteOptions options;
    options.remove_dead_code = true;
    for (const bool folds : {false, true}) {
      options.fold_constants = options.fold.weights = folds;
      const std::string step = folds ? "fold and clean up" : "clean up";
      const auto clean = Apply(step, program_, options);
      if (!clean) continue;
      CheckRun(step, *clean);
      const ScratchFolder folder;
      const auto back = Write(step, *clean, folder.path() + "/written.pt2");
      if (back) CheckRun(step + " written", *back);
    }
  }

  // The first name is where the program is.
  void Move(const std::vector<std::string>& devices) {
    std::optional<Program> moved = program_.Clone();
    for (size_t i = 1; i < devices.size(); ++i) {
      const std::string step = "move to " + devices[i];
      RewriteOptions options;
      options.move.emplace();
      const auto device = ParseDevice(devices[i], &program_.context());
      if (!device) return report_.Fail(step, "no device's name");
      options.move->to = *device;
      moved = Apply(step, *moved, options);
      if (!moved) return;
      const ScratchFolder folder;
      const std::string path = folder.path() + "/written.pt2";
      if (!Write(step, *moved, path)) return;
      CheckNamesNo(step, path, devices[i - 1]);
    }
    if (devices.empty() || devices.back() != devices.front()) return;
    if (TextOf(*moved) != TextOf(program_) ||
        WiringDigest(*moved) != WiringDigest(program_)) {
      report_.Fail("move back", "another program");
    }
    CheckRun("move back", *moved);
  }

  // Members of a written file are stored as they are, so that JSON that names
  // a device can be found without reading it.
  void CheckNamesNo(const std::string& step, const std::string& path,
                    const std::string& device) {
    const std::string name = "\"" + device.substr(0, device.find(':')) + "\"";
    if (BytesOf(path).find(name) != std::string::npos) {
      report_.Fail(step, "the file still names " + name);
    }
  }

  void NameOutputs(const std::vector<std::string>& names) {
    const std::string step = "name outputs";
    RewriteOptions options;
    options.output_names = names;
    const auto named = Apply(step, program_, options);
    if (!named) return;
    CheckRun(step, *named);
    const ScratchFolder folder;
    const std::string path = folder.path() + "/written.pt2";
    const auto back = Write(step, *named, path);
    if (!back) return;
    CheckRun(step + " written", *back);
    const std::string why = CheckFacts(expect_, *back, path);
    if (!why.empty()) report_.Fail(step + " facts", why);
    std::vector<std::string> got;
    for (const Arg& output : back->outputs(Program::kRoot)) {
      got.emplace_back(output.is_value()
                           ? back->view(back->value(output.value()).name)
                           : "");
    }
    if (got != names) report_.Fail(step, "outputs are called otherwise");
    if (UserInputNames(*back) != UserInputNames(program_)) {
      report_.Fail(step, "inputs are called otherwise");
    }
  }

  // Inputs of a recorded call, flat.
  std::optional<std::vector<RuntimeValue>> InputsOf(size_t run) {
    if (run >= entry_.runs.size()) return std::nullopt;
    std::vector<RuntimeValue> out;
    for (const std::string* json :
         {&entry_.runs[run].args, &entry_.runs[run].kwargs}) {
      CorpusValue value;
      std::string error;
      if (!DecodeCorpusValue(*json, tensors_, &value, &error)) {
        return std::nullopt;
      }
      CollectLeaves(value, &out);
    }
    return out;
  }

  static std::unique_ptr<Session> Load(const Program& program,
                                       Diagnostics& diags) {
    auto session =
        Session::Load(std::make_shared<const Program>(program.Clone()),
                      SessionOptions(), diags);
    return session ? std::move(*session) : nullptr;
  }

  // Results as numbers: one list per output.
  std::optional<std::vector<std::vector<double>>> Call(const std::string& step,
                                                       Session* session,
                                                       size_t run) {
    Diagnostics diags;
    auto inputs = InputsOf(run);
    if (session == nullptr || !inputs) {
      report_.Fail(step, "the program or its recorded inputs can't be loaded");
      return std::nullopt;
    }
    const auto results = session->RunFlat(std::move(*inputs), diags);
    if (!results) {
      report_.Fail(step, diags, "failed without an error");
      return std::nullopt;
    }
    std::vector<std::vector<double>> out;
    for (const RuntimeValue& result : *results) {
      out.emplace_back();
      if (!result.is_tensor() || result.tensor().dtype() != DType::kFloat32) {
        report_.Fail(step, "a result that is no float32 tensor");
        return std::nullopt;
      }
      const Tensor tensor = result.tensor().Contiguous();
      for (int64_t i = 0; i < tensor.numel(); ++i) {
        out.back().push_back(tensor.data<float>()[i]);
      }
    }
    return out;
  }

  void CheckResult(const std::string& step, const Program& program,
                   double want) {
    Diagnostics diags;
    const auto session = Load(program, diags);
    const auto got = Call(step, session.get(), 0);
    if (!got) return;
    if (got->size() != 1 || got->front() != std::vector<double>{want}) {
      report_.Fail(step, "not " + std::to_string(want));
    }
  }

  void Update(Json initial) {
    double want = 0;
    if (initial.get(want)) return report_.Fail("initial", "no number");
    CheckResult("initial", program_, want);
    constexpr std::string_view kPrefix = "after_update_";
    for (const auto field : expect_) {
      if (!field.key.starts_with(kPrefix)) continue;
      const std::string text(field.key.substr(kPrefix.size()));
      const size_t equals = text.rfind('=');
      double result = 0;
      if (equals == std::string::npos || field.value.get(result)) {
        report_.Fail("update", "the fact's form");
        continue;
      }
      UpdateOne(text.substr(0, equals),
                std::strtof(text.c_str() + equals + 1, nullptr), result);
    }
  }

  void UpdateOne(const std::string& key, float value, double want) {
    const std::string step = "update " + key;
    Program updated = program_.Clone();
    Diagnostics diags;
    if (Replace({{key, value}}, &updated, diags)) {
      CheckResult(step, updated, want);
    } else {
      CheckNamed(step, diags);
    }
    // Two values for one tensor.
    std::vector<std::pair<std::string, float>> all;
    for (const StateEntry& e : program_.state.entries) {
      all.emplace_back(program_.view(e.fqn), value + float(all.size()));
    }
    Program other = program_.Clone();
    Diagnostics refusal;
    if (Replace(all, &other, refusal)) {
      report_.Fail(step, "tied weights of two values were accepted");
    } else {
      CheckNamed(step + " and others", refusal);
    }
  }

  // The message names all tied keys.
  void CheckNamed(const std::string& step, const Diagnostics& diags) {
    for (const StateEntry& e : program_.state.entries) {
      const std::string fqn(program_.view(e.fqn));
      if (diags.ToString().find(fqn) == std::string::npos) {
        report_.Fail(step, "refused without naming " + fqn);
      }
    }
  }

  static bool Replace(const std::vector<std::pair<std::string, float>>& values,
                      Program* program, Diagnostics& diags) {
    const ScratchFolder folder;
    const std::string path = folder.path() + "/new.safetensors";
    Safetensors content;
    for (const auto& [key, value] : values) {
      Tensor tensor = Tensor::Zeros(DType::kFloat32, {1});
      *tensor.mutable_data<float>() = value;
      content.tensors.push_back({key, std::move(tensor)});
    }
    if (!WriteSafetensors(path, content, diags)) return false;
    const auto file = WeightsFile::Open(path, diags);
    ReplaceWeightsOptions options;
    options.scratch_folder = folder.path();
    return file && ReplaceWeights(*file, options, program, diags);
  }

  // Calls go on with the recorded inputs; a reload begins with the first.
  void RunSequence(simdjson::dom::array want) {
    simdjson::dom::array steps;
    if (expect_["sequence"].get(steps)) {
      return report_.Fail("sequence", "there is none");
    }
    const ScratchFolder folder;
    const std::string path = folder.path() + "/saved.pt2";
    Diagnostics diags;
    std::unique_ptr<Session> session;
    std::optional<std::vector<std::vector<double>>> last;
    size_t next = 0;
    for (const std::string& step : Texts(steps)) {
      if (step == "load") {
        session = Load(program_, diags);
      } else if (step == "run") {
        last = Call("sequence", session.get(), next++);
      } else if (step == "save") {
        if (session == nullptr || !Write(step, session->program(), path)) {
          return report_.Fail("sequence", "can't be saved");
        }
      } else if (step == "reload") {
        const auto back =
            ReadPt2(path, std::make_shared<Context>(), Pt2ReadOptions(), diags);
        if (!back) return report_.Fail("sequence", diags, "can't be reloaded");
        session = Load(*back, diags);
        next = 0;
      } else {
        return report_.Fail("sequence", "the step '" + step + "' is unknown");
      }
    }
    std::vector<std::vector<double>> wanted;
    for (const auto output : want) {
      simdjson::dom::array numbers;
      wanted.emplace_back();
      if (output.get(numbers)) continue;
      for (const auto number : numbers) {
        double value = 0;
        if (!number.get(value)) wanted.back().push_back(value);
      }
    }
    if (!last || *last != wanted) {
      report_.Fail("sequence", "the last run gave something else");
    }
  }

  const Program& program_;
  const CorpusProgram& entry_;
  const Safetensors& tensors_;
  const simdjson::dom::object& expect_;
  StepReport& report_;
};

}  // namespace

void CheckPasses(const Program& program, const CorpusProgram& entry,
                 const Safetensors& tensors,
                 const simdjson::dom::object& expect, StepReport* report) {
  PassCheck(program, entry, tensors, expect, report).Run();
}

}  // namespace tenon::conformance
