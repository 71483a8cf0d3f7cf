#include "formats/zip/zip_directory.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "formats/zip/zip_layout.h"
#include "support/mapped_pages.h"

namespace tenon::zip {
namespace {

struct EndRecord {
  uint64_t num_members = 0;
  uint64_t size_bytes = 0;  // of the directory
  uint64_t offset = 0;      // of the directory
  uint64_t at = 0;          // where the end structures begin
};

// Sizes and offset of a directory or local entry, of which the zip64 block
// states those that don't fit 32 bits.
struct Extent {
  uint64_t size = 0;
  uint64_t stored = 0;
  uint64_t offset = 0;
};

// Most local headers are shorter.
constexpr uint64_t kHeaderBytes = 512;
// What the system reads at once, about.
constexpr uint64_t kPageBytes = 4096;

class DirectoryReader {
 public:
  DirectoryReader(Bytes bytes, const std::string& file_name,
                  const ReadLimits& limits, Diagnostics& diags)
      : bytes_(bytes), file_name_(file_name), limits_(limits), diags_(diags) {}

  // All members, in the order of the directory, each checked against its local
  // header and against all others.
  Expected<std::vector<ZipMember>> Read() {
    TENON_ASSIGN(const EndRecord end, FindEnd());
    TENON_ASSIGN(std::vector<ZipMember> members, ReadEntries(end));
    for (ZipMember& member : members) {
      TENON_TRY(CheckLocalHeader(end.offset, &member));
    }
    TENON_TRY(CheckOverlaps(members));
    return members;
  }

  // Members as the directory has them, without their payload's place.
  Expected<std::vector<ZipMember>> ReadUnchecked() {
    TENON_ASSIGN(const EndRecord end, FindEnd());
    return ReadEntries(end);
  }

 private:
  Expected<std::vector<ZipMember>> ReadEntries(const EndRecord& end) {
    if (end.offset > end.at || end.size_bytes > end.at - end.offset) {
      return Error(Rule::kFile01, end.at)
             << "the central directory of " << end.size_bytes
             << " bytes at byte " << end.offset
             << " reaches beyond the end record";
    }
    // Before the table is allocated: each entry takes at least 46 bytes.
    if (end.num_members > end.size_bytes / kCentralBytes) {
      return Error(Rule::kFile01, end.at)
             << end.num_members << " members don't fit a directory of "
             << end.size_bytes << " bytes";
    }
    if (end.num_members > limits_.max_members) {
      return Error(Rule::kFile01, end.at)
             << end.num_members << " members, "
             << BeyondLimit(limits_, &ReadLimits::max_members);
    }
    std::vector<ZipMember> members;
    members.reserve(end.num_members);
    ByteCursor cursor(bytes_.first(end.offset + end.size_bytes), end.offset);
    for (uint64_t i = 0; i < end.num_members; ++i) {
      TENON_ASSIGN(ZipMember member, ReadEntry(i, cursor));
      members.push_back(member);
    }
    if (cursor.left() > 0) {
      return Error(Rule::kFile01, cursor.offset())
             << cursor.left() << " bytes follow the directory's last entry";
    }
    return members;
  }

  DiagnosticBuilder Error(Rule rule, uint64_t offset) {
    return diags_.Error(rule, Place::Offset(file_name_, offset));
  }

  template <typename T>
  static T Load(Bytes bytes, uint64_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
  }
  template <typename T>
  T At(uint64_t offset) const {
    return Load<T>(bytes_, offset);
  }

  // The last end record whose comment ends with the file.
  Expected<EndRecord> FindEnd() {
    const uint64_t size = bytes_.size();
    if (size >= kEndBytes) {
      const uint64_t lowest = size > kEndBytes + kMaxCommentBytes
                                  ? size - kEndBytes - kMaxCommentBytes
                                  : 0;
      for (uint64_t at = size - kEndBytes + 1; at-- > lowest;) {
        if (At<uint32_t>(at) == kEndSignature &&
            at + kEndBytes + At<uint16_t>(at + 20) == size) {
          return ReadEnd(at);
        }
      }
    }
    return diags_.Error(Rule::kFile01, Place::File(file_name_))
           << "no end record of a zip archive in " << size << " bytes";
  }

  Expected<EndRecord> ReadEnd(uint64_t at) {
    if (at >= kLocator64Bytes &&
        At<uint32_t>(at - kLocator64Bytes) == kLocator64Signature) {
      return ReadEnd64(at - kLocator64Bytes);
    }
    EndRecord end;
    end.at = at;
    end.num_members = At<uint16_t>(at + 10);
    end.size_bytes = At<uint32_t>(at + 12);
    end.offset = At<uint32_t>(at + 16);
    if (At<uint16_t>(at + 4) != 0 || At<uint16_t>(at + 6) != 0 ||
        At<uint16_t>(at + 8) != end.num_members) {
      return Error(Rule::kFile01, at) << "the archive spans several disks";
    }
    return end;
  }

