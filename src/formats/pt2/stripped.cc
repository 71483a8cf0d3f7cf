#include "formats/pt2/stripped.h"

#include <algorithm>
#include <array>

#include "formats/json/json_input.h"
#include "formats/json/json_output.h"

namespace tenon {
namespace {

constexpr int64_t kVersion = 1;
constexpr std::array<JsonMember, 2> kRecord = {{{"version"}, {"state_digest"}}};

}  // namespace

void SetStrippedRecord(const StrippedRecord& record, Program* program) {
  RemoveStrippedRecord(program);
  const auto text = std::make_shared<std::string>();
  JsonObjectOut out(text.get());
  out.Int(kRecord[0].name, kVersion);
  out.Text(kRecord[1].name, record.state.ToHex());
  out.Close();
  program->file.members.push_back(
      {std::string(kStrippedMember), AsBytes(*text), text});
}

void RemoveStrippedRecord(Program* program) {
  std::erase_if(program->file.members, [](const FileInfo::Member& member) {
    return member.name == kStrippedMember;
  });
}

Expected<StrippedRecord> GetStrippedRecord(const Program& program,
                                           Diagnostics& diags) {
  const FileInfo::Member* member = FindStrippedMember(program);
  TENON_ASSERT(member != nullptr, "only a stripped program has a record");
  JsonInput json;
  TENON_TRY(json.Parse(member->bytes, /*has_slack=*/false, member->name,
                       ReadLimits(), diags));
  const JsonPath root;
  TENON_ASSIGN(const auto m, json.Members(json.root(), root, kRecord));
  const JsonPath version_path(root, kRecord[0].name);
  TENON_ASSIGN(const int64_t version, json.Int(m[0], version_path));
  if (version != kVersion) {
    return json.Error(version_path) << version << ", expected " << kVersion;
  }
  const JsonPath digest_path(root, kRecord[1].name);
  TENON_ASSIGN(const std::string_view digest, json.String(m[1], digest_path));
  StrippedRecord record;
  if (!Digest::FromHex(digest, &record.state)) {
    return json.Error(digest_path)
           << "'" << digest << "' isn't 32 hexadecimal digits";
  }
  return record;
}

}  // namespace tenon
