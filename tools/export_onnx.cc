// tenon export-onnx: a program as an ONNX model.
#include "onnx/export_onnx.h"

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "console.h"
#include "export/export.h"
#include "onnx/region.h"
#include "read_program.h"
#include "support/byte_text.h"
#include "support/counted.h"
#include "tensorrt/tensorrt_backend.h"
#include "tensorrt/trtexec.h"
#include "verbs.h"
#include "verdict.h"

namespace tenon::tools {
namespace {

constexpr Option kOptions[] = {
    {"--output", 'o', "FILE",
     "The .onnx to write; weights lie beside it in FILE.data. Required."},
    {"--region", 0, "N",
     "Only the region number N, from 0 on, of those into which 'tenon "
     "partition --backend tensorrt' cuts the program."},
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

Expected<onnx::Region> Cut(const CommandLine& line, const Program& program,
                           Diagnostics& diags) {
  std::string error;
  const auto number = line.GetCount(
      "--region", 0, std::numeric_limits<uint32_t>::max(), &error);
  if (!number) return diags.Error(Rule::kUsage) << error;
  Program cut = program.Clone();
  ExportOptions options;
  options.backends.emplace_back().backend = &GetTensorrtBackend();
  options.stop_after = "outline";
  if (!ExportProgram(&cut, options, diags)) return Failure{};
  const std::vector<NodeId> calls = onnx::RegionCalls(cut);
  if (*number >= calls.size()) {
    return diags.Error(Rule::kUsage)
           << "there is no region " << *number << ": backend tensorrt takes "
           << Count(calls.size(), "region") << " of the program";
  }
  return onnx::ExtractRegion(cut, calls[*number]);
}

ExitCode Run(const CommandLine& line, Console& console) {
  if (!line.Has("--output")) {
    return FailUsage("option --output is missing: where to write", console);
  }
  Diagnostics diags;
  ReadOptions read;
  read.limits = line.read_limits();
  read.method = line.Get("--method");
  Expected<LoadedProgram> loaded = ReadProgram(
      line.arguments()[0], std::make_shared<Context>(), read, diags);
  if (!loaded) return Finish(diags, console);
  onnx::Region region{std::move(loaded->program), {}};
  if (line.Has("--region")) {
    auto cut = Cut(line, region.program, diags);
    if (!cut) return Finish(diags, console);
    region = std::move(*cut);
  }
  onnx::TranslateOptions options;
  options.widen_bfloat16 = line.Has("--widen-bfloat16");
  const std::string output = line.Get("--output");
  const auto report =
      ExportOnnx(region.program, region.known, output, options, diags);
  if (report) {
    console.Out(ReportText(*report) + "engine: " +
                tensorrt::TrtexecLine(region.program, report->model, output,
                                      output + ".engine") +
                "\n");
  }
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
    "source, and nothing is written. The command that makes a TensorRT engine "
    "of the file is printed, with the sizes that the program allows.",
    "tenon export-onnx model.pt2 -o model.onnx\n"
    "tenon export-onnx model.pt2 --region 0 -o region_0.onnx\n",
    kOptions,
    Run};

}  // namespace tenon::tools
