// Reads zip archives: the directory is checked as a whole before any member is
// handed out (rules V-FILE-01 to V-FILE-03 and V-FILE-09).
//
// Stored members are views into the archive's bytes; nothing is copied and no
// page of a payload is touched until somebody looks at it. Deflated members are
// inflated into a buffer of their own, within limits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostics.h"
#include "diag/limits.h"
#include "formats/zip/zip_crc.h"
#include "formats/zip/zip_names.h"
#include "support/byte_cursor.h"
#include "support/expected.h"

namespace tenon {

// One entry of the central directory. Sizes are the directory's, which are
// known to fit the file.
struct ZipMember {
  std::string_view name;  // as in the directory, root folder included
  uint32_t crc = 0;
  bool is_deflated = false;
  uint64_t stored_bytes = 0;  // in the file
  uint64_t size_bytes = 0;    // of the content
  uint64_t header_offset = 0;
  uint64_t payload_offset = 0;
};

// A member's content and what keeps it in memory. Behind the content at least
// kZipSlackBytes can be read, whatever they hold: parsers of whole words
// needn't copy. (The directory follows a stored member, after all.)
constexpr size_t kZipSlackBytes = 64;
struct ZipContent {
  Bytes bytes;
  std::shared_ptr<const void> owner;
};

class ZipArchive {
 public:
  // Reads and checks the directory: it is complete and inside the file;
  // members lie before it, inside the file, and don't overlap; local headers
  // say the same as the directory; names are distinct, relative and without
  // tricks. `file_name` stands in messages. Members are views of `bytes`.
  static Expected<ZipArchive> Open(Bytes bytes,
                                   std::shared_ptr<const void> owner,
                                   std::string file_name,
                                   const ReadLimits& limits,
                                   Diagnostics& diags);

  // In the order of the directory.
  const std::vector<ZipMember>& members() const { return members_; }
  // Null when there is none of that name.
  const ZipMember* Find(std::string_view name) const;
  const std::string& file_name() const { return file_name_; }

  // The member's content; with `check_crc`, compared with the directory's
  // checksum. Deflated members are always compared.
  Expected<ZipContent> Read(const ZipMember& member, bool check_crc,
                            Diagnostics& diags) const;

 private:
  Bytes bytes_;
  std::shared_ptr<const void> owner_;
  std::string file_name_;
  ReadLimits limits_;
  std::vector<ZipMember> members_;
  ZipNames names_;
};

// Whether a member name is relative and plain: UTF-8 without control
// characters, parts joined by '/', none of them empty, "." or "..".
bool IsPlainMemberName(std::string_view name);

// Names of the members, root folder included, in the order of the directory:
// what an archive says that it holds, of which nothing is checked but that the
// directory is whole. Views of `bytes`.
std::optional<std::vector<std::string_view>> ListZipNames(Bytes bytes);

}  // namespace tenon
