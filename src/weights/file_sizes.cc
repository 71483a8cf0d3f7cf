#include "weights/file_sizes.h"

#include <map>

#include "formats/zip/zip_reader.h"

namespace tenon {
namespace {

constexpr std::string_view kPlainModel = "serialized_exported_program.json";

// What a member holds, by how its name below the root folder begins and ends.
struct Content {
  std::string_view begin, end;
  std::string_view name;
};
// The first that fits counts.
constexpr Content kContents[] = {
    {"models/", ".json", "graph"},
    {kPlainModel, "", "graph"},
    {"data/weights/", "_config.json", "configs"},
    {"data/constants/", "_config.json", "configs"},
    {"data/weights/", "", "weights"},
    {"data/constants/", "", "constants"},
    {"serialized_state_dict.", "", "weights"},
    {"serialized_constants.", "", "constants"},
    {"data/sample_inputs/", "", "example inputs"},
    {"serialized_example_inputs.", "", "example inputs"},
    {"extra/", "", "extra files"},
    {"extra_files/", "", "extra files"},
    {"data/tenon/", "", "delegates"},
    {"data/aotinductor/", "", "compiled code"},
    {"archive_format", "", "housekeeping"},
    {"archive_version", "", "housekeeping"},
    {"version", "", "housekeeping"},
    {"byteorder", "", "housekeeping"},
    {".data/", "", "housekeeping"},
    {"", "", "other members"},
};

std::string_view ContentOf(std::string_view name) {
  for (const Content& content : kContents) {
    if (name.starts_with(content.begin) && name.ends_with(content.end)) {
      return content.name;
    }
  }
  return {};
}

// Layout A has no root folder; the others' is that of the first member.
size_t RootLength(const ZipArchive& zip) {
  if (zip.Find(kPlainModel) != nullptr || zip.members().empty()) return 0;
  return zip.members()[0].name.find('/') + 1;
}

}  // namespace

Expected<FileSizes> ComputeFileSizes(Bytes bytes, const std::string& file_name,
                                     const ReadLimits& limits,
                                     Diagnostics& diags) {
  TENON_ASSIGN(const ZipArchive zip,
               ZipArchive::Open(bytes, nullptr, file_name, limits, diags));
  FileSizes out;
  out.file_bytes = bytes.size();
  const size_t root = RootLength(zip);
  std::map<std::string_view, SizeRow> contents;
  uint64_t in_members = 0;
  for (const ZipMember& member : zip.members()) {
    const std::string_view name =
        member.name.substr(std::min(root, member.name.size()));
    out.members.push_back({std::string(name), member.stored_bytes, 1});
    SizeRow& row = contents[ContentOf(name)];
    row.bytes += member.stored_bytes;
    ++row.count;
    in_members += member.stored_bytes;
  }
  for (auto& [name, row] : contents) {
    row.name = name;
    out.contents.push_back(std::move(row));
  }
  out.contents.push_back(
      {"headers and padding", out.file_bytes - in_members, 0});
  SortBySize(&out.contents);
  SortBySize(&out.members);
  return out;
}

}  // namespace tenon
