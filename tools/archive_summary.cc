#include "archive_summary.h"

#include <string_view>

#include "formats/zip/zip_reader.h"

namespace tenon::tools {
namespace {

constexpr std::string_view kPlainModel = "serialized_exported_program.json";

// The part of `name` between `prefix` and `suffix`, if it has both.
bool Between(std::string_view name, std::string_view prefix,
             std::string_view suffix, std::string* out) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) ||
      name.size() < prefix.size() + suffix.size()) {
    return false;
  }
  *out =
      name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  return true;
}

void AddMember(std::string_view name, uint64_t size_bytes,
               ArchiveSummary* out) {
  std::string part;
  if (Between(name, "models/", ".json", &part)) out->methods.push_back(part);
  if (Between(name, "data/weights/", ".pt", &part)) out->layout = 'B';
  if (Between(name, "data/sample_inputs/", ".pt", &part) ||
      name == "serialized_example_inputs.pt") {
    out->example_input_bytes += size_bytes;
  }
  if (Between(name, "extra/", "", &part) ||
      Between(name, "extra_files/", "", &part)) {
    out->extra_files.emplace_back(part, size_bytes);
  }
  if (name.starts_with("data/tenon/")) out->has_delegates = true;
}

}  // namespace

ArchiveSummary SummariseArchive(Bytes bytes) {
  ArchiveSummary out;
  Diagnostics unused;
  const Expected<ZipArchive> zip =
      ZipArchive::Open(bytes, nullptr, "", ReadLimits(), unused);
  if (!zip) return out;
  const bool is_plain = zip->Find(kPlainModel) != nullptr;
  out.layout = is_plain ? 'A' : 'C';
  out.num_members = zip->members().size();
  for (const ZipMember& member : zip->members()) {
    const size_t root = is_plain ? 0 : member.name.find('/') + 1;
    AddMember(member.name.substr(root), member.size_bytes, &out);
  }
  if (is_plain) out.methods = {"model"};
  return out;
}

std::string LayoutText(char layout) {
  switch (layout) {
    case 'A':
      return "A (torch <= 2.7: weights in a pickle)";
    case 'B':
      return "B (torch 2.8: weights in a pickle)";
    default:
      return "C (torch >= 2.9: raw weights)";
  }
}

}  // namespace tenon::tools
