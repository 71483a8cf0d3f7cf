// tenon run: calls a program.
#include <array>
#include <chrono>

#include "backend_options.h"
#include "call_options.h"
#include "check_backends.h"
#include "comparison.h"
#include "console.h"
#include "export/call_text.h"
#include "formats/tensor/safetensors.h"
#include "runtime/session.h"
#include "tensor_elements.h"
#include "verbs.h"
#include "verdict.h"

namespace tenon::tools {
namespace {

constexpr std::array kOwnOptions = {
    Option{"--outputs", 'o', "FILE",
           "Writes the results to a safetensors file, named by output path "
           "('out' for a single one). Default: shows them."},
    Option{"--state", 0, "FILE",
           "Writes all state as it is after the call to a safetensors file."},
    Option{"--against", 0, "FILE",
           "Runs a second program on the same inputs and compares the results; "
           "ends with 1 when they are further apart than their dtype "
           "tolerates."},
    Option{"--backend", 'b', "NAME",
           "Exports the program to this backend first, or to several with "
           "commas between. Default: the delegates in the file.",
           true},
    Option{"--check", 0, "",
           "Runs every region beside the reference executor on the same "
           "inputs. Where they are too far apart, finds the first node that "
           "the backend gets wrong, and ends with 1."},
    Option{"--tolerance", 0, "X",
           "For --check: X times what a dtype tolerates is fine. Default: 1."},
    Option{"--repeat", 0, "N", "Calls N times; state goes on. Default: 1."},
    Option{"--time", 0, "", "Shows what each call took."},
};
constexpr auto kOptions = JoinOptions(kCallOptions, kOwnOptions);

constexpr int64_t kShownElements = 6;

std::string ScalarText(const RuntimeValue& v) {
  if (v.is_none()) return "None";
  if (v.is_bool()) return v.bool_value() ? "True" : "False";
  if (v.is_int()) return std::to_string(v.int_value());
  if (v.is_float()) return NumberText(v.float_value());
  if (v.is_string()) return v.string();
  if (v.is_complex()) {
    return NumberText(v.complex_value().real()) + "+" +
           NumberText(v.complex_value().imag()) + "j";
  }
  return "a value of another kind";
}

std::string ValueText(const RuntimeValue& v) {
  if (!v.is_tensor()) return ScalarText(v);
  return v.tensor().ToString() + " " + ElementsText(v.tensor(), kShownElements);
}

std::string PathOf(const std::vector<std::string>& paths, size_t i) {
  if (i >= paths.size()) return std::to_string(i);
  return paths[i].empty() ? "out" : paths[i];
}

class Runner {
 public:
  Runner(const CommandLine& line, Console& console)
      : line_(line), console_(console) {}

  ExitCode Run() {
    if (!ReadOptions()) return FailUsage(error_, console_);
    if (!RunAll()) return Finish(diags_, console_);
    const ExitCode code = Finish(diags_, console_);
    return code == ExitCode::kFine && differs_ ? ExitCode::kFinding : code;
  }

 private:
  bool ReadOptions() {
    const auto settings = ReadCallSettings(line_, &error_);
    const auto repeat = line_.GetCount("--repeat", 1, 1'000'000, &error_);
    if (!settings || !repeat) return false;
    settings_ = *settings;
    repeat_ = *repeat;
    session_options_.backend.num_threads = settings_.num_threads;
    if (line_.Has("--tolerance")) {
      const auto tolerance = ParseFloat(line_.Get("--tolerance"));
      if (!tolerance || !(*tolerance > 0)) {
        error_ = "option --tolerance is a number above 0";
        return false;
      }
      tolerance_ = *tolerance;
    }
    return true;
  }

  Status RunAll() {
    if (line_.Has("--check")) return Check();
    TENON_ASSIGN(Program program, Read(line_.arguments()[0]));
    TENON_TRY(ExportToBackends(line_, &program, diags_));
    TENON_ASSIGN(std::unique_ptr<Session> session, Load(std::move(program)));
    TENON_ASSIGN(const std::vector<RuntimeValue> values,
                 GatherInputs(line_, settings_, session->program(), diags_));
    TENON_ASSIGN(const std::vector<RuntimeValue> outputs,
                 Call(session.get(), values));
    const std::vector<std::string> paths = UserOutputPaths(session->program());
    if (line_.Has("--against")) TENON_TRY(CompareWith(values, outputs, paths));
    if (line_.Has("--outputs")) {
      TENON_TRY(WriteOutputs(outputs, paths));
    } else if (!line_.Has("--against")) {
      Show(outputs, paths);
    }
    if (line_.Has("--state")) TENON_TRY(WriteState(*session));
    return {};
  }

  Status Check() {
    TENON_ASSIGN(Program program, Read(line_.arguments()[0]));
    TENON_TRY(ExportToBackends(line_, &program, diags_));
    if (program.delegates.empty()) {
      return diags_.Error(Rule::kUsage)
             << (line_.Has("--backend")
                     ? "the backend takes no node: there is nothing to check"
                     : "no backend runs a part of this program: --backend says "
                       "which to check");
    }
    TENON_ASSIGN(const std::vector<RuntimeValue> inputs,
                 GatherInputs(line_, settings_, program, diags_));
    CheckOptions options;
    options.backend = session_options_.backend;
    options.tolerance = tolerance_;
    TENON_ASSIGN(
        const CheckReport report,
        CheckBackends(std::make_shared<const Program>(std::move(program)),
                      inputs, options, diags_));
    console_.Out(CheckAsText(report));
    differs_ = !report.is_close();
    return {};
  }

