#include "formats/pt2/unknown_members.h"

#include "formats/json/json_insert.h"
#include "formats/pt2/release.h"

namespace tenon {

std::string WithUnknownMembers(const Program& program, std::string_view prefix,
                               int64_t minor, std::string text,
                               std::vector<std::string>* notes) {
  std::vector<JsonInsertion> insertions;
  for (const FileInfo::UnknownMember& unknown : program.file.unknown_members) {
    const std::string_view path = unknown.path;
    if (!path.starts_with(prefix)) continue;
    const std::string_view inside = path.substr(prefix.size());
    if (!inside.starts_with('$')) continue;
    insertions.push_back({std::string(inside), unknown.member, unknown.json});
  }
  if (insertions.empty()) return text;
  std::vector<bool> is_done(insertions.size(), false);
  if (minor >= schema_minor::kRawRecords) {
    text = InsertJsonMembers(text, insertions, &is_done);
  }
  for (size_t i = 0; i < insertions.size(); ++i) {
    notes->push_back("the unknown member '" + insertions[i].member + "' at " +
                     std::string(prefix) + insertions[i].path +
                     (is_done[i] ? " was carried" : " was left out"));
  }
  return text;
}

}  // namespace tenon
