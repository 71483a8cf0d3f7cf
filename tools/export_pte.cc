#include "export_pte.h"

#include <memory>
#include <string>
#include <vector>

#include "executorch/export_pte.h"
#include "passes/rewrite.h"
#include "read_program.h"
#include "rewrite_options.h"
#include "size_text.h"
#include "support/counted.h"
#include "verdict.h"

namespace tenon::tools {
namespace {

constexpr std::string_view kPortable = "portable";

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
  Diagnostics diags;
  const auto context = std::make_shared<Context>();
  const auto rewrite = RewriteOptionsOf(line, context.get(), diags);
  if (!rewrite) return Finish(diags, console);
  ReadOptions read;
  read.limits = line.read_limits();
  read.method = line.Get("--method");
  Expected<LoadedProgram> loaded =
      ReadProgram(line.arguments()[0], context, read, diags);
  if (!loaded) return Finish(diags, console);
  if (!Rewrite(&loaded->program, *rewrite, diags)) {
    return Finish(diags, console);
  }
  const auto report = ExportPte(loaded->program, output, diags);
  if (report) console.Out(ReportText(*report));
  return Finish(diags, console);
}

}  // namespace tenon::tools
