// Regions as payloads of ExecuTorch's CUDA delegate, for .pte files
// (docs/formats/pte.md).
//
// The delegate loads a library with AOTInductor's container functions. One
// fixed library, libtenon_delegate.so (cuda/), serves every region: the region
// itself, constants included, is the blob of weights that the library is
// handed.
#pragma once

#include "backends/backend.h"
#include "device_delegates/region_block.h"

namespace tenon {

// Takes what backend `reference` takes, of the dtypes that the delegate has.
class CudaBackend : public Backend {
 public:
  // `library` must outlive the backend and what it compiles.
  CudaBackend(Bytes library, DeviceTarget target)
      : library_(library), target_(std::move(target)) {}

  std::string_view name() const override { return "cuda"; }
  std::optional<Refusal> Refuses(const Program& program,
                                 NodeId node) const override;
  ScalarBoundary scalar_boundary() const override {
    return ScalarBoundary::kNone;
  }
  // The payload names its two data, library and blob, by the region's digest.
  Expected<CompiledRegion> Compile(const Program& region,
                                   const BackendOptions& options,
                                   Diagnostics& diags) const override;
  // Always an error: these payloads run in ExecuTorch.
  Expected<std::unique_ptr<Executable>> Load(Bytes payload,
                                             std::shared_ptr<const void> owner,
                                             const BackendOptions& options,
                                             Diagnostics& diags) const override;

 private:
  const Bytes library_;
  const DeviceTarget target_;
};

}  // namespace tenon
