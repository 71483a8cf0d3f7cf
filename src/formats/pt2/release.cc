#include "formats/pt2/release.h"

namespace tenon {
namespace {

constexpr Pt2Release kReleases[] = {
    {"2.6", Pt2Layout::kPlainZip, 2}, {"2.7", Pt2Layout::kPlainZip, 7},
    {"2.8", Pt2Layout::kPickled, 8},  {"2.9", Pt2Layout::kRaw, 14},
    {"2.10", Pt2Layout::kRaw, 15},    {"2.11", Pt2Layout::kRaw, 17},
    {"2.12", Pt2Layout::kRaw, 20},    {"2.13", Pt2Layout::kRaw, 20},
    {"2.14", Pt2Layout::kRaw, 20},    {"2.15", Pt2Layout::kRaw, 20},
};

}  // namespace

std::span<const Pt2Release> AllPt2Releases() { return kReleases; }

const Pt2Release* FindPt2Release(std::string_view version) {
  for (const Pt2Release& release : kReleases) {
    if (!version.starts_with(release.name)) continue;
    const std::string_view rest = version.substr(release.name.size());
    if (rest.empty() || rest[0] == '.' || rest[0] == '+') return &release;
  }
  return nullptr;
}

std::string Pt2ReleaseNames() {
  std::string out;
  for (const Pt2Release& release : kReleases) {
    if (!out.empty()) out += ", ";
    out += release.name;
  }
  return out;
}

}  // namespace tenon
