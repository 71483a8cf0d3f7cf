// tenon bench: what a call costs, and where.
#include <array>
#include <memory>

#include "backend_options.h"
#include "call_options.h"
#include "console.h"
#include "memory_picture.h"
#include "profile.h"
#include "support/atomic_file.h"
#include "support/byte_cursor.h"
#include "verbs.h"
#include "verdict.h"

namespace tenon::tools {
namespace {

constexpr std::array kOwnOptions = {
    Option{"--backend", 'b', "NAME",
           "Exports the program to this backend first, or to several with "
           "commas between; 'none' for the reference executor. Default: the "
           "delegates in the file.",
           true},
    Option{"--warmup", 0, "N", "Calls before the first timed one. Default: 3."},
    Option{"--repeat", 0, "N",
           "Timed calls; as many again are looked into. Default: 20."},
    Option{"--top", 0, "N",
           "At most N lines of each table, the slowest; 0 shows all. "
           "Default: 20."},
    Option{"--json", 0, "", "Writes JSON, with all lines."},
    Option{"--svg", 0, "FILE",
           "Writes a picture of the memory plan: steps from left to right, "
           "the arena from bottom to top, one rectangle per buffer."},
};
constexpr auto kOptions = JoinOptions(kCallOptions, kOwnOptions);

Status WritePicture(const Profile& profile, const std::string& path,
                    Diagnostics& diags) {
  bool has_plan = false;
  for (const RegionProfile& region : profile.regions) {
    has_plan = has_plan || region.listing.has_value();
  }
  if (!has_plan) {
    return diags.Error(Rule::kUnsupported)
           << "no region has a memory plan; backend cpu makes some";
  }
  const std::string svg = MemoryAsSvg(profile.regions);
  AtomicFile file;
  if (file.Open(path) && file.Write(AsBytes(svg)) && file.Commit()) return {};
  return diags.Error(Rule::kIo, Place::File(path)) << file.error();
}

Status Bench(const CommandLine& line, const CallSettings& settings,
             ProfileOptions options, uint64_t top, Console& console,
             Diagnostics& diags) {
  TENON_ASSIGN(Program program,
               ReadCalledProgram(line, line.arguments()[0], diags));
  TENON_TRY(ExportToBackends(line, &program, diags));
  TENON_ASSIGN(const std::vector<RuntimeValue> inputs,
               GatherInputs(line, settings, program, diags));
  options.session.backend.num_threads = settings.num_threads;
  options.progress = [&](const std::string& text) { console.Progress(text); };
  TENON_ASSIGN(const Profile profile,
               ProfileCalls(std::make_shared<const Program>(std::move(program)),
                            inputs, options, diags));
  console.Out(line.Has("--json") ? ProfileAsJson(profile)
                                 : ProfileAsText(profile, top));
  if (line.Has("--svg")) return WritePicture(profile, line.Get("--svg"), diags);
  return {};
}

ExitCode Run(const CommandLine& line, Console& console) {
  std::string usage;
  const auto settings = ReadCallSettings(line, &usage);
  const auto warmup = line.GetCount("--warmup", 3, 1'000'000, &usage);
  const auto repeat = line.GetCount("--repeat", 20, 1'000'000, &usage);
  const auto top = line.GetCount("--top", 20, UINT32_MAX, &usage);
  if (usage.empty() && repeat && *repeat == 0) {
    usage = "option --repeat is at least 1";
  }
  if (!usage.empty()) return FailUsage(usage, console);
  ProfileOptions options;
  options.num_warmup = *warmup;
  options.num_calls = *repeat;
  Diagnostics diags;
  if (!Bench(line, *settings, options, *top, console, diags)) {
    return Finish(diags, console);
  }
  return Finish(diags, console);
}

}  // namespace

const Verb kBenchVerb = {
    "bench",
    "FILE",
    1,
    1,
    "times calls of a program, by region, step and operator",
    "Times calls of a program. Nothing looks on while whole calls are timed; "
    "then the same number of calls is looked into: operators that the "
    "reference executor runs, regions, and the steps of a region's plan, each "
    "with its time and the bytes that it reads and writes. State goes on from "
    "call to call, inputs are the same in each.",
    "tenon bench model.pt2 --random --backend cpu\n"
    "tenon bench hybrid.pt2 --inputs x.safetensors --repeat 200 --json\n"
    "tenon bench model.pt2 --random -b cpu --svg memory.svg\n",
    kOptions,
    Run};

}  // namespace tenon::tools
