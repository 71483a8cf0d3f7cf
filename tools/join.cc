// tenon join: a hybrid graph becomes one signed program.
#include "console.h"
#include "export/join_program.h"
#include "formats/tensorrt/raise_engines.h"
#include "picture.h"
#include "read_program.h"
#include "report_text.h"
#include "verbs.h"
#include "verdict.h"
#include "write_program.h"

namespace tenon::tools {
namespace {

constexpr std::array kOptions = {
    Option{"--output", 'o', "FILE",
           "The .pt2 to write, or a .tenon for the text form. Required."},
    kTorchOption,
    Option{"--inline", 0, "",
           "Puts the graphs of engines back as plain operators, where they are "
           "known, so that PyTorch opens the result."},
    Option{"--engines", 0, "delegate|execute_engine|placeholder",
           "How the file calls TensorRT engines: as delegates with Tenon's own "
           "members (default), or as Torch-TensorRT does, by an object for "
           "execute_engine or by the record in a placeholder call."},
    Option{"--json", 0, "", "Writes the report as JSON."},
    Option{"--report", 0, "FILE", "Writes the report as JSON to a file, too."},
    Option{"--dot", 0, "", "Writes the joined graph in Graphviz's language."},
    Option{"--time", 0, "", "Shows what each phase took."},
    Option{"--stop-after", 0, "verify|join|lift|declare|prove",
           "Ends after a phase and writes the program as it is then."},
    Option{"--method", 'm', "NAME",
           "The method to read, of a .pt2. Default: 'model', or the only one."},
};

// The program as it is written, by --engines.
Status SetEngineForm(const std::string& form, Program* program,
                     Diagnostics& diags) {
  if (form == "execute_engine") {
    return RaiseEngineCalls(program, EngineCallForm::kObject, diags);
  }
  if (form == "placeholder") {
    return RaiseEngineCalls(program, EngineCallForm::kPlaceholder, diags);
  }
  return {};
}

ExitCode Run(const CommandLine& line, Console& console) {
  if (!line.Has("--output")) {
    return FailUsage("option --output is missing: where to write", console);
  }
  const std::string output = line.Get("--output");
  Diagnostics diags;
  const auto write = Pt2OptionsOf(line, output, diags);
  if (!write) return Finish(diags, console);
  ReadOptions read;
  read.limits = line.read_limits();
  read.method = line.Get("--method");
  Expected<LoadedProgram> loaded = ReadProgram(
      line.arguments()[0], std::make_shared<Context>(), read, diags);
  if (!loaded) return Finish(diags, console);
  JoinProgramOptions options;
  options.inline_delegates = line.Has("--inline");
  options.stop_after = line.Get("--stop-after");
  const auto report = JoinProgram(&loaded->program, options, diags);
  if (!report ||
      !SetEngineForm(line.Get("--engines"), &loaded->program, diags) ||
      !WriteProgram(loaded->program, output, *write, console, diags)) {
    return Finish(diags, console);
  }
  const bool with_times = line.Has("--time");
  if (line.Has("--report") &&
      !WriteTextFile(line.Get("--report"), ReportAsJson(*report, with_times),
                     diags)) {
    return Finish(diags, console);
  }
  if (line.Has("--dot")) {
    console.Out(GraphAsDot(loaded->program));
  } else if (line.Has("--json")) {
    console.Out(ReportAsJson(*report, with_times));
  } else {
    ReportTextOptions text;
    text.phases = with_times;
    console.Out(ReportAsText(*report, text));
  }
  return Finish(diags, console);
}

}  // namespace

const Verb kJoinVerb = {
    "join",
    "HYBRID",
    1,
    1,
    "joins a graph that calls child graphs into one program",
    "Reads a hybrid graph (encoding hybrid-1, text form, or a .pt2 with engine "
    "calls), puts every child where it is called, by position, lifts the state "
    "into the signature, declares what is written in place, and proves that "
    "the result has the hybrid graph's wiring digest. Children that stand for "
    "an engine stay delegate calls; calls of Torch-TensorRT's engines become "
    "some.",
    "tenon join hybrid.json -o model.pt2\n"
    "tenon join hybrid.json -o model.pt2 --inline\n"
    "tenon join hybrid.tenon -o flat.tenon --stop-after join\n"
    "tenon join trt.pt2 -o again.pt2 --engines execute_engine\n",
    kOptions,
    Run};

}  // namespace tenon::tools
