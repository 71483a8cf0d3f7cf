// tenon export: rewrite if asked, partition, compile, join, lift, prove, write.
#include "export/export.h"

#include "backend_options.h"
#include "console.h"
#include "export_pte.h"
#include "picture.h"
#include "read_program.h"
#include "report_text.h"
#include "rewrite_options.h"
#include "run_both.h"
#include "verbs.h"
#include "verdict.h"
#include "write_program.h"

namespace tenon::tools {
namespace {

constexpr std::array kOwnOptions = {
    Option{"--output", 'o', "FILE",
           "The .pt2 to write, or a .tenon for the text form; with backend "
           "portable, for ExecuTorch's kernels, and tensorrt, cuda, xnnpack, "
           "xnnpack_q8 or "
           "tenon, its delegates, before it, a .pte. Required."},
    kTorchOption,
    Option{"--no-fallback", 0, "",
           "Fails when a backend can't compile a region, instead of leaving "
           "it in the graph."},
    Option{"--explain", 0, "",
           "Says for every node that stays in the graph why, grouped."},
    Option{"--json", 0, "", "Writes the report as JSON."},
    Option{"--report", 0, "FILE", "Writes the report as JSON to a file, too."},
    Option{"--dot", 0, "", "Writes the hybrid graph in Graphviz's language."},
    Option{"--svg", 0, "FILE",
           "Writes a picture of the hybrid graph, by way of Graphviz; of a "
           ".pte, of its memory."},
    Option{"--time", 0, "", "Shows what each phase took."},
    Option{"--threads", 0, "N", "Threads of a backend. Default: 1."},
    Option{"--stop-after", 0,
           "verify|partition|outline|compile|join|lift|prove",
           "Ends after a phase and writes the program as it is then."},
    Option{"--random-cut", 0, "N",
           "Cuts at random places, in up to N kinds of regions, instead of by "
           "what backends take: for tests."},
    Option{"--try", 0, "N",
           "Runs both programs on N random inputs, smallest and largest sizes "
           "included, and reports the largest difference of each output, "
           "mutation and region; ends with 1 when one isn't tolerated."},
    Option{"--seed", 's', "S", "For --random-cut and --try. Default: 0."},
    Option{"--bound", 0, "[METHOD:]SYMBOL=MAX",
           "The largest value of a size for backend portable, which plans "
           "memory for it. Repeatable.",
           true},
    Option{"--engine", 0, "REGION=FILE",
           "For backend tensorrt: the engine of a region, a serialised plan "
           "or a TR01 or TR02 container. Repeatable.",
           true},
    Option{"--engine-builder", 0, "COMMAND",
           "For backend tensorrt: builds the engines of the other regions; "
           "run as COMMAND REQUEST ENGINE."},
    Option{"--engine-requests", 0, "FOLDER",
           "For backend tensorrt: writes the ONNX model of each region without "
           "an engine, and the call of trtexec that builds one."},
    Option{"--cuda-device", 0, "N",
           "The device of backends tensorrt and cuda. Default: 0."},
    Option{"--method", 'm', "NAME",
           "The method to read. Default: 'model', or the only one; for a .pte, "
           "all methods of an archive."},
    Option{"--constant", 0, "NAME=VALUE",
           "Adds a method to a .pte that returns what is given: 7, 0.5, true, "
           "\"text\", @FILE.npy, @FILE.safetensors, or [..] of those. "
           "Repeatable.",
           true},
    Option{"--share-state", 0, "FQN",
           "Methods of a .pte that have this buffer have it in common: what "
           "one writes, the others read. Repeatable.",
           true},
    Option{"--share-all-state", 0, "",
           "Shares every buffer that one method writes and another one has."},
    Option{"--weights-file", 0, "FILE.ptd",
           "Keeps weights, and what delegates ask for, in a data file beside "
           "the .pte."},
    Option{"--inline", 0, "payloads|weights",
           "Keeps delegates' payloads, or weights, in the .pte's tables "
           "instead of segments. Runtimes from 1.5 on take no weights there. "
           "Repeatable.",
           true},
    Option{"--compile-spec", 0, "[METHOD:]BACKEND.KEY=VALUE",
           "A compile spec for a delegate's backend in a .pte. Repeatable.",
           true},
    Option{"--caller-owned", 0, "[METHOD:]WHICH",
           "Plans no memory for a .pte's 'inputs' or 'outputs': the caller's "
           "is used. Repeatable.",
           true},
};
constexpr auto kOptions =
    JoinOptions(kBackendOptions, JoinOptions(kOwnOptions, kRewriteOptions));

Expected<ExportOptions> OptionsOf(const CommandLine& line, Console& console,
                                  Diagnostics& diags) {
  ExportOptions options;
  TENON_ASSIGN(options.backends, BackendRequests(line, diags));
  std::string error;
  const auto threads = line.GetCount("--threads", 1, 1024, &error);
  const auto colors = line.GetCount("--random-cut", 0, 1000, &error);
  const auto seed = line.GetCount("--seed", 0, UINT64_MAX, &error);
  if (!threads || !colors || !seed) return diags.Error(Rule::kUsage) << error;
  options.backend_options.num_threads = static_cast<int>(*threads);
  options.num_random_colors = static_cast<uint32_t>(*colors);
  options.cut_seed = *seed;
  options.allow_fallback = !line.Has("--no-fallback");
  options.stop_after = line.Get("--stop-after");
  options.progress = [&console](size_t i, size_t count,
                                const std::string& name) {
    console.Progress("compiling " + name + ", " + std::to_string(i + 1) +
                     " of " + std::to_string(count));
  };
  return options;
}

Status WriteFiles(const CommandLine& line, const Program& program,
                  const ExportReport& report, Console& console,
                  Diagnostics& diags) {
  const std::string output = line.Get("--output");
  TENON_ASSIGN(const Pt2WriteOptions write, Pt2OptionsOf(line, output, diags));
  TENON_TRY(WriteProgram(program, output, write, console, diags));
  if (line.Has("--report")) {
    TENON_TRY(WriteTextFile(line.Get("--report"),
                            ReportAsJson(report, line.Has("--time")), diags));
  }
  if (line.Has("--svg")) TENON_TRY(WriteSvg(program, line.Get("--svg"), diags));
  return {};
}

ExitCode Run(const CommandLine& line, Console& console) {
  if (!line.Has("--output")) {
    return FailUsage("option --output is missing: where to write", console);
  }
  if (IsForPortable(line)) return ExportToPte(line, console);
  if (line.arguments().size() > 1) {
    return FailUsage("only a .pte has several methods: --backend portable",
                     console);
  }
  if (const auto option = OptionForPortable(line); !option.empty()) {
    return FailUsage(
        "option " + std::string(option) + " is for a .pte: --backend portable",
        console);
  }
  Diagnostics diags;
  const auto options = OptionsOf(line, console, diags);
  const auto context = std::make_shared<Context>();
  const auto rewrite = RewriteOptionsOf(line, context.get(), diags);
  if (!options || !rewrite ||
      !Pt2OptionsOf(line, line.Get("--output"), diags)) {
    return Finish(diags, console);
  }
  ReadOptions read;
  read.limits = line.read_limits();
  read.method = line.Get("--method");
  Expected<LoadedProgram> loaded =
      ReadProgram(line.arguments()[0], context, read, diags);
  if (!loaded) return Finish(diags, console);

  std::string usage;
  const auto num_runs = line.GetCount("--try", 0, 1'000'000, &usage);
  if (!num_runs) return FailUsage(usage, console);
  const Program source = loaded->program.Clone();
  const auto notes = Rewrite(&loaded->program, *rewrite, diags);
  if (!notes) return Finish(diags, console);
  auto report = ExportProgram(&loaded->program, *options, diags);
  if (report) {
    report->notes.insert(report->notes.begin(), notes->begin(), notes->end());
  }
  if (!report || !WriteFiles(line, loaded->program, *report, console, diags)) {
    return Finish(diags, console);
  }
  if (line.Has("--dot")) {
    console.Out(GraphAsDot(loaded->program));
  } else if (line.Has("--json")) {
    console.Out(ReportAsJson(*report, line.Has("--time")));
  } else {
    ReportTextOptions text;
    text.explain = line.Has("--explain");
    text.phases = line.Has("--time");
    console.Out(ReportAsText(*report, text));
  }
  if (*num_runs > 0) {
    const auto tried =
        TryExport(source, loaded->program, *num_runs, options->cut_seed, diags);
    if (tried) {
      // Results may be what standard output holds.
      const bool is_text = !line.Has("--json") && !line.Has("--dot");
      if (is_text) {
        console.Out(TriedAsText(*tried));
      } else {
        console.Err(TriedAsText(*tried));
      }
      if (!tried->is_close()) return ExitCode::kFinding;
    }
  }
  return Finish(diags, console);
}

}  // namespace

const Verb kExportVerb = {
    "export",
    "FILE | NAME=FILE...",
    1,
    64,
    "cuts a program over backends and writes the hybrid",
    "Takes a program apart over backends and joins the pieces into one program "
    "that computes exactly the same: verify, partition, outline, compile, "
    "join, lift, prove, verify. The result must have the source's wiring "
    "digest; otherwise nothing is written and the first place where both part "
    "is shown. Passes that change expressions come first, on request. A .pte "
    "may have several methods, NAME=FILE each, which share what weights they "
    "have in common; METHOD: before an option's value says it of one of them.",
    "tenon export model.pt2 -o hybrid.pt2 --backend cpu\n"
    "tenon export model.pt2 -o same.pt2 --backend none --random-cut 3\n"
    "tenon export model.pt2 -o hybrid.pt2 -b cpu --deny aten.softmax "
    "--explain\n"
    "tenon export model.pt2 -o hybrid.pt2 -b cpu --try 10\n"
    "tenon export model.pt2 -o old.pt2 --backend none --torch 2.7\n"
    "tenon export model.pt2 -o small.pt2 -b none --fold-constants "
    "--remove-dead-code\n"
    "tenon export model.pt2 -o gpu.pt2 -b none --device cuda:0\n"
    "tenon export model.pt2 -o model.pte -b portable\n"
    "tenon export prefill=a.pt2 decode=b.pt2 -o llm.pte -b xnnpack,portable "
    "--share-all-state\n",
    kOptions,
    Run};

}  // namespace tenon::tools
