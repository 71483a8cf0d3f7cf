#include "tensorrt/tensorrt_backend.h"

#include "onnx/translate_program.h"
#include "tensorrt/capability.h"
#include "tensorrt/trtexec.h"

namespace tenon {

std::optional<Refusal> TensorrtBackend::Refuses(const Program& program,
                                                NodeId node) const {
  return tensorrt::WhyRefused(program, node);
}

Expected<CompiledRegion> TensorrtBackend::Compile(const Program& region,
                                                  const BackendOptions& options,
                                                  Diagnostics& diags) const {
  std::vector<onnx::KnownInput> known;
  for (const RegionConstant& c : options.constants) {
    known.push_back({c.input, c.tensor});
  }
  TENON_ASSIGN(
      const onnx::Translated translated,
      onnx::TranslateProgram(region, known, onnx::TranslateOptions(), diags));
  if (const auto why = tensorrt::WhyRefused(translated.model)) {
    return diags.Error(Rule::kUnsupported)
           << "backend tensorrt does not take the region: " << Name(why->reason)
           << ", " << why->detail;
  }
  return diags.Error(Rule::kUnsupported)
         << "backend tensorrt has no engine for the region: write it with "
            "'tenon export-onnx --region', then "
         << tensorrt::TrtexecLine(region, translated.model, "region.onnx",
                                  "region.engine");
}

Expected<std::unique_ptr<Executable>> TensorrtBackend::Load(
    Bytes, std::shared_ptr<const void>, const BackendOptions&,
    Diagnostics& diags) const {
  return diags.Error(Rule::kUnsupported)
         << "engines of backend tensorrt run in TensorRT, on a GPU";
}

const Backend& GetTensorrtBackend() {
  static const TensorrtBackend backend;
  return backend;
}

}  // namespace tenon
