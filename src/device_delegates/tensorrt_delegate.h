// Regions as payloads of ExecuTorch's TensorRT delegate, for .pte files
// (docs/formats/tensorrt.md).
//
// Tenon builds no engines: a source hands them in, for each region's request.
// What comes back is checked against the region's boundary (D-2) before it
// becomes a payload.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "device_delegates/region_block.h"

namespace tenon {

// What an engine is asked for.
struct EngineRequest {
  std::string name;  // "region_0"
  // The region as a block (region_blob/region_blob.h), its program in text form
  // (kBlockProgram); its writes are those that the engine may do in place.
  // Input i of the block is binding "input_i", output j "output_j"; dimensions
  // are profile 0.
  Bytes block;
  // The region itself, and which of its inputs are constants: its ONNX model
  // (onnx/translate_program.h) has the same bindings.
  const Program& region;
  const std::vector<RegionConstant>& constants;
};

// The engine's bytes: a serialised plan with those bindings and no aliased
// output, or a container (formats/tensorrt/engine_container.h) around one,
// whose bindings are the region's boundary by position and whose aliases are
// among the writes.
using EngineSource = std::function<Expected<std::vector<std::byte>>(
    const EngineRequest& request, Diagnostics& diags)>;

class TensorrtDelegate : public Backend {
 public:
  TensorrtDelegate(EngineSource source, DeviceTarget target)
      : source_(std::move(source)), target_(std::move(target)) {}

  std::string_view name() const override { return "tensorrt"; }
  // Takes what TensorRT's parser does (tensorrt/capability.h), of dtypes that
  // the delegate passes on.
  std::optional<Refusal> Refuses(const Program& program,
                                 NodeId node) const override;
  // No shape tensors: numbers don't cross.
  ScalarBoundary scalar_boundary() const override {
    return ScalarBoundary::kNone;
  }
  // TRT-02, TRT-03, TRT-04 for an engine that isn't the region's.
  Expected<CompiledRegion> Compile(const Program& region,
                                   const BackendOptions& options,
                                   Diagnostics& diags) const override;
  // Always an error: these payloads run in ExecuTorch.
  Expected<std::unique_ptr<Executable>> Load(Bytes payload,
                                             std::shared_ptr<const void> owner,
                                             const BackendOptions& options,
                                             Diagnostics& diags) const override;

 private:
  const EngineSource source_;
  const DeviceTarget target_;
};

}  // namespace tenon
