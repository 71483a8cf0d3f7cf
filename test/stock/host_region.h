// Runs a region's block over device memory, with Tenon's own executors.
//
// What the double of TensorRT and the executor behind libtenon_delegate.so have
// in common.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "region_blob/region_blob.h"

namespace tenon::stock {

struct DeviceTensor {
  void* data = nullptr;        // a device address
  std::vector<int64_t> sizes;  // of outputs: those of the result, afterwards
};

class HostRegion {
 public:
  // Null, with `error` set, when the bytes are no block, or of a program that
  // can't be run.
  static std::unique_ptr<HostRegion> Load(Bytes block, std::string* error);

  const RegionBlob& blob() const { return blob_; }

  // Sizes within the boundary's. Results are written to `outputs`, whose
  // memory must hold them; one that replaces an input may lie there.
  bool Run(const std::vector<DeviceTensor>& inputs,
           std::vector<DeviceTensor>* outputs, std::string* error);

  // The sizes of the results for inputs of these sizes.
  bool InferSizes(const std::vector<std::vector<int64_t>>& inputs,
                  std::vector<std::vector<int64_t>>* outputs,
                  std::string* error);

 private:
  HostRegion() = default;
  // Of the region's own inputs: constants in their places.
  std::vector<RuntimeValue> WithConstants(std::vector<Tensor> passed) const;

  std::vector<std::byte> block_;
  RegionBlob blob_;  // of block_
  std::unique_ptr<Executable> program_;
};

}  // namespace tenon::stock
