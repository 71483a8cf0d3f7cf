#include "pte_constant.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "formats/tensor/npy.h"
#include "formats/tensor/safetensors.h"

namespace tenon::tools {
namespace {

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

template <typename T>
std::optional<T> Number(std::string_view text) {
  T value{};
  const auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

// The first item, which ends at a comma outside of quotes.
std::string_view TakeItem(std::string_view* text) {
  bool is_quoted = false;
  size_t end = 0;
  for (; end < text->size(); ++end) {
    const char c = (*text)[end];
    if (c == '"') is_quoted = !is_quoted;
    if (c == ',' && !is_quoted) break;
  }
  const std::string_view item = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return Trimmed(item);
}

Status AddFile(const std::string& path, std::vector<PteConstant>* out,
               Diagnostics& diags) {
  if (path.ends_with(".npy")) {
    TENON_ASSIGN(Tensor tensor, OpenNpy(path, diags));
    out->emplace_back(std::move(tensor));
    return {};
  }
  if (!path.ends_with(".safetensors")) {
    return diags.Error(Rule::kUsage)
           << "'@" << path << "' is neither a .npy nor a .safetensors";
  }
  TENON_ASSIGN(Safetensors file, OpenSafetensors(path, diags));
  for (NamedTensor& named : file.tensors) {
    out->emplace_back(std::move(named.tensor));
  }
  return {};
}

Status AddItem(std::string_view item, std::vector<PteConstant>* out,
               Diagnostics& diags) {
  if (item == "true" || item == "false") {
    out->emplace_back(item == "true");
    return {};
  }
  if (item.size() >= 2 && item.starts_with('"') && item.ends_with('"')) {
    out->emplace_back(std::string(item.substr(1, item.size() - 2)));
    return {};
  }
  if (item.starts_with('@')) {
    return AddFile(std::string(item.substr(1)), out, diags);
  }
  if (const auto number = Number<int64_t>(item)) {
    out->emplace_back(*number);
    return {};
  }
  if (const auto number = Number<double>(item)) {
    out->emplace_back(*number);
    return {};
  }
  return diags.Error(Rule::kUsage)
         << "'" << item
         << "' is no constant: an integer that fits 64 bits, a float, true, "
            "false, \"text\", @FILE.npy, @FILE.safetensors, or [..] of those";
}

}  // namespace

Expected<std::vector<PteConstant>> ParsePteConstant(const std::string& text,
                                                    Diagnostics& diags) {
  std::vector<PteConstant> out;
  std::string_view left = Trimmed(text);
  if (!left.starts_with('[') || !left.ends_with(']')) {
    TENON_TRY(AddItem(left, &out, diags));
    return out;
  }
  left = Trimmed(left.substr(1, left.size() - 2));
  while (!left.empty()) {
    const bool is_last_missing = left.ends_with(',');
    TENON_TRY(AddItem(TakeItem(&left), &out, diags));
    if (left.empty() && is_last_missing) {
      TENON_TRY(AddItem("", &out, diags));
    }
  }
  return out;
}

}  // namespace tenon::tools
