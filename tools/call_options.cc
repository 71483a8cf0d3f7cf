#include "call_options.h"

#include <utility>

#include "backend_options.h"
#include "export/export.h"
#include "link/join.h"
#include "read_program.h"

namespace tenon::tools {

std::optional<CallSettings> ReadCallSettings(const CommandLine& line,
                                             std::string* error) {
  const auto seed = line.GetCount("--seed", 0, UINT64_MAX, error);
  const auto threads = line.GetCount("--threads", 1, 1024, error);
  if (!seed || !threads) return std::nullopt;
  return CallSettings{*seed, static_cast<int>(*threads)};
}

Expected<Program> ReadCalledProgram(const CommandLine& line,
                                    const std::string& path,
                                    Diagnostics& diags) {
  tools::ReadOptions read;
  read.limits = line.read_limits();
  read.method = line.Get("--method");
  TENON_ASSIGN(LoadedProgram loaded,
               ReadProgram(path, std::make_shared<Context>(), read, diags));
  return std::move(loaded.program);
}

Expected<std::vector<RuntimeValue>> GatherInputs(const CommandLine& line,
                                                 const CallSettings& settings,
                                                 const Program& program,
                                                 Diagnostics& diags) {
  CallInputs inputs(program, diags);
  for (const std::string& path : line.GetAll("--inputs")) {
    TENON_TRY(inputs.AddSafetensors(path));
  }
  for (const std::string& assignment : line.GetAll("--input")) {
    TENON_TRY(inputs.AddNpy(assignment));
  }
  for (const std::string& assignment : line.GetAll("--set")) {
    TENON_TRY(inputs.AddSetting(assignment));
  }
  if (line.Has("--random")) TENON_TRY(inputs.FillRandomly(settings.seed));
  return inputs.Take();
}

std::vector<RuntimeValue> CopiesOf(const std::vector<RuntimeValue>& values) {
  std::vector<RuntimeValue> out;
  for (const RuntimeValue& v : values) {
    out.push_back(v.is_tensor() ? RuntimeValue(v.tensor().Clone()) : v);
  }
  return out;
}

Status ExportToBackends(const CommandLine& line, Program* program,
                        Diagnostics& diags) {
  if (!line.Has("--backend")) return {};
  ExportOptions options;
  TENON_ASSIGN(options.backends, FindBackends(line.GetAll("--backend"), diags));
  TENON_TRY(ExpandDelegates(program, diags, true));
  TENON_TRY(JoinAll(program, diags));
  if (options.backends.empty()) return {};
  if (!ExportProgram(program, options, diags)) return Failure{};
  return {};
}

}  // namespace tenon::tools
