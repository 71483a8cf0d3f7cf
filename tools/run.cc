// tenon run: calls a program.
#include <chrono>

#include "call_inputs.h"
#include "call_text.h"
#include "comparison.h"
#include "console.h"
#include "formats/tensor/safetensors.h"
#include "read_program.h"
#include "runtime/session.h"
#include "tensor_elements.h"
#include "verbs.h"
#include "verdict.h"

namespace tenon::tools {
namespace {

constexpr Option kOptions[] = {
    {"--inputs", 'i', "FILE",
     "A safetensors file; each tensor is named by its input's path (args.0, "
     "kwargs.mask, args.1.past.k), its parameter, or its number.",
     true},
    {"--input", 0, "PATH=FILE.npy", "One input from a NumPy file.", true},
    {"--set", 0, "PATH=VALUE", "A scalar input: 3, 0.5, True, text, None.",
     true},
    {"--random", 0, "",
     "Draws inputs that aren't given, sizes within their ranges."},
    {"--seed", 's', "S", "For --random. Default: 0."},
    {"--outputs", 'o', "FILE",
     "Writes the results to a safetensors file, named by output path ('out' "
     "for a single one). Default: shows them."},
    {"--state", 0, "FILE",
     "Writes all state as it is after the call to a safetensors file."},
    {"--against", 0, "FILE",
     "Runs a second program on the same inputs and compares the results; "
     "ends with 1 when they are further apart than their dtype tolerates."},
    {"--repeat", 0, "N", "Calls N times; state goes on. Default: 1."},
    {"--time", 0, "", "Shows what each call took."},
    {"--threads", 0, "N", "Threads of a backend. Default: 1."},
    {"--method", 'm', "NAME",
     "The method to call. Default: 'model', or the only one."},
};

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
    const auto seed = line_.GetCount("--seed", 0, UINT64_MAX, &error_);
    const auto repeat = line_.GetCount("--repeat", 1, 1'000'000, &error_);
    const auto threads = line_.GetCount("--threads", 1, 1024, &error_);
    if (!seed || !repeat || !threads) return false;
    seed_ = *seed;
    repeat_ = *repeat;
    session_options_.backend.num_threads = static_cast<int>(*threads);
    return true;
  }

  Status RunAll() {
    TENON_ASSIGN(std::unique_ptr<Session> session, Load(line_.arguments()[0]));
    CallInputs inputs(session->program(), diags_);
    TENON_TRY(Gather(&inputs));
    TENON_ASSIGN(const std::vector<RuntimeValue> values, inputs.Take());
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

  Expected<std::unique_ptr<Session>> Load(const std::string& path) {
    tools::ReadOptions read;
    read.limits = line_.read_limits();
    read.method = line_.Get("--method");
    TENON_ASSIGN(LoadedProgram loaded,
                 ReadProgram(path, std::make_shared<Context>(), read, diags_));
    const auto program =
        std::make_shared<const Program>(std::move(loaded.program));
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

  Status Gather(CallInputs* inputs) {
    for (const std::string& path : line_.GetAll("--inputs")) {
      TENON_TRY(inputs->AddSafetensors(path));
    }
    for (const std::string& assignment : line_.GetAll("--input")) {
      TENON_TRY(inputs->AddNpy(assignment));
    }
    for (const std::string& assignment : line_.GetAll("--set")) {
      TENON_TRY(inputs->AddSetting(assignment));
    }
    if (line_.Has("--random")) TENON_TRY(inputs->FillRandomly(seed_));
    return {};
  }

  // Inputs that a program writes are written in the caller's tensors, so each
  // call gets its own.
  static std::vector<RuntimeValue> Copies(
      const std::vector<RuntimeValue>& values) {
    std::vector<RuntimeValue> out;
    for (const RuntimeValue& v : values) {
      out.push_back(v.is_tensor() ? RuntimeValue(v.tensor().Clone()) : v);
    }
    return out;
  }

  Expected<std::vector<RuntimeValue>> Call(
      Session* session, const std::vector<RuntimeValue>& inputs) {
    std::vector<RuntimeValue> outputs;
    for (uint64_t i = 0; i < repeat_; ++i) {
      num_done_ = 0;
      std::vector<RuntimeValue> copies = Copies(inputs);
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
    TENON_ASSIGN(std::unique_ptr<Session> other, Load(line_.Get("--against")));
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
  uint64_t seed_ = 0, repeat_ = 1;
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
    "given.",
    "tenon run model.pt2 --inputs x.safetensors --outputs y.safetensors\n"
    "tenon run model.pt2 --input args.0=x.npy --set kwargs.flag=True\n"
    "tenon run partitioned.pt2 --random --against model.pt2\n",
    kOptions,
    Run};

}  // namespace tenon::tools
