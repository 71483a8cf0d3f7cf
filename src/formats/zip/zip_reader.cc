#include "formats/zip/zip_reader.h"

#include <zlib.h>

#include <algorithm>

#include "formats/zip/inflate.h"
#include "formats/zip/zip_directory.h"
#include "formats/zip/zip_layout.h"
#include "support/utf8.h"

namespace tenon {
namespace {

static_assert(kZipSlackBytes <= zip::kCentralBytes + zip::kEndBytes);

constexpr uint64_t kAlwaysInflateBytes = 1 << 20;

bool IsPlainPart(std::string_view part) {
  return !part.empty() && part != "." && part != "..";
}

}  // namespace

bool IsPlainMemberName(std::string_view name) {
  // Without leaving early, which is faster for names that are good.
  unsigned all = 0, num_bad = 0;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    num_bad += (byte < 0x20) | (byte == 0x7F) | (byte == '\\');
    all |= byte;
  }
  if (num_bad > 0 || (all >= 0x80 && !IsUtf8(name))) return false;
  // "C:x" leaves the folder on some systems.
  if (name.size() > 1 && name[1] == ':') return false;
  while (true) {
    const size_t slash = name.find('/');
    if (!IsPlainPart(name.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

Expected<ZipArchive> ZipArchive::Open(Bytes bytes,
                                      std::shared_ptr<const void> owner,
                                      std::string file_name,
                                      const ReadLimits& limits,
                                      Diagnostics& diags) {
  ZipArchive archive;
  archive.bytes_ = bytes;
  archive.owner_ = std::move(owner);
  archive.file_name_ = std::move(file_name);
  archive.limits_ = limits;
  TENON_ASSIGN(archive.members_,
               zip::ReadDirectory(bytes, archive.file_name_, limits, diags));
  uint64_t inflated = 0;
  archive.names_.Reserve(archive.members_.size());
  for (const ZipMember& m : archive.members_) {
    if (!archive.names_.Add(m.name)) {
      return diags.Error(Rule::kFile03,
                         Place::Offset(archive.file_name_, m.header_offset))
             << "member '" << m.name << "' is there twice";
    }
    if (!m.is_deflated) continue;
    const bool is_bomb =
        m.size_bytes > kAlwaysInflateBytes &&
        m.size_bytes / limits.max_inflate_ratio > m.stored_bytes;
    if (is_bomb || m.size_bytes > limits.max_inflated_bytes - inflated) {
      return diags.Error(Rule::kFile02,
                         Place::Offset(archive.file_name_, m.header_offset))
             << "member '" << m.name << "' expands from " << m.stored_bytes
             << " to " << m.size_bytes << " bytes, "
             << BeyondLimit(limits, is_bomb ? &ReadLimits::max_inflate_ratio
                                            : &ReadLimits::max_inflated_bytes);
    }
    inflated += m.size_bytes;
  }
  return archive;
}

const ZipMember* ZipArchive::Find(std::string_view name) const {
  const uint32_t position = names_.Find(name);
  return position == ZipNames::kNone ? nullptr : &members_[position];
}

Expected<ZipContent> ZipArchive::Read(const ZipMember& member, bool check_crc,
                                      Diagnostics& diags) const {
  ZipContent content{bytes_.subspan(member.payload_offset, member.stored_bytes),
                     owner_};
  if (member.is_deflated) {
    TENON_ASSIGN(content, Inflate(content.bytes, member.size_bytes,
                                  std::string(member.name), diags));
  }
  if ((check_crc || member.is_deflated) &&
      ZipCrc(content.bytes) != member.crc) {
    return diags.Error(Rule::kFile09, Place::File(std::string(member.name)))
           << "the content doesn't have the checksum that the directory states";
  }
  return content;
}

}  // namespace tenon
