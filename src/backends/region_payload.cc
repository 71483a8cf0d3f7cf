#include "backends/region_payload.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <set>
#include <string>

#include "text/text.h"
#include "verify/verify.h"

namespace tenon {
namespace {

constexpr std::string_view kMagic = "tenon-region 1 ";

constexpr std::string_view kReplaces = " replaces";

std::string Header(std::string_view backend) {
  return std::string(kMagic) + std::string(backend);
}

// A number from `*text`, and `end` after it.
bool TakeNumber(std::string_view* text, char end, uint32_t* out) {
  const auto [rest, error] =
      std::from_chars(text->data(), text->data() + text->size(), *out);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(rest - text->data()));
  if (end == '\0') return true;
  if (text->empty() || text->front() != end) return false;
  text->remove_prefix(1);
  return true;
}

// " 0:2 3:1".
bool TakeReplaced(std::string_view text, std::vector<DeclaredWrite>* out) {
  while (!text.empty()) {
    DeclaredWrite write;
    if (text.front() != ' ') return false;
    text.remove_prefix(1);
    if (!TakeNumber(&text, ':', &write.input) ||
        !TakeNumber(&text, '\0', &write.output)) {
      return false;
    }
    out->push_back(write);
  }
  return true;
}

bool IsReplaceable(const Program& region, const DeclaredWrite& write) {
  const auto& inputs = region.root().inputs;
  const auto outputs = region.outputs(Program::kRoot);
  if (write.input >= inputs.size() || write.output >= outputs.size() ||
      !outputs[write.output].is_value()) {
    return false;
  }
  const Type& input = region.type(inputs[write.input]);
  const Type& output = region.type(outputs[write.output].value());
  return input.is_tensor() && output.is_tensor() &&
         input.dtype == output.dtype && input.rank() == output.rank();
}

// Whether each of them can be, and nothing is replaced twice.
bool AreReplaceable(const Program& region,
                    std::span<const DeclaredWrite> writes) {
  std::set<uint32_t> inputs, outputs;
  return std::all_of(writes.begin(), writes.end(),
                     [&](const DeclaredWrite& write) {
                       return IsReplaceable(region, write) &&
                              inputs.insert(write.input).second &&
                              outputs.insert(write.output).second;
                     });
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

std::vector<std::byte> WriteRegionPayload(
    std::string_view backend, const Program& region,
    std::span<const DeclaredWrite> replaced) {
  PrintOptions options;
  options.metadata = false;
  options.state_bytes = false;
  std::string text = Header(backend);
  if (!replaced.empty()) text += kReplaces;
  for (const DeclaredWrite& write : replaced) {
    text +=
        ' ' + std::to_string(write.input) + ':' + std::to_string(write.output);
  }
  text += '\n' + PrintProgram(region, options);
  const Bytes bytes = AsBytes(text);
  return {bytes.begin(), bytes.end()};
}

Expected<Program> ReadRegionPayload(std::string_view backend, Bytes payload,
                                    Diagnostics& diags,
                                    std::vector<DeclaredWrite>* replaced) {
  const std::string_view text = AsText(payload);
  const std::string header = Header(backend);
  const Place place = Place::File("payload of backend " + std::string(backend));
  const size_t end = text.find('\n');
  std::string_view rest = text.substr(0, end);
  std::vector<DeclaredWrite> writes;
  bool is_right = end != std::string_view::npos && rest.starts_with(header);
  if (is_right) rest.remove_prefix(header.size());
  if (is_right && rest.starts_with(kReplaces)) {
    rest.remove_prefix(kReplaces.size());
    is_right =
        TakeReplaced(rest, &writes) && !writes.empty() && replaced != nullptr;
  } else {
    is_right = is_right && rest.empty();
  }
  if (!is_right) {
    return diags.Error(Rule::kText, place)
           << "payload starts with '" << Excerpt(text) << "', expected '"
           << header << "'";
  }
  TENON_ASSIGN(Program region,
               ParseProgram(text.substr(end + 1), place.file,
                            std::make_shared<Context>(), NoPayload, diags));
  if (!region.state.entries.empty()) {
    return diags.Error(Rule::kText, place)
           << "a region has no state of its own, found "
           << region.state.entries.size() << " entries";
  }
  TENON_TRY(Verify(region, VerifyOptions{}, diags));
  if (!AreReplaceable(region, writes)) {
    return diags.Error(Rule::kText, place)
           << "an input is replaced by what can't replace it";
  }
  if (replaced != nullptr) *replaced = std::move(writes);
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
