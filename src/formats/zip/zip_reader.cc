#include "formats/zip/zip_reader.h"

#include <zlib.h>

#include <algorithm>

#include "formats/zip/inflate.h"
#include "formats/zip/zip_directory.h"
#include "formats/zip/zip_layout.h"

namespace tenon {
namespace {

static_assert(kZipSlackBytes <= zip::kCentralBytes + zip::kEndBytes);

constexpr uint64_t kAlwaysInflateBytes = 1 << 20;

bool IsUtf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t more = lead < 0x80           ? 0
                        : (lead >> 5) == 0x06 ? 1
                        : (lead >> 4) == 0x0E ? 2
                        : (lead >> 3) == 0x1E ? 3
                                              : 4;
    if (more == 4 || more >= text.size() - i) return false;
    uint32_t code = more == 0 ? lead : lead & (0x3Fu >> more);
    for (size_t k = 1; k <= more; ++k) {
      const auto c = static_cast<unsigned char>(text[i + k]);
      if ((c & 0xC0) != 0x80) return false;
      code = code << 6 | (c & 0x3F);
    }
    static constexpr uint32_t kLowest[] = {0, 0x80, 0x800, 0x10000};
    if (code < kLowest[more] || code > 0x10FFFF ||
        (code >= 0xD800 && code < 0xE000)) {
      return false;
    }
    i += more + 1;
  }
  return true;
}

bool IsPlainPart(std::string_view part) {
  return !part.empty() && part != "." && part != "..";
}

}  // namespace

bool IsPlainMemberName(std::string_view name) {
  const bool plain = std::none_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '\\';
  });
  if (!plain || !IsUtf8(name)) return false;
  // "C:x" leaves the folder on some systems.
  if (name.size() > 1 && name[1] == ':') return false;
  while (true) {
    const size_t slash = name.find('/');
    if (!IsPlainPart(name.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

uint32_t ZipCrc(Bytes bytes, uint32_t crc) {
  return static_cast<uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
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
  archive.by_name_.reserve(archive.members_.size());
  for (uint32_t i = 0; i < archive.members_.size(); ++i) {
    const ZipMember& m = archive.members_[i];
    const Place place = Place::Offset(archive.file_name_, m.header_offset);
    if (!archive.by_name_.emplace(m.name, i).second) {
      return diags.Error(Rule::kFile03, place)
             << "member '" << m.name << "' is there twice";
    }
    if (!m.is_deflated) continue;
    const bool is_bomb =
        m.size_bytes > kAlwaysInflateBytes &&
        m.size_bytes / limits.max_inflate_ratio > m.stored_bytes;
    if (is_bomb || m.size_bytes > limits.max_inflated_bytes - inflated) {
      return diags.Error(Rule::kFile02, place)
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
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &members_[it->second];
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