  Expected<EndRecord> ReadEnd64(uint64_t locator) {
    const uint64_t at = At<uint64_t>(locator + 8);
    if (locator < kEnd64Bytes || at > locator - kEnd64Bytes ||
        At<uint32_t>(at) != kEnd64Signature) {
      return Error(Rule::kFile01, locator)
             << "no zip64 end record at byte " << at;
    }
    if (At<uint32_t>(locator + 4) != 0 || At<uint32_t>(at + 16) != 0 ||
        At<uint32_t>(at + 20) != 0) {
      return Error(Rule::kFile01, at) << "the archive spans several disks";
    }
    EndRecord end;
    end.at = at;
    end.num_members = At<uint64_t>(at + 32);
    end.size_bytes = At<uint64_t>(at + 40);
    end.offset = At<uint64_t>(at + 48);
    return end;
  }

  Expected<ZipMember> ReadEntry(uint64_t index, ByteCursor& cursor) {
    const uint64_t at = cursor.offset();
    const auto fixed = cursor.Take(kCentralBytes);
    if (!fixed || At<uint32_t>(at) != kCentralSignature) {
      return Error(Rule::kFile01, at)
             << "central directory entry " << index
             << (fixed ? " has a wrong signature" : " is cut off");
    }
    const uint16_t flags = At<uint16_t>(at + 8);
    const uint16_t method = At<uint16_t>(at + 10);
    const auto name = cursor.Take(At<uint16_t>(at + 28));
    const auto extra = name ? cursor.Take(At<uint16_t>(at + 30)) : std::nullopt;
    if (!extra || !cursor.Take(At<uint16_t>(at + 32))) {
      return Error(Rule::kFile01, at)
             << "central directory entry " << index << " is cut off";
    }
    if (name->size() > limits_.max_name_bytes) {
      return Error(Rule::kFile03, at)
             << "a member's name of " << name->size() << " bytes, "
             << BeyondLimit(limits_, &ReadLimits::max_name_bytes);
    }
    ZipMember member;
    member.name = AsText(*name);
    if (!IsPlainMemberName(member.name)) {
      return Error(Rule::kFile03, at)
             << "member '" << Printable(member.name)
             << "' isn't called by a plain relative name";
    }
    if (flags & kFlagEncrypted) {
      return Unsupported(member) << "is encrypted";
    }
    if (method != kMethodStored && method != kMethodDeflated) {
      return Unsupported(member) << "has compression method " << method
                                 << ", expected 0 (stored) or 8 (deflated)";
    }
    member.is_deflated = method == kMethodDeflated;
    member.crc = At<uint32_t>(at + 16);
    Extent extent{At<uint32_t>(at + 24), At<uint32_t>(at + 20),
                  At<uint32_t>(at + 42)};
    if (!ApplyZip64(*extra, &extent)) {
      return Error(Rule::kFile01, at)
             << "member '" << member.name << "' has a bad zip64 block";
    }
    member.size_bytes = extent.size;
    member.stored_bytes = extent.stored;
    member.header_offset = extent.offset;
    if (!member.is_deflated && member.size_bytes != member.stored_bytes) {
      return Error(Rule::kFile02, at)
             << "member '" << member.name << "' is stored in "
             << member.stored_bytes << " bytes but has " << member.size_bytes;
    }
    return member;
  }

  DiagnosticBuilder Unsupported(const ZipMember& member) {
    DiagnosticBuilder error =
        diags_.Error(Rule::kUnsupported, Place::File(file_name_));
    error << "member '" << member.name << "' ";
    return error;
  }

  // Replaces each field that is all ones by its value in the zip64 block.
  static bool ApplyZip64(Bytes extra, Extent* extent) {
    uint64_t* const wanted[] = {&extent->size, &extent->stored,
                                &extent->offset};
    ByteCursor cursor(extra);
    while (cursor.left() > 0) {
      const auto id = cursor.Read<uint16_t>();
      const auto size = cursor.Read<uint16_t>();
      const auto block = size ? cursor.Take(*size) : std::nullopt;
      if (!id || !block) return false;
      if (*id != kExtraZip64) continue;
      ByteCursor fields(*block);
      for (uint64_t* field : wanted) {
        if (*field != kMax32) continue;
        const auto value = fields.Read<uint64_t>();
        if (!value) return false;
        *field = *value;
      }
      return true;
    }
    return true;
  }

  // What stands at a local header: all of the header, and at most what is left
  // up to the directory. It is read by itself, as the pages of a mapping would
  // be read together with what lies around them: the weights.
  Bytes LocalHeader(uint64_t at, uint64_t directory) {
    const Bytes mapped = bytes_.subspan(at, directory - at);
    if (at < window_at_ || at - window_at_ + kHeaderBytes > window_.size()) {
      // To the end of the page in which a usual header ends.
      const uint64_t wanted =
          kHeaderBytes + kPageBytes - (at + kHeaderBytes) % kPageBytes;
      window_ = std::span(buffer_).first(std::min(wanted, mapped.size()));
      window_at_ = at;
      if (!ReadUnmapped(mapped.first(window_.size()), window_)) {
        window_ = {};
      }
    }
    if (at - window_at_ + kLocalBytes > window_.size()) return mapped;
    const Bytes header = window_.subspan(at - window_at_);
    const uint64_t size = kLocalBytes + Load<uint16_t>(header, 26) +
                          uint64_t{Load<uint16_t>(header, 28)};
    return size > header.size() ? mapped : header;
  }

