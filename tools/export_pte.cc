#include "export_pte.h"

#include <charconv>
#include <memory>
#include <string>
#include <vector>

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
    "--no-fallback",    "--explain",       "--json",
    "--report",         "--dot",           "--svg",
    "--time",           "--threads",       "--stop-after",
    "--random-cut",     "--try",           "--seed",
    "--torch",          "--allow",         "--deny",
    "--group",          "--min-nodes",     "--max-regions",
    "--drop-costly",    "--launch-ns",     "--bandwidth",
    "--node-saving-ns", "--must-take-all",
};

std::string ReportText(const PteExportReport& report) {
  std::string text = Count(report.num_nodes, "node") + " became " +
                     Count(report.num_instructions, "instruction") +
                     " of ExecuTorch's portable kernels\n";
  text += "memory: " + Count(report.arena_bytes, "byte") + " planned, " +
          Count(report.constant_bytes, "byte") + " of constants, " +
          Count(report.state_bytes, "byte") + " of initial state\n";
  if (report.num_in_place + report.num_copied_back > 0) {
    text += "state: " + Count(report.num_in_place, "mutation") + " in place, " +
            std::to_string(report.num_copied_back) + " copied back\n";
  }
  for (const std::string& note : report.notes) text += "note: " + note + "\n";
  return text;
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

}  // namespace

bool IsForPortable(const CommandLine& line) {
  for (const std::string& name : line.GetAll("--backend")) {
    if (name == kPortable) return true;
  }
  return false;
}

ExitCode ExportToPte(const CommandLine& line, Console& console) {
  const std::string output = line.Get("--output");
  if (line.GetAll("--backend").size() > 1) {
    return FailUsage(
        "backend 'portable' stands alone: it runs the whole program", console);
  }
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
  const auto options = OptionsOf(line, diags);
  if (!rewrite || !options) return Finish(diags, console);
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
