#include "conformance/onnx/recording_backend.h"

#include <cstring>
#include <memory>

#include "conformance/pt2/flat_call.h"
#include "onnx/export_onnx.h"
#include "tensorrt/tensorrt_backend.h"

namespace tenon::conformance {
namespace {

const Backend& Reference() { return *FindBackend("reference"); }

class Recorder : public Executable {
 public:
  Recorder(std::unique_ptr<Executable> inner, RecordedRegion* region)
      : inner_(std::move(inner)), region_(*region) {}

  Expected<std::vector<RuntimeValue>> Run(std::span<const RuntimeValue> inputs,
                                          Diagnostics& diags) override {
    RecordedRegion::Call call;
    Keep(inputs, region_.inputs, &call.in);
    auto outputs = inner_->Run(inputs, diags);
    if (outputs) Keep(*outputs, region_.outputs, &call.want);
    region_.calls.push_back(std::move(call));
    return outputs;
  }

 private:
  static void Keep(std::span<const RuntimeValue> values,
                   const std::vector<onnx::Port>& ports, Safetensors* out) {
    for (const onnx::Port& p : ports) {
      Tensor array = AsArray(values[*p.user]);
      if (array.defined()) out->tensors.push_back({p.name, std::move(array)});
    }
  }

  const std::unique_ptr<Executable> inner_;
  RecordedRegion& region_;
};

}  // namespace

std::optional<Refusal> RecordingBackend::Refuses(const Program& program,
                                                 NodeId node) const {
  if (auto refusal = GetTensorrtBackend().Refuses(program, node)) {
    return refusal;
  }
  return Reference().Refuses(program, node);
}

// The payload: the region's number, 4 bytes, then the reference's own.
Expected<CompiledRegion> RecordingBackend::Compile(
    const Program& region, const BackendOptions& options,
    Diagnostics& diags) const {
  RecordedRegion recorded;
  const auto number = static_cast<uint32_t>(regions_.size());
  const std::string path = prefix_.string() + std::to_string(number);
  recorded.name = std::filesystem::path(path).filename();
  if (region.outputs(Program::kRoot).empty()) {
    return diags.Error(Rule::kUnsupported) << "nobody reads what it computes";
  }
  onnx::TranslateOptions onnx_options;
  onnx_options.widen_bfloat16 = true;
  Diagnostics reasons;
  const auto report =
      ExportOnnx(region, {}, path + ".onnx", onnx_options, reasons);
  if (!report) {
    failures_.push_back(reasons.FirstError());
    return diags.Error(Rule::kUnsupported) << reasons.FirstError();
  }
  recorded.inputs = report->inputs;
  recorded.outputs = report->outputs;
  TENON_ASSIGN(CompiledRegion compiled,
               Reference().Compile(region, options, diags));
  std::byte head[sizeof(number)];
  std::memcpy(head, &number, sizeof(number));
  compiled.payload.insert(compiled.payload.begin(), std::begin(head),
                          std::end(head));
  regions_.push_back(std::move(recorded));
  return compiled;
}

Expected<std::unique_ptr<Executable>> RecordingBackend::Load(
    Bytes payload, std::shared_ptr<const void> owner,
    const BackendOptions& options, Diagnostics& diags) const {
  uint32_t number = 0;
  std::memcpy(&number, payload.data(), sizeof(number));
  TENON_ASSIGN(std::unique_ptr<Executable> inner,
               Reference().Load(payload.subspan(sizeof(number)),
                                std::move(owner), options, diags));
  return std::unique_ptr<Executable>(
      std::make_unique<Recorder>(std::move(inner), &regions_[number]));
}

}  // namespace tenon::conformance
