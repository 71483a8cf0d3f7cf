#include "scan/found_members.h"

#include <cstring>
#include <optional>
#include <unordered_set>

#include "formats/zip/zip_layout.h"
#include "formats/zip/zip_reader.h"

namespace tenon {
namespace {

constexpr uint32_t kTypeMask = 0170000;
constexpr uint32_t kTypeLink = 0120000;

struct Directory {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t num_members = 0;
};

class Finder {
 public:
  explicit Finder(Bytes bytes) : bytes_(bytes) {}

  FoundMembers Find() {
    const std::vector<uint64_t> ends = FindEnds();
    if (ends.empty()) {
      out_.problem = "no end record of a zip archive";
      return std::move(out_);
    }
    if (ends.size() > 1) {
      out_.lies.push_back("there are end records at byte " +
                          std::to_string(ends[0]) + " and at byte " +
                          std::to_string(ends[1]));
    }
    bool is_empty = true;
    for (const uint64_t end : ends) is_empty &= !ReadDirectory(end);
    if (is_empty && out_.members.empty() && out_.problem.empty()) {
      out_.problem = "no directory where the end record says";
    }
    if (!out_.members.empty()) out_.problem.clear();
    return std::move(out_);
  }

 private:
  template <typename T>
  std::optional<T> At(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) {
      return std::nullopt;
    }
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  Bytes Part(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return {};
    return bytes_.subspan(offset, size);
  }

  // The last one, whatever follows it; and the last whose comment ends with
  // the file, if that is another one. Readers take either.
  std::vector<uint64_t> FindEnds() const {
    std::vector<uint64_t> ends;
    if (bytes_.size() < zip::kEndBytes) return ends;
    const uint64_t most = zip::kEndBytes + zip::kMaxCommentBytes;
    const uint64_t lowest = bytes_.size() > most ? bytes_.size() - most : 0;
    for (uint64_t at = bytes_.size() - zip::kEndBytes + 1; at-- > lowest;) {
      if (At<uint32_t>(at) != zip::kEndSignature) continue;
      const bool ends_file =
          at + zip::kEndBytes + *At<uint16_t>(at + 20) == bytes_.size();
      if (ends.empty() || ends_file) ends.push_back(at);
      if (ends_file) break;
    }
    return ends;
  }

  // False when there is none, though the end record says that it has members.
  bool ReadDirectory(uint64_t end) {
    const Directory directory = ReadEnd(end);
    const size_t before = out_.members.size();
    if (directory.size > directory_end_) {
      out_.problem = "a directory of more bytes than the file has";
      return false;
    }
    // Some readers go by the offset, others count back from the end record.
    const uint64_t before_end = directory_end_ - directory.size;
    if (directory.offset != before_end) {
      out_.lies.push_back("the directory lies at byte " +
                          std::to_string(directory.offset) +
                          " by its offset and at byte " +
                          std::to_string(before_end) + " by its size");
      shift_ = before_end - directory.offset;  // wraps, as the sum does
      ReadEntries({before_end, directory.size, directory.num_members});
      shift_ = 0;
    }
    ReadEntries(directory);
    return out_.members.size() > before || directory.num_members == 0;
  }

  Directory ReadEnd(uint64_t at) {
    directory_end_ = at;
    Directory found = {*At<uint32_t>(at + 16), *At<uint32_t>(at + 12),
                       *At<uint16_t>(at + 10)};
    if (at < zip::kLocator64Bytes ||
        At<uint32_t>(at - zip::kLocator64Bytes) != zip::kLocator64Signature) {
      return found;
    }
    const auto at64 = FindEnd64(at - zip::kLocator64Bytes);
    if (!at64) return found;
    directory_end_ = *at64;
    return {*At<uint64_t>(*at64 + 48), *At<uint64_t>(*at64 + 40),
            *At<uint64_t>(*at64 + 32)};
  }

  bool IsEnd64(uint64_t at) const {
    return At<uint32_t>(at) == zip::kEnd64Signature &&
           At<uint64_t>(at + 48).has_value();
  }
  // Some readers go by the locator's offset, others by where it stands itself.
  std::optional<uint64_t> FindEnd64(uint64_t locator) {
    const uint64_t by_offset = *At<uint64_t>(locator + 8);
    const uint64_t before = locator - zip::kEnd64Bytes;
    const bool is_before = locator >= zip::kEnd64Bytes && IsEnd64(before);
    if (IsEnd64(by_offset)) {
      if (is_before && before != by_offset) {
        out_.lies.push_back("there are zip64 end records at byte " +
                            std::to_string(by_offset) + " and at byte " +
                            std::to_string(before));
      }
      return by_offset;
    }
    return is_before ? std::optional(before) : std::nullopt;
  }

