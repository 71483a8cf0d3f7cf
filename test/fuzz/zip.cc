// Archives, byte by byte: the directory, every member, and the program inside.
#include "formats/pt2/pt2.h"
#include "formats/zip/zip_reader.h"
#include "fuzz/target.h"

namespace tenon::fuzz {
namespace {

constexpr uint64_t kMaxInflatedBytes = 1 << 22;

// A touch of every byte, so that a view beyond the archive shows.
uint32_t Touch(const ZipContent& content) { return ZipCrc(content.bytes); }

}  // namespace

void FuzzZip(Bytes bytes) {
  ReadLimits limits;
  limits.max_inflated_bytes = kMaxInflatedBytes;
  Diagnostics diags;
  const auto archive =
      ZipArchive::Open(bytes, nullptr, "fuzz.zip", limits, diags);
  if (!archive) {
    Expect(diags.has_errors(), "a refusal to open says why");
    return;
  }
  for (const ZipMember& member : archive->members()) {
    Expect(IsPlainMemberName(member.name), "members have plain names");
    Expect(archive->Find(member.name) == &member, "a member is found by name");
    const auto content = archive->Read(member, false, diags);
    if (!content) continue;
    Expect(content->bytes.size() == member.size_bytes,
           "a member has the size that the directory states");
    Touch(*content);
  }
  ReadPt2(bytes, nullptr, "fuzz.pt2", std::make_shared<Context>(), {}, diags)
      .ok();
}

}  // namespace tenon::fuzz
