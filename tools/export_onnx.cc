// tenon export-onnx: a program as an ONNX model.
#include "onnx/export_onnx.h"

#include <memory>

#include "console.h"
#include "read_program.h"
#include "support/byte_text.h"
#include "support/counted.h"
#include "verbs.h"
#include "verdict.h"

namespace tenon::tools {
namespace {

constexpr Option kOptions[] = {
    {"--output", 'o', "FILE",
     "The .onnx to write; weights lie beside it in FILE.data. Required."},
    {"--widen-bfloat16", 0, "",
     "Computes bfloat16 in float32, for engines without bfloat16."},
    {"--method", 'm', "NAME",
     "The method to read. Default: 'model', or the only one."},
};

std::string ReportText(const OnnxExportReport& report) {
  std::string text = Count(report.num_nodes, "node") + " of opset " +
                     std::to_string(report.opset) + ", " +
                     Count(report.inputs.size(), "input") + ", " +
                     Count(report.outputs.size(), "output") + ", " +
                     ByteText(report.model_bytes);
  if (report.data_bytes > 0) {
    text += " and " + ByteText(report.data_bytes) + " of weights";
  }
  text += "\n";
  for (const std::string& note : report.notes) text += "note: " + note + "\n";
  return text;
}

ExitCode Run(const CommandLine& line, Console& console) {
  if (!line.Has("--output")) {
    return FailUsage("option --output is missing: where to write", console);
  }
  Diagnostics diags;
  ReadOptions read;
  read.limits = line.read_limits();
  read.method = line.Get("--method");
  const Expected<LoadedProgram> loaded = ReadProgram(
      line.arguments()[0], std::make_shared<Context>(), read, diags);
  if (!loaded) return Finish(diags, console);
  onnx::TranslateOptions options;
  options.widen_bfloat16 = line.Has("--widen-bfloat16");
  const auto report =
      ExportOnnx(loaded->program, {}, line.Get("--output"), options, diags);
  if (report) console.Out(ReportText(*report));
  return Finish(diags, console);
}

}  // namespace

const Verb kExportOnnxVerb = {
    "export-onnx",
    "FILE",
    1,
    1,
    "writes a program as an ONNX model",
    "Translates every node to ONNX operators that compute what PyTorch does, "
    "with the lowest opset from 18 on that has them. Inputs and outputs are "
    "those of the program, by position: input_0, output_0. State that calls "
    "change is an input with its old and an output with its new value; the "
    "file's metadata says which. Sizes that vary keep their names. A node that "
    "can't be translated is an error that names it and its line in the model's "
    "source, and nothing is written.",
    "tenon export-onnx model.pt2 -o model.onnx\n",
    kOptions,
    Run};

}  // namespace tenon::tools
