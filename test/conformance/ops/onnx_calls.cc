#include "conformance/ops/onnx_calls.h"

#include <fstream>

#include "formats/tensor/safetensors.h"
#include "onnx/export_onnx.h"

namespace tenon {
namespace {

bool AddArray(const std::string& name, const Tensor& tensor,
              Safetensors* arrays) {
  if (!HasSafetensorsName(tensor.dtype())) return false;
  arrays->tensors.push_back({name, tensor.Clone().Contiguous()});
  return true;
}

}  // namespace

OnnxCalls::~OnnxCalls() {
  for (const auto& [op, models] : models_) {
    std::ofstream out(folder_ / (op + ".json"));
    out << "{\"models\": [";
    for (size_t i = 0; i < models.size(); ++i) {
      out << (i == 0 ? "\n" : ",\n") << models[i];
    }
    out << "]}\n";
  }
}

std::string OnnxCalls::Add(const CallProgram& call,
                           const std::vector<RuntimeValue>& results,
                           double rtol, double atol) {
  const Program& program = call.program();
  const std::string op(program.op_name(program.graph(Program::kRoot).first));
  std::vector<std::string>& models = models_[op];
  const std::string name = op + "." + std::to_string(models.size());
  onnx::TranslateOptions options;
  options.widen_bfloat16 = true;
  Diagnostics diags;
  const auto report =
      ExportOnnx(program, {}, folder_ / (name + ".onnx"), options, diags);
  if (!report) {
    ++num_refused_;
    return diags.has_errors() ? "" : "as ONNX it fails without an error";
  }
  Safetensors in, want;
  bool ok = true;
  for (const onnx::Port& p : report->inputs) {
    ok = ok && AddArray(p.name, call.inputs()[*p.user], &in);
  }
  for (const onnx::Port& p : report->outputs) {
    if (p.user) ok = ok && AddArray(p.name, results[*p.user].tensor(), &want);
  }
  if (!ok) return "";
  if (!WriteSafetensors(folder_ / (name + ".in"), in, diags) ||
      !WriteSafetensors(folder_ / (name + ".want"), want, diags)) {
    return diags.FirstError();
  }
  models.push_back(
      "{\"onnx\": \"" + name +
      ".onnx\", \"what\": \"call\", \"rtol\": " + std::to_string(rtol) +
      ", \"atol\": " + std::to_string(atol) + ", \"runs\": [{\"in\": \"" +
      name + ".in\", \"want\": \"" + name + ".want\"}]}");
  return "";
}

}  // namespace tenon
