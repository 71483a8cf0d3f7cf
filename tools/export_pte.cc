#include "export_pte.h"

#include <algorithm>
#include <string>
#include <vector>

#include "executorch/export_pte.h"
#include "pte_report.h"
#include "pte_request.h"
#include "verdict.h"
#include "write_program.h"

namespace tenon::tools {
namespace {

constexpr std::string_view kPortable = "portable";

// Options of the verb that say something about regions or .pt2 files.
constexpr std::string_view kForOthers[] = {
    "--no-fallback", "--explain",    "--dot",           "--time",
    "--threads",     "--stop-after", "--try",           "--random-cut",
    "--seed",        "--torch",      "--must-take-all",
};

// The file's memory, as it lies there.
Status WritePicture(const std::string& path, const std::string& picture,
                    Diagnostics& diags) {
  TENON_ASSIGN(const PteProgram program, ReadPte(path, diags));
  return WriteTextFile(picture, PteMemoryAsSvg(program), diags);
}

}  // namespace

bool IsForPortable(const CommandLine& line) {
  const std::vector<std::string> names = PteBackendNames(line);
  return std::find(names.begin(), names.end(), kPortable) != names.end();
}

std::string_view OptionForPortable(const CommandLine& line) {
  constexpr std::string_view kOptions[] = {
      "--constant",        "--share-state", "--share-all-state",
      "--weights-file",    "--inline",      "--compile-spec",
      "--caller-owned",    "--engine",      "--engine-builder",
      "--engine-requests", "--cuda-device",
  };
  for (const std::string_view option : kOptions) {
    if (line.Has(option)) return option;
  }
  return "";
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
  const auto request = ReadPteRequest(line, diags);
  if (!request) return Finish(diags, console);
  const auto report = ExportPte(request->methods, output, request->file, diags);
  if (!report) return Finish(diags, console);
  if (line.Has("--svg") && !WritePicture(output, line.Get("--svg"), diags)) {
    return Finish(diags, console);
  }
  const std::string json = PteReportAsJson(*report);
  if (line.Has("--report") &&
      !WriteTextFile(line.Get("--report"), json, diags)) {
    return Finish(diags, console);
  }
  console.Out(line.Has("--json") ? json : PteReportAsText(*report));
  return Finish(diags, console);
}

}  // namespace tenon::tools
