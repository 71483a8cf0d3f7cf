#include "onnx/export_onnx.h"

#include <algorithm>
#include <utility>

#include "formats/onnx/onnx.h"
#include "support/atomic_file.h"

namespace tenon {
namespace {

Status WriteData(const onnx::Translated& translated, const std::string& path,
                 AtomicFile* file, Diagnostics& diags) {
  bool ok = file->Open(path);
  for (const onnx::DataPiece& piece : translated.data) {
    if (!ok) break;
    const std::string gap(piece.offset - file->offset(), '\0');
    ok = file->Write(AsBytes(gap)) && file->Write(piece.bytes);
  }
  if (ok) return {};
  return diags.Error(Rule::kIo) << file->error();
}

}  // namespace

Expected<OnnxExportReport> ExportOnnx(
    const Program& program, const std::vector<onnx::KnownInput>& known,
    const std::string& path, const onnx::TranslateOptions& options,
    Diagnostics& diags) {
  onnx::TranslateOptions named = options;
  const std::string data_path = path + ".data";
  named.data_name = data_path.substr(data_path.rfind('/') + 1);
  TENON_ASSIGN(onnx::Translated translated,
               onnx::TranslateProgram(program, known, named, diags));
  const std::string bytes = onnx::WriteModel(translated.model);
  if (bytes.size() > onnx::kMaxModelBytes) {
    return diags.Error(Rule::kUnsupported)
           << "the model without its weights has " << bytes.size()
           << " bytes, and ONNX files end at " << onnx::kMaxModelBytes;
  }
  AtomicFile data, model;
  const bool has_data = !translated.data.empty();
  if (has_data) TENON_TRY(WriteData(translated, data_path, &data, diags));
  if (!model.Open(path) || !model.Write(AsBytes(bytes)) || !model.Flush()) {
    return diags.Error(Rule::kIo) << model.error();
  }
  if (has_data && !data.Commit()) {
    return diags.Error(Rule::kIo) << data.error();
  }
  if (!model.Commit()) return diags.Error(Rule::kIo) << model.error();

  OnnxExportReport report;
  report.opset = translated.model.opset;
  report.num_nodes = translated.model.graph.nodes.size();
  report.model_bytes = bytes.size();
  report.data_bytes = translated.data_bytes;
  if (has_data) report.data_path = data_path;
  report.inputs = translated.inputs;
  report.outputs = translated.outputs;
  report.notes = translated.notes;
  report.model = std::move(translated.model);
  return report;
}

}  // namespace tenon
