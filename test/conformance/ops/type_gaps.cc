#include "conformance/ops/type_gaps.h"

#include <charconv>
#include <fstream>
#include <string_view>
#include <vector>

namespace tenon {
namespace {

// At most `limit` parts; the last has the rest of the line.
std::vector<std::string_view> SplitAtTabs(std::string_view line, size_t limit) {
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < limit) {
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos) break;
    parts.push_back(line.substr(0, tab));
    line.remove_prefix(tab + 1);
  }
  parts.push_back(line);
  return parts;
}

bool ParseCount(std::string_view text, int* out) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *out);
  return error == std::errc() && rest == end && *out >= 0;
}

std::string CountsText(int partial, int open) {
  return std::to_string(partial) + " in part and " + std::to_string(open) +
         " not at all";
}

}  // namespace

bool ReadTypeGaps(const std::string& path, TypeGaps* gaps) {
  std::ifstream file(path);
  if (!file) return false;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    const auto parts = SplitAtTabs(line, 4);
    TypeGap gap;
    if (parts.size() != 4 || parts[3].empty() ||
        !ParseCount(parts[1], &gap.partial) ||
        !ParseCount(parts[2], &gap.open)) {
      return false;
    }
    gap.reason = parts[3];
    const std::string name(parts[0]);
    if (!gaps->emplace(name, std::move(gap)).second) return false;
  }
  return true;
}

std::string CompareGaps(const std::string& name, const TypeCounts& counts,
                        const TypeGaps& gaps) {
  const auto listed = gaps.find(name);
  const TypeGap want = listed == gaps.end() ? TypeGap() : listed->second;
  if (counts.partial == want.partial && counts.open == want.open) return "";
  return "types of results: " + CountsText(counts.partial, counts.open) +
         ", the list has " + CountsText(want.partial, want.open);
}

}  // namespace tenon
