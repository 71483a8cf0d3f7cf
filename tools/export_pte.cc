#include "export_pte.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include "backend_options.h"
#include "device_backends.h"
#include "executorch/delegate_regions.h"
#include "executorch/export_pte.h"
#include "passes/rewrite.h"
#include "read_program.h"
#include "rewrite_options.h"
#include "support/counted.h"
#include "verdict.h"

namespace tenon::tools {
namespace {

constexpr std::string_view kPortable = "portable";

// Options of the verb that say something about regions or .pt2 files.
constexpr std::string_view kForOthers[] = {
    "--no-fallback", "--explain", "--json",    "--report",        "--dot",
    "--svg",         "--time",    "--threads", "--stop-after",    "--try",
    "--random-cut",  "--seed",    "--torch",   "--must-take-all",
};

// Copies between host and device, and where buffers lie; nothing without them.
std::string DeviceText(const PteExportReport& report) {
  const executorch::DeviceTraffic& t = report.traffic;
  if (t.num_to_device + t.num_to_host + t.initial_bytes == 0) return "";
  std::string text = "per call: " + Count(t.num_to_device, "transfer") +
                     " to the device, " + Count(t.bytes_to_device, "byte") +
                     ", " + Count(t.num_to_host, "transfer") + " back, " +
                     Count(t.bytes_to_host, "byte") + "\n";
  if (t.initial_bytes > 0) {
    text += "first call: " + Count(t.initial_bytes, "byte") +
            " of initial state to the device\n";
  }
  for (const executorch::StatePlace& state : report.state) {
    const bool is_on_host = state.device < 0;
    text += "  " + state.name + ": " +
            (is_on_host ? std::string("on the host")
                        : "on cuda:" + std::to_string(int{state.device})) +
            (state.is_in_place
                 ? ", in place"
                 : ", copied back, " + Count(state.size_bytes, "byte")) +
            "\n";
  }
  return text;
}

std::string ReportText(const PteExportReport& report) {
  std::string text = Count(report.num_nodes, "node") + " became " +
                     Count(report.num_instructions, "instruction") +
                     " of ExecuTorch's portable kernels\n";
  for (size_t i = 0; i < report.regions.size(); ++i) {
    text += "  region_" + std::to_string(i) + " (" + report.regions[i].backend +
            "): " + Count(report.regions[i].num_nodes, "node") + "\n";
  }
  if (!report.regions.empty()) {
    text += "payloads: " + Count(report.payload_bytes, "byte") + ", and " +
            Count(report.named_bytes, "byte") + " that they ask for\n";
  }
  text += "memory: " + Count(report.arena_bytes, "byte") + " planned, " +
          Count(report.constant_bytes, "byte") + " of constants, " +
          Count(report.state_bytes, "byte") + " of initial state\n";
  if (report.num_in_place + report.num_copied_back > 0) {
    text += "state: " + Count(report.num_in_place, "mutation") + " in place, " +
            std::to_string(report.num_copied_back) + " copied back\n";
  }
  text += DeviceText(report);
  for (const std::string& note : report.notes) text += "note: " + note + "\n";
  return text;
}

// All of them, those with commas between, too.
std::vector<std::string> BackendNames(const CommandLine& line) {
  std::vector<std::string> names;
  for (const std::string& list : line.GetAll("--backend")) {
    for (size_t begin = 0; begin <= list.size();) {
      const size_t comma = std::min(list.find(',', begin), list.size());
      names.push_back(list.substr(begin, comma - begin));
      begin = comma + 1;
    }
  }
  return names;
}

// "s33=128", as often as wanted.
Expected<PteExportOptions> OptionsOf(const CommandLine& line,
                                     Diagnostics& diags) {
  PteExportOptions options;
  for (const std::string& text : line.GetAll("--bound")) {
    const size_t equals = text.find('=');
    const char* end = text.data() + text.size();
    int64_t max = 0;
    const auto [rest, code] =
        equals == std::string::npos
            ? std::from_chars_result{text.data(), std::errc::invalid_argument}
            : std::from_chars(text.data() + equals + 1, end, max);
    if (code != std::errc() || rest != end || max < 0) {
      return diags.Error(Rule::kUsage)
             << "'" << text << "' isn't of the form SYMBOL=MAX";
    }
    options.bounds[text.substr(0, equals)] = max;
  }
  return options;
}

// The backends before `portable`, and what the options say of them.
Status AddBackends(const CommandLine& line, PteExportOptions* options,
                   DeviceBackends* devices, Diagnostics& diags) {
  TENON_TRY(devices->Configure(line, options->bounds, diags));
  options->cuda_device = devices->cuda_device();
  std::vector<BackendRequest> requests;
  for (const std::string& name : BackendNames(line)) {
    if (name == kPortable) continue;
    const Backend* backend = executorch::FindDelegateBackend(name);
    if (backend == nullptr) {
      TENON_ASSIGN(backend, devices->Find(name, diags));
    }
    options->backends.push_back(backend);
    requests.emplace_back().backend = backend;
  }
  TENON_TRY(AddToRequests(line, &requests, diags));
  for (BackendRequest& request : requests) {
    const std::string name(request.backend->name());
    options->requests.emplace(name, std::move(request));
  }
  return {};
}

}  // namespace

bool IsForPortable(const CommandLine& line) {
  const std::vector<std::string> names = BackendNames(line);
  return std::find(names.begin(), names.end(), kPortable) != names.end();
}

ExitCode ExportToPte(const CommandLine& line, Console& console) {
  const std::string output = line.Get("--output");
  if (!output.ends_with(".pte")) {
    return FailUsage(
        "backend 'portable' writes a .pte; '" + output + "' isn't called so",
        console);
  }
  for (const std::string_view option : kForOthers) {
    if (!line.Has(option)) continue;
    return FailUsage(
        "option " + std::string(option) + " says nothing to backend 'portable'",
        console);
  }
  Diagnostics diags;
  const auto context = std::make_shared<Context>();
  const auto rewrite = RewriteOptionsOf(line, context.get(), diags);
  auto options = OptionsOf(line, diags);
  if (!rewrite || !options) return Finish(diags, console);
  DeviceBackends devices;
  if (!AddBackends(line, &*options, &devices, diags)) {
    return Finish(diags, console);
  }
  ReadOptions read;
  read.limits = line.read_limits();
  read.method = line.Get("--method");
  Expected<LoadedProgram> loaded =
      ReadProgram(line.arguments()[0], context, read, diags);
  if (!loaded) return Finish(diags, console);
  if (!Rewrite(&loaded->program, *rewrite, diags)) {
    return Finish(diags, console);
  }
  const auto report = ExportPte(loaded->program, output, *options, diags);
  if (report) console.Out(ReportText(*report));
  return Finish(diags, console);
}

}  // namespace tenon::tools