  // Finds the payload and compares what the local header repeats.
  Status CheckLocalHeader(uint64_t directory, ZipMember* member) {
    const uint64_t at = member->header_offset;
    if (at > directory || directory - at < kLocalBytes) {
      return Error(Rule::kFile02, at)
             << "the local header of member '" << member->name
             << "' lies outside the " << directory
             << " bytes before the directory";
    }
    const Bytes header = LocalHeader(at, directory);
    if (Load<uint32_t>(header, 0) != kLocalSignature) {
      return Error(Rule::kFile02, at)
             << "no local header of member '" << member->name << "'";
    }
    const auto flags = Load<uint16_t>(header, 6);
    const auto method = Load<uint16_t>(header, 8);
    const uint64_t name_bytes = Load<uint16_t>(header, 26);
    const uint64_t extra_bytes = Load<uint16_t>(header, 28);
    const bool is_same_kind =
        method == (member->is_deflated ? kMethodDeflated : kMethodStored) &&
        !(flags & kFlagEncrypted);
    uint64_t left = directory - at - kLocalBytes;
    if (name_bytes != member->name.size() || name_bytes > left ||
        AsText(header.subspan(kLocalBytes, name_bytes)) != member->name ||
        !is_same_kind) {
      return Error(Rule::kFile02, at)
             << "the local header of member '" << member->name
             << "' disagrees with the central directory";
    }
    left -= name_bytes;
    if (extra_bytes > left) {
      return Error(Rule::kFile02, at) << "the local header of member '"
                                      << member->name << "' is cut off";
    }
    left -= extra_bytes;
    if (member->stored_bytes > left) {
      return Error(Rule::kFile02, at)
             << "member '" << member->name << "' has " << member->stored_bytes
             << " bytes, but only " << left << " are left";
    }
    if (!(flags & kFlagDescriptor)) {
      Extent extent{Load<uint32_t>(header, 22), Load<uint32_t>(header, 18), 0};
      const Bytes extra = header.subspan(kLocalBytes + name_bytes, extra_bytes);
      if (!ApplyZip64(extra, &extent) || extent.size != member->size_bytes ||
          extent.stored != member->stored_bytes) {
        return Error(Rule::kFile02, at)
               << "the local header of member '" << member->name
               << "' states other sizes than the central directory";
      }
    }
    member->payload_offset = at + kLocalBytes + name_bytes + extra_bytes;
    return {};
  }

  // No byte belongs to two members, header to payload.
  Status CheckOverlaps(const std::vector<ZipMember>& members) {
    std::vector<const ZipMember*> order;
    order.reserve(members.size());
    for (const ZipMember& m : members) order.push_back(&m);
    const auto is_before = [](const auto* a, const auto* b) {
      return a->header_offset < b->header_offset;
    };
    // Writers list members in the order of the file.
    if (!std::is_sorted(order.begin(), order.end(), is_before)) {
      std::sort(order.begin(), order.end(), is_before);
    }
    for (size_t i = 1; i < order.size(); ++i) {
      const ZipMember& before = *order[i - 1];
      if (before.payload_offset + before.stored_bytes >
          order[i]->header_offset) {
        return Error(Rule::kFile02, order[i]->header_offset)
               << "members '" << before.name << "' and '" << order[i]->name
               << "' overlap";
      }
    }
    return {};
  }

  static std::string Printable(std::string_view name) {
    std::string out;
    for (const char c : name.substr(0, 200)) {
      const auto u = static_cast<unsigned char>(c);
      out += u < 0x20 || u >= 0x7F ? '?' : c;
    }
    return out;
  }

  Bytes bytes_;
  const std::string& file_name_;
  const ReadLimits& limits_;
  Diagnostics& diags_;
  // Bytes of the file that were read to look at a local header.
  std::array<std::byte, kHeaderBytes + kPageBytes> buffer_;
  std::span<std::byte> window_;
  uint64_t window_at_ = 0;
};

}  // namespace

Expected<std::vector<ZipMember>> ReadDirectory(Bytes bytes,
                                               const std::string& file_name,
                                               const ReadLimits& limits,
                                               Diagnostics& diags) {
  return DirectoryReader(bytes, file_name, limits, diags).Read();
}

}  // namespace tenon::zip

namespace tenon {

std::optional<std::vector<std::string_view>> ListZipNames(Bytes bytes) {
  Diagnostics unused;
  const auto members =
      zip::DirectoryReader(bytes, std::string(), ReadLimits(), unused)
          .ReadUnchecked();
  if (!members) return std::nullopt;
  std::vector<std::string_view> names;
  names.reserve(members->size());
  for (const ZipMember& member : *members) names.push_back(member.name);
  return names;
}

}  // namespace tenon
