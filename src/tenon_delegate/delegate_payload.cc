#include "tenon_delegate/delegate_payload.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "support/checked.h"

namespace tenon {
namespace {

constexpr std::string_view kMagic = "tenon-delegate 1\n";
constexpr std::string_view kOutputs = "outputs ";
constexpr std::string_view kConstant = "constant ";
constexpr size_t kMaxRank = 64;

// Up to `end`, which is dropped; nothing when there is none.
std::optional<std::string_view> Take(std::string_view* text, char end) {
  const size_t at = text->find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view out = text->substr(0, at);
  text->remove_prefix(at + 1);
  return out;
}

template <typename T>
bool ReadNumber(std::string_view text, T* out) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *out);
  return error == std::errc() && rest == end;
}

bool ReadSizes(std::string_view text, Sizes* out) {
  if (text == "-") return true;
  int64_t count = 1;
  while (true) {
    const size_t comma = text.find(',');
    int64_t size = 0;
    if (!ReadNumber(text.substr(0, comma), &size) || size < 0) return false;
    const auto product = CheckedMul(count, size);
    if (!product || out->size() == kMaxRank) return false;
    count = *product;
    out->push_back(size);
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

bool ReadConstant(std::string_view line, DelegateConstant* out) {
  const auto input = Take(&line, ' ');
  const auto dtype = Take(&line, ' ');
  const auto sizes = Take(&line, ' ');
  if (!sizes || !ReadNumber(*input, &out->input) ||
      !ReadSizes(*sizes, &out->sizes) || line.empty()) {
    return false;
  }
  const auto known = FindDType(*dtype);
  if (!known || SizeBytes(*known) == 0) return false;
  out->dtype = *known;
  out->key = line;
  return true;
}

}  // namespace

std::vector<std::byte> WriteDelegatePayload(const DelegatePayload& payload) {
  std::string head(kMagic);
  head += std::string(kOutputs) + std::to_string(payload.num_outputs) + "\n";
  for (const DelegateConstant& c : payload.constants) {
    std::string sizes;
    for (const int64_t size : c.sizes) {
      sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
    }
    head += std::string(kConstant) + std::to_string(c.input) + " " +
            std::string(Name(c.dtype)) + " " + (sizes.empty() ? "-" : sizes) +
            " " + c.key + "\n";
  }
  head += "\n";
  const Bytes bytes = AsBytes(head);
  std::vector<std::byte> out(bytes.begin(), bytes.end());
  out.insert(out.end(), payload.region.begin(), payload.region.end());
  return out;
}

Expected<DelegatePayload> ReadDelegatePayload(Bytes bytes, Diagnostics& diags) {
  const Place place = Place::File("payload of backend tenon");
  std::string_view text = AsText(bytes);
  DelegatePayload out;
  bool is_right = text.starts_with(kMagic);
  if (is_right) {
    text.remove_prefix(kMagic.size());
    const auto line = Take(&text, '\n');
    is_right = line && line->starts_with(kOutputs) &&
               ReadNumber(line->substr(kOutputs.size()), &out.num_outputs);
  }
  while (is_right) {
    auto line = Take(&text, '\n');
    is_right = line.has_value();
    if (!is_right || line->empty()) break;
    is_right = line->starts_with(kConstant);
    if (!is_right) break;
    line->remove_prefix(kConstant.size());
    DelegateConstant constant;
    is_right =
        ReadConstant(*line, &constant) &&
        (out.constants.empty() || out.constants.back().input < constant.input);
    out.constants.push_back(std::move(constant));
  }
  if (!is_right) {
    return diags.Error(Rule::kText, place)
           << "no count of outputs and lines of constants, then a region";
  }
  out.region = AsBytes(text);
  return out;
}

}  // namespace tenon
