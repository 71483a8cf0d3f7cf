#include "fuzz/bundle.h"

#include <algorithm>
#include <charconv>

#include "formats/zip/zip_writer.h"

namespace tenon::fuzz {
namespace {

constexpr std::string_view kHead = "=== ";
constexpr uint64_t kMaxMemberBytes = 1 << 16;

struct Default {
  std::string_view name, content;
};
constexpr Default kHousekeeping[] = {{"archive_format", "pt2"},
                                     {"archive_version", "0"},
                                     {"byteorder", "little"},
                                     {".data/version", "6\n"}};

std::string_view TakeLine(std::string_view* text) {
  const size_t end = std::min(text->find('\n'), text->size());
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return line;
}

// "NAME BYTES" or "NAME".
std::pair<std::string_view, uint64_t> SplitHead(std::string_view head) {
  const size_t space = head.rfind(' ');
  uint64_t size = 0;
  if (space == std::string_view::npos) return {head, size};
  std::from_chars(head.data() + space + 1, head.data() + head.size(), size);
  return {head.substr(0, space), std::min(size, kMaxMemberBytes)};
}

}  // namespace

std::string ArchiveOfBundle(std::string_view text) {
  std::string out;
  ZipWriter zip;
  if (!text.starts_with(kHead) || !zip.OpenMemory(&out, "m")) return "";
  while (!text.empty()) {
    const auto [name, size] = SplitHead(TakeLine(&text).substr(kHead.size()));
    const size_t end = text.starts_with(kHead)
                           ? 0
                           : std::min(text.find("\n=== "), text.size());
    std::string content(text.substr(0, end));
    text.remove_prefix(end);
    if (text.starts_with('\n')) text.remove_prefix(1);
    content.resize(std::max<uint64_t>(content.size(), size));
    if (!zip.Add(name, AsBytes(content))) return "";
  }
  for (const Default& member : kHousekeeping) {
    if (zip.HasMember(member.name)) continue;
    if (!zip.Add(member.name, AsBytes(member.content))) return "";
  }
  return zip.WriteDirectory() ? out : "";
}

}  // namespace tenon::fuzz
