#include "backends/region_payload.h"

#include <memory>
#include <string>

#include "text/text.h"
#include "verify/verify.h"

namespace tenon {
namespace {

constexpr std::string_view kMagic = "tenon-region 1 ";

std::string HeaderLine(std::string_view backend) {
  return std::string(kMagic) + std::string(backend) + "\n";
}

std::string Excerpt(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) {
    if (c == '\n') break;
    out += c >= ' ' && c <= '~' ? c : '?';
  }
  return out;
}

// A region's text names no payloads outside itself.
std::pair<Bytes, std::shared_ptr<const void>> NoPayload(const Digest&) {
  return {};
}

}  // namespace

std::vector<std::byte> WriteRegionPayload(std::string_view backend,
                                          const Program& region) {
  PrintOptions options;
  options.metadata = false;
  options.state_bytes = false;
  const std::string text = HeaderLine(backend) + PrintProgram(region, options);
  const Bytes bytes = AsBytes(text);
  return {bytes.begin(), bytes.end()};
}

Expected<Program> ReadRegionPayload(std::string_view backend, Bytes payload,
                                    Diagnostics& diags) {
  const std::string_view text = AsText(payload);
  const std::string header = HeaderLine(backend);
  const Place place = Place::File("payload of backend " + std::string(backend));
  if (!text.starts_with(header)) {
    return diags.Error(Rule::kText, place)
           << "payload starts with '" << Excerpt(text) << "', expected '"
           << header.substr(0, header.size() - 1) << "'";
  }
  TENON_ASSIGN(Program region,
               ParseProgram(text.substr(header.size()), place.file,
                            std::make_shared<Context>(), NoPayload, diags));
  if (!region.state.entries.empty()) {
    return diags.Error(Rule::kText, place)
           << "a region has no state of its own, found "
           << region.state.entries.size() << " entries";
  }
  TENON_TRY(Verify(region, VerifyOptions{}, diags));
  return region;
}

Status CheckRegionInputs(const Program& region,
                         std::span<const RuntimeValue> inputs,
                         Diagnostics& diags) {
  const std::vector<ValueId>& declared = region.root().inputs;
  if (inputs.size() != declared.size()) {
    return diags.Error(Rule::kUnsupported)
           << "region '" << region.name << "' takes " << declared.size()
           << " inputs, got " << inputs.size();
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Type& type = region.type(declared[i]);
    if (!type.is_tensor()) continue;
    if (!inputs[i].is_tensor() || !inputs[i].tensor().defined()) {
      return diags.Error(Rule::kUnsupported)
             << "region '" << region.name << "': input " << i
             << " must be a tensor";
    }
    const Tensor& tensor = inputs[i].tensor();
    if (tensor.dim() != type.rank()) {
      return diags.Error(Rule::kUnsupported)
             << "region '" << region.name << "': input " << i << " is "
             << tensor.ToString() << ", expected " << Name(type.dtype)
             << " of rank " << type.rank();
    }
    if (!tensor.FitsStorage()) {
      return diags.Error(Rule::kUnsupported)
             << "region '" << region.name << "': input " << i
             << " reaches outside its storage";
    }
  }
  return {};
}

bool HaveStatedDtypes(const Program& region,
                      std::span<const RuntimeValue> inputs) {
  const std::vector<ValueId>& declared = region.root().inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Type& type = region.type(declared[i]);
    if (type.is_tensor() && inputs[i].tensor().dtype() != type.dtype) {
      return false;
    }
  }
  return true;
}

}  // namespace tenon