  Expected<Program> Read(const std::string& path) {
    return ReadCalledProgram(line_, path, diags_);
  }

  Expected<std::unique_ptr<Session>> Load(Program read) {
    const auto program = std::make_shared<const Program>(std::move(read));
    SessionOptions options = session_options_;
    const size_t num_nodes = program->CountNodes(Program::kRoot);
    options.observer = [this, num_nodes](NodeId) {
      ++num_done_;
      // Often enough to see that something happens.
      constexpr size_t kEvery = 64;
      if (num_done_ % kEvery == 0) {
        console_.Progress("node " + std::to_string(num_done_) + " of " +
                          std::to_string(num_nodes));
      }
    };
    return Session::Load(program, options, diags_);
  }

  Expected<std::vector<RuntimeValue>> Call(
      Session* session, const std::vector<RuntimeValue>& inputs) {
    std::vector<RuntimeValue> outputs;
    for (uint64_t i = 0; i < repeat_; ++i) {
      num_done_ = 0;
      std::vector<RuntimeValue> copies = CopiesOf(inputs);
      const auto start = std::chrono::steady_clock::now();
      TENON_ASSIGN(outputs, session->RunFlat(std::move(copies), diags_));
      const std::chrono::duration<double, std::milli> time =
          std::chrono::steady_clock::now() - start;
      if (line_.Has("--time")) {
        console_.Err("call " + std::to_string(i + 1) + ": " +
                     NumberText(time.count()) + " ms\n");
      }
    }
    return outputs;
  }

  void Show(const std::vector<RuntimeValue>& outputs,
            const std::vector<std::string>& paths) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      console_.Out(PathOf(paths, i) + ": " + ValueText(outputs[i]) + "\n");
    }
  }

  Status CompareWith(const std::vector<RuntimeValue>& inputs,
                     const std::vector<RuntimeValue>& outputs,
                     const std::vector<std::string>& paths) {
    TENON_ASSIGN(Program program, Read(line_.Get("--against")));
    TENON_ASSIGN(std::unique_ptr<Session> other, Load(std::move(program)));
    TENON_ASSIGN(const std::vector<RuntimeValue> expected,
                 Call(other.get(), inputs));
    if (expected.size() != outputs.size()) {
      differs_ = true;
      console_.Out(std::to_string(outputs.size()) + " and " +
                   std::to_string(expected.size()) + " results\n");
      return {};
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Comparison c = Compare(outputs[i], expected[i]);
      differs_ = differs_ || !c.is_close();
      std::string text = PathOf(paths, i) + ": ";
      if (!c.has_same_kind) {
        text += c.found + " and " + c.expected;
      } else if (c.is_identical) {
        text += "identical";
      } else {
        text += "differs by " + NumberText(c.max_difference) + ", " +
                NumberText(c.max_relative) + " of what is tolerated";
      }
      console_.Out(text + "\n");
    }
    return {};
  }

  // Scalars go into the file's metadata, which holds texts.
  Status WriteOutputs(const std::vector<RuntimeValue>& outputs,
                      const std::vector<std::string>& paths) {
    Safetensors file;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].is_tensor()) {
        file.tensors.push_back({PathOf(paths, i), outputs[i].tensor()});
      } else {
        file.metadata.emplace_back(PathOf(paths, i), ScalarText(outputs[i]));
      }
    }
    return WriteSafetensors(line_.Get("--outputs"), file, diags_);
  }

  Status WriteState(const Session& session) {
    Safetensors file;
    for (const StateEntry& entry : session.program().state.entries) {
      const std::string fqn(session.program().view(entry.fqn));
      const Tensor tensor = session.State(fqn);
      if (tensor.defined()) file.tensors.push_back({fqn, tensor});
    }
    return WriteSafetensors(line_.Get("--state"), file, diags_);
  }

  const CommandLine& line_;
  Console& console_;
  Diagnostics diags_;
  std::string error_;
  CallSettings settings_;
  uint64_t repeat_ = 1;
  double tolerance_ = 1;
  SessionOptions session_options_;
  size_t num_done_ = 0;
  bool differs_ = false;
};

ExitCode Run(const CommandLine& line, Console& console) {
  return Runner(line, console).Run();
}

}  // namespace

const Verb kRunVerb = {
    "run",
    "FILE",
    1,
    1,
    "calls a program",
    "Calls a program: delegates run on their backends, everything else on the "
    "reference executor. Arguments are checked first: structure, dtypes, "
    "sizes and their ranges. Literals that were fixed at export needn't be "
    "given.\n\nWith --check the first node that a backend gets wrong is "
    "found: regions are run beside the reference executor on the same inputs, "
    "and a region that is wrong is taken apart, first into single nodes, then "
    "into ever shorter runs of nodes.",
    "tenon run model.pt2 --inputs x.safetensors --outputs y.safetensors\n"
    "tenon run model.pt2 --input args.0=x.npy --set kwargs.flag=True\n"
    "tenon run partitioned.pt2 --random --against model.pt2\n"
    "tenon run model.pt2 --random --backend cpu --check\n",
    kOptions,
    Run};

}  // namespace tenon::tools