  // As far as there are entries; some readers go by their number, others by
  // the directory's size.
  void ReadEntries(const Directory& directory) {
    const uint64_t limit = directory.offset + directory.size;
    uint64_t at = directory.offset;
    uint64_t count = 0;
    std::unordered_set<std::string_view> names;
    while (At<uint32_t>(at) == zip::kCentralSignature) {
      const auto attributes = At<uint32_t>(at + 38);
      if (!At<uint32_t>(at + 42)) break;
      const uint64_t name_bytes = *At<uint16_t>(at + 28);
      const uint64_t extra_bytes = *At<uint16_t>(at + 30);
      FoundMember member;
      member.name = AsText(Part(at + zip::kCentralBytes, name_bytes));
      if ((*attributes >> 16 & kTypeMask) == kTypeLink) {
        member.escapes = "is a symbolic link";
      } else if (!IsPlainMemberName(member.name)) {
        member.escapes = "isn't called by a plain relative name";
      }
      if (!names.insert(member.name).second) member.lies = "is there twice";
      ReadContent(at, Part(at + zip::kCentralBytes + name_bytes, extra_bytes),
                  &member);
      out_.members.push_back(std::move(member));
      at += zip::kCentralBytes + name_bytes + extra_bytes +
            *At<uint16_t>(at + 32);
      ++count;
    }
    if (count != directory.num_members || at != limit) {
      out_.lies.push_back("the directory has " + std::to_string(count) +
                          " entries in " +
                          std::to_string(at - directory.offset) +
                          " bytes, the end record "
                          "says " +
                          std::to_string(directory.num_members) + " in " +
                          std::to_string(directory.size));
    }
  }

  void ReadContent(uint64_t at, Bytes extra, FoundMember* member) {
    uint64_t fields[] = {*At<uint32_t>(at + 24), *At<uint32_t>(at + 20),
                         *At<uint32_t>(at + 42)};
    ApplyZip64(extra, fields);
    member->size_bytes = fields[0];
    const uint64_t stored = fields[1];
    const uint64_t header = fields[2] + shift_;
    const uint16_t method = *At<uint16_t>(at + 10);
    member->is_deflated = method == zip::kMethodDeflated;
    const auto name_bytes = At<uint16_t>(header + 26);
    const auto extra_bytes = At<uint16_t>(header + 28);
    if (At<uint32_t>(header) != zip::kLocalSignature || !extra_bytes) {
      member->unread = "has no local header";
      return;
    }
    const std::string_view local_name =
        AsText(Part(header + zip::kLocalBytes, *name_bytes));
    if (member->lies.empty() && local_name != member->name) {
      member->lies = "is called otherwise in its local header";
    } else if (member->lies.empty() &&
               (*At<uint16_t>(header + 8) != method ||
                ((*At<uint16_t>(header + 6) ^ *At<uint16_t>(at + 8)) &
                 zip::kFlagEncrypted) != 0)) {
      member->lies = "has another compression in its local header";
    }
    const uint64_t begin =
        header + zip::kLocalBytes + *name_bytes + *extra_bytes;
    member->stored = Part(begin, stored);
    if (stored > 0 && member->stored.empty()) {
      member->unread = "lies outside the file";
    } else if ((*At<uint16_t>(at + 8) & zip::kFlagEncrypted) != 0) {
      member->unread = "is encrypted";
    } else if (method != zip::kMethodStored && method != zip::kMethodDeflated) {
      member->unread = "has compression method " + std::to_string(method);
    }
  }

  // Replaces each field that is all ones by its value in the zip64 block.
  static void ApplyZip64(Bytes extra, uint64_t (&fields)[3]) {
    ByteCursor cursor(extra);
    while (true) {
      const auto id = cursor.Read<uint16_t>();
      const auto size = cursor.Read<uint16_t>();
      const auto block = size ? cursor.Take(*size) : std::nullopt;
      if (!block) return;
      if (*id != zip::kExtraZip64) continue;
      ByteCursor values(*block);
      for (uint64_t& field : fields) {
        if (field != zip::kMax32) continue;
        const auto value = values.Read<uint64_t>();
        if (value) field = *value;
      }
    }
  }

  Bytes bytes_;
  FoundMembers out_;
  uint64_t directory_end_ = 0;
  // Added to local headers' offsets by readers that count back from the end.
  uint64_t shift_ = 0;
};

}  // namespace

FoundMembers FindMembers(Bytes bytes) { return Finder(bytes).Find(); }

}  // namespace tenon
