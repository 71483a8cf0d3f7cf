#include "formats/pte/delegate_boundary.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "formats/tensorrt/engine_container.h"
#include "region_blob/region_blob.h"

namespace tenon::pte {
namespace {

std::optional<PteScalarType> TypeOf(DType dtype) {
  const int32_t number = ScalarTypeNumber(dtype);
  if (number < 0) return std::nullopt;
  return static_cast<PteScalarType>(number);
}

DelegateBinding BindingOf(const EngineBinding& binding) {
  DelegateBinding out;
  out.name = binding.name;
  const auto dtype = FindDType(binding.dtype);
  if (dtype) out.type = TypeOf(*dtype);
  out.has_sizes = !binding.shape.empty();
  out.min = out.max = binding.shape;
  return out;
}

DelegateBinding BindingOf(const BoundaryTensor& tensor) {
  DelegateBinding out;
  out.type = TypeOf(tensor.dtype);
  out.has_sizes = true;
  out.min = tensor.min;
  out.max = tensor.max;
  return out;
}

uint32_t PositionOf(const std::vector<EngineBinding>& list,
                    std::string_view name) {
  const auto at =
      std::find_if(list.begin(), list.end(),
                   [&](const EngineBinding& b) { return b.name == name; });
  return static_cast<uint32_t>(at - list.begin());
}

Expected<std::optional<DelegateBoundary>> OfTensorRt(Bytes payload,
                                                     const Place& place,
                                                     Diagnostics& diags) {
  TENON_ASSIGN(const EngineContainer container,
               ReadEngineContainer(payload, place, diags));
  DelegateBoundary out;
  for (const EngineBinding& b : container.inputs) {
    out.inputs.push_back(BindingOf(b));
  }
  for (const EngineBinding& b : container.outputs) {
    out.outputs.push_back(BindingOf(b));
  }
  for (const EngineAlias& alias : container.aliases) {
    out.writes.push_back({PositionOf(container.inputs, alias.input),
                          PositionOf(container.outputs, alias.output),
                          alias.kind});
  }
  return std::optional(std::move(out));
}

const PteSegment* FindData(const PteProgram& program, std::string_view key) {
  const auto at =
      std::find_if(program.named_data.begin(), program.named_data.end(),
                   [&](const PteNamedData& data) { return data.key == key; });
  if (at == program.named_data.end() || at->segment >= program.segments.size())
    return nullptr;
  return &program.segments[at->segment];
}

Expected<std::optional<DelegateBoundary>> OfCuda(const PteProgram& program,
                                                 Bytes payload,
                                                 const Place& place,
                                                 Diagnostics& diags) {
  // "LIBRARY KEY\nWEIGHTS KEY"; older files leave it out and go by the method.
  const std::string_view text = AsText(payload);
  if (text.empty()) return std::optional<DelegateBoundary>();
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) {
    return diags.Error(Rule::kPte29, place)
           << "the payload doesn't name library and weights";
  }
  if (FindData(program, text.substr(0, end)) == nullptr) {
    return diags.Error(Rule::kPte29, place)
           << "the payload asks for data '" << text.substr(0, end)
           << "', which the file doesn't have";
  }
  // Weights may lie in a data file.
  const PteSegment* const block = FindData(program, text.substr(end + 1));
  if (block == nullptr || !AsText(block->bytes).starts_with("TENONRGN")) {
    return std::optional<DelegateBoundary>();
  }
  TENON_ASSIGN(const RegionBlob blob, ReadRegionBlob(block->bytes, diags));
  DelegateBoundary out;
  out.takes_device_tensors_only = true;
  for (const BoundaryTensor& t : blob.inputs)
    out.inputs.push_back(BindingOf(t));
  for (const BoundaryTensor& t : blob.outputs) {
    out.outputs.push_back(BindingOf(t));
  }
  out.writes = blob.writes;
  return std::optional(std::move(out));
}

std::string SizesText(const DelegateBinding& binding) {
  if (!binding.has_sizes) return "";
  std::string out = "[";
  for (size_t d = 0; d < binding.max.size(); ++d) {
    if (d > 0) out += ", ";
    if (binding.max[d] < 0) {
      out += "?";
    } else if (binding.min[d] == binding.max[d]) {
      out += std::to_string(binding.max[d]);
    } else {
      out += std::to_string(binding.min[d]) + ".." +
             std::to_string(binding.max[d]);
    }
  }
  return out + "]";
}

std::string BindingText(const char* what, size_t i,
                        const DelegateBinding& binding) {
  std::string out = what + (" " + std::to_string(i));
  if (!binding.name.empty()) out += " '" + binding.name + "'";
  if (!binding.type && !binding.has_sizes) return out;
  out += ": ";
  if (binding.type) out += Name(*binding.type);
  return out + SizesText(binding);
}

}  // namespace

Bytes PayloadOf(const PteProgram& program, const PteDelegate& delegate) {
  const uint32_t i = delegate.payload.index;
  if (delegate.payload.place == PtePayloadPlace::kSegment) {
    return i < program.segments.size() ? program.segments[i].bytes : Bytes();
  }
  return i < program.inline_payloads.size()
             ? program.inline_payloads[i].data.bytes
             : Bytes();
}

Expected<std::optional<DelegateBoundary>> ReadDelegateBoundary(
    const PteProgram& program, const PteDelegate& delegate, const Place& place,
    Diagnostics& diags) {
  const Bytes payload = PayloadOf(program, delegate);
  if (delegate.backend == "TensorRTBackend") {
    return OfTensorRt(payload, place, diags);
  }
  if (delegate.backend == "CudaBackend") {
    return OfCuda(program, payload, place, diags);
  }
  return std::optional<DelegateBoundary>();
}

std::vector<std::string> BoundaryLines(const PteProgram& program,
                                       const PteDelegate& delegate) {
  Diagnostics unused;
  const auto boundary = ReadDelegateBoundary(program, delegate, {}, unused);
  std::vector<std::string> out;
  if (!boundary || !*boundary) return out;
  const DelegateBoundary& b = **boundary;
  for (size_t i = 0; i < b.inputs.size(); ++i) {
    out.push_back(BindingText("input", i, b.inputs[i]));
  }
  for (size_t j = 0; j < b.outputs.size(); ++j) {
    out.push_back(BindingText("output", j, b.outputs[j]));
    for (const DeclaredWrite& write : b.writes) {
      if (write.output != j) continue;
      out.back() += ", is input " + std::to_string(write.input) + " (" +
                    std::string(AliasKindName(write.kind)) + ")";
    }
  }
  return out;
}

}  // namespace tenon::pte
