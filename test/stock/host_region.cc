#include "host_region.h"

#include <cstring>
#include <utility>

#include "backends/region_payload.h"
#include "device_delegates/region_block.h"
#include "host_cuda.h"
#include "support/checked.h"

namespace tenon::stock {
namespace {

// -1 when the bytes don't fit 63 bits.
int64_t BytesOf(DType dtype, const std::vector<int64_t>& sizes) {
  int64_t bytes = static_cast<int64_t>(SizeBytes(dtype));
  for (const int64_t size : sizes) {
    const auto product = CheckedMul(bytes, size);
    if (!product) return -1;
    bytes = *product;
  }
  return bytes;
}

// Positions among the region's inputs, from those that calls pass.
uint32_t RegionInput(const RegionBlob& blob, uint32_t passed) {
  uint32_t at = 0;
  for (uint32_t i = 0;; ++i) {
    bool is_constant = false;
    for (const BlobConstant& c : blob.constants) is_constant |= c.input == i;
    if (!is_constant && at++ == passed) return i;
  }
}

// By backend cpu, in place where the block says so; what it doesn't take is
// interpreted.
Expected<std::unique_ptr<Executable>> Compile(const RegionBlob& blob,
                                              Diagnostics& diags) {
  TENON_ASSIGN(const Program region,
               ReadRegionPayload(kBlockProgram, blob.program, diags));
  BackendOptions options;
  for (const DeclaredWrite& write : blob.writes) {
    options.replaceable.push_back(
        {RegionInput(blob, write.input), write.output});
  }
  Diagnostics refusal;
  const Backend* backend = FindBackend("cpu");
  auto compiled = backend->Compile(region, options, refusal);
  if (!compiled) {
    backend = FindBackend("reference");
    compiled = backend->Compile(region, BackendOptions(), diags);
  }
  if (!compiled) return Failure{};
  return backend->Load(compiled->payload, nullptr, BackendOptions(), diags);
}

}  // namespace

std::unique_ptr<HostRegion> HostRegion::Load(Bytes block, std::string* error) {
  std::unique_ptr<HostRegion> out(new HostRegion);
  out->block_.assign(block.begin(), block.end());
  Diagnostics diags;
  auto blob = ReadRegionBlob(out->block_, diags);
  if (!blob) {
    *error = diags.FirstError();
    return nullptr;
  }
  out->blob_ = std::move(*blob);
  auto program = Compile(out->blob_, diags);
  if (!program) {
    *error = diags.FirstError();
    return nullptr;
  }
  out->program_ = std::move(*program);
  return out;
}

std::vector<RuntimeValue> HostRegion::WithConstants(
    std::vector<Tensor> passed) const {
  std::vector<RuntimeValue> out;
  const auto add_constants = [&] {
    for (const BlobConstant& c : blob_.constants) {
      if (c.input != out.size()) continue;
      const Sizes sizes(c.sizes.begin(), c.sizes.end());
      out.emplace_back(Tensor(Storage::BorrowConst(c.bytes, nullptr), c.dtype,
                              sizes, ContiguousStrides(sizes), 0));
    }
  };
  for (Tensor& tensor : passed) {
    add_constants();
    out.emplace_back(std::move(tensor));
  }
  add_constants();
  return out;
}

bool HostRegion::Run(const std::vector<DeviceTensor>& inputs,
                     std::vector<DeviceTensor>* outputs, std::string* error) {
  std::vector<Tensor> passed;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const DType dtype = blob_.inputs[i].dtype;
    const int64_t bytes = BytesOf(dtype, inputs[i].sizes);
    void* const data =
        bytes < 0
            ? nullptr
            : tenon_host_cuda_bytes(inputs[i].data, static_cast<size_t>(bytes));
    if (data == nullptr && bytes != 0) {
      *error = "input " + std::to_string(i) + " isn't in device memory";
      return false;
    }
    const Sizes sizes(inputs[i].sizes.begin(), inputs[i].sizes.end());
    passed.emplace_back(
        Storage::Borrow(data, static_cast<size_t>(bytes), nullptr), dtype,
        sizes, ContiguousStrides(sizes), 0);
  }
  const auto values = WithConstants(std::move(passed));
  Diagnostics diags;
  auto results = program_->Run(values, diags);
  if (!results) {
    *error = diags.FirstError();
    return false;
  }
  for (size_t j = 0; j < outputs->size(); ++j) {
    DeviceTensor& output = (*outputs)[j];
    const Tensor& result = (*results)[j].tensor();
    output.sizes.assign(result.sizes().begin(), result.sizes().end());
    const int64_t bytes = BytesOf(result.dtype(), output.sizes);
    void* const data =
        tenon_host_cuda_bytes(output.data, static_cast<size_t>(bytes));
    if (result.dtype() != blob_.outputs[j].dtype ||
        (data == nullptr && bytes != 0)) {
      *error = "output " + std::to_string(j) + " has no room in device memory";
      return false;
    }
    const Tensor dense = result.Contiguous();
    if (bytes > 0 && dense.raw() != static_cast<const std::byte*>(data)) {
      std::memmove(data, dense.raw(), static_cast<size_t>(bytes));
    }
  }
  return true;
}

bool HostRegion::InferSizes(const std::vector<std::vector<int64_t>>& inputs,
                            std::vector<std::vector<int64_t>>* outputs,
                            std::string* error) {
  // Sizes depend on sizes alone: zeros do.
  std::vector<Tensor> passed;
  for (size_t i = 0; i < inputs.size(); ++i) {
    passed.push_back(Tensor::Zeros(blob_.inputs[i].dtype,
                                   Sizes(inputs[i].begin(), inputs[i].end())));
  }
  Diagnostics diags;
  const auto values = WithConstants(std::move(passed));
  auto results = program_->Run(values, diags);
  if (!results) {
    *error = diags.FirstError();
    return false;
  }
  for (const RuntimeValue& result : *results) {
    const Sizes& sizes = result.tensor().sizes();
    outputs->emplace_back(sizes.begin(), sizes.end());
  }
  return true;
}

}  // namespace tenon::stock
