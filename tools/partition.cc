// tenon partition: what backends would take, without compiling it.
#include "backend_options.h"
#include "console.h"
#include "export/export.h"
#include "picture.h"
#include "read_program.h"
#include "report_text.h"
#include "verbs.h"
#include "verdict.h"
#include "write_program.h"

namespace tenon::tools {
namespace {

constexpr std::array kOwnOptions = {
    Option{"--explain", 0, "",
           "Says for every node that stays in the graph why, grouped."},
    Option{"--json", 0, "", "Writes JSON."},
    Option{"--dot", 0, "", "Writes the cut graph in Graphviz's language."},
    Option{"--svg", 0, "FILE", "Writes a picture, by way of Graphviz."},
    Option{"--output", 'o', "FILE",
           "Writes the cut program as text (.tenon): regions as children."},
    Option{"--method", 'm', "NAME",
           "The method to read. Default: 'model', or the only one."},
};
constexpr auto kOptions = JoinOptions(kBackendOptions, kOwnOptions);

Status WriteCut(const CommandLine& line, const Program& program,
                Console& console, Diagnostics& diags) {
  if (line.Has("--svg")) TENON_TRY(WriteSvg(program, line.Get("--svg"), diags));
  const std::string output = line.Get("--output");
  if (output.empty()) return {};
  if (!output.ends_with(".tenon")) {
    return diags.Error(Rule::kUsage)
           << "a cut program calls children, which only the text form holds; "
           << "the output's name must end in .tenon";
  }
  return WriteProgram(program, output, Pt2WriteOptions(), console, diags);
}

ExitCode Run(const CommandLine& line, Console& console) {
  Diagnostics diags;
  const auto requests = BackendRequests(line, diags);
  if (!requests) return Finish(diags, console);
  ReadOptions read;
  read.limits = line.read_limits();
  read.method = line.Get("--method");
  Expected<LoadedProgram> loaded = ReadProgram(
      line.arguments()[0], std::make_shared<Context>(), read, diags);
  if (!loaded) return Finish(diags, console);

  ExportOptions options;
  options.backends = *requests;
  options.stop_after = "outline";
  const auto report = ExportProgram(&loaded->program, options, diags);
  if (!report || !WriteCut(line, loaded->program, console, diags)) {
    return Finish(diags, console);
  }
  if (line.Has("--dot")) {
    console.Out(GraphAsDot(loaded->program));
  } else if (line.Has("--json")) {
    console.Out(ReportAsJson(*report, /*with_phases=*/false));
  } else {
    ReportTextOptions text;
    text.explain = line.Has("--explain");
    console.Out(ReportAsText(*report, text));
  }
  return Finish(diags, console);
}

}  // namespace

const Verb kPartitionVerb = {
    "partition",
    "FILE",
    1,
    1,
    "shows what backends would take, and why not the rest",
    "Cuts a program into regions as 'tenon export' would, compiles nothing, "
    "and shows each region with its boundary. --explain gives the reason for "
    "every node that stays: operator unknown, dtype, layout, rank, dynamic "
    "shape, data-dependent output, attribute value, effect, scalar at the "
    "boundary, region too small, too many regions, the user's choice.",
    "tenon partition model.pt2 --backend cpu --explain\n"
    "tenon partition model.pt2 --backend cpu --svg cut.svg\n",
    kOptions,
    Run};

}  // namespace tenon::tools
