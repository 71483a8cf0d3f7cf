// Side files: large payloads beside a text.
//
//   8 bytes   "TENONSF1"
//   8 bytes   number of payloads, n
//   n * 32    per payload: digest (high, low), position, size; 8 bytes each,
//             in the order of the digests
//   then the payloads, each at a multiple of 64 bytes
//
// Little endian. The bytes are checked against their digest when a text that
// names them is parsed.
#include <array>
#include <cstring>

#include "support/atomic_file.h"
#include "support/mapped_file.h"
#include "text/text.h"

namespace tenon {
namespace {

constexpr std::string_view kMagic = "TENONSF1";
constexpr uint64_t kHeaderBytes = 16;
constexpr uint64_t kEntryBytes = 32;
constexpr uint64_t kAlignment = 64;

uint64_t AlignUp(uint64_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

bool WriteWord(AtomicFile* file, uint64_t word) {
  return file->Write(std::as_bytes(std::span(&word, 1)));
}

bool WriteAll(AtomicFile* file, const std::map<Digest, Bytes>& payloads) {
  if (!file->Write(AsBytes(kMagic)) || !WriteWord(file, payloads.size())) {
    return false;
  }
  uint64_t offset = AlignUp(kHeaderBytes + kEntryBytes * payloads.size());
  for (const auto& [digest, bytes] : payloads) {
    if (!WriteWord(file, digest.high) || !WriteWord(file, digest.low) ||
        !WriteWord(file, offset) || !WriteWord(file, bytes.size())) {
      return false;
    }
    offset = AlignUp(offset + bytes.size());
  }
  constexpr std::array<std::byte, kAlignment> kPadding = {};
  for (const auto& [digest, bytes] : payloads) {
    const uint64_t gap = AlignUp(file->offset()) - file->offset();
    if (!file->Write(Bytes(kPadding).first(gap)) || !file->Write(bytes)) {
      return false;
    }
  }
  return file->Commit();
}

}  // namespace

Status WriteSideFile(const std::string& path,
                     const std::map<Digest, Bytes>& payloads,
                     Diagnostics& diags) {
  AtomicFile file;
  if (!file.Open(path) || !WriteAll(&file, payloads)) {
    return diags.Error(Rule::kIo, Place::File(path)) << file.error();
  }
  return {};
}

Expected<PayloadSource> OpenSideFile(const std::string& path,
                                     Diagnostics& diags) {
  std::string error;
  const std::shared_ptr<const MappedFile> file = MappedFile::Open(path, &error);
  if (file == nullptr) {
    return diags.Error(Rule::kIo, Place::File(path)) << error;
  }
  const auto bad = [&](uint64_t offset, std::string_view message) {
    return diags.Error(Rule::kText, Place::Offset(path, offset)) << message;
  };
  ByteCursor cursor(file->bytes());
  const auto magic = cursor.Take(kMagic.size());
  if (!magic || AsText(*magic) != kMagic) {
    return bad(0, "found other bytes, expected TENONSF1 of a side file");
  }
  const auto count = cursor.Read<uint64_t>();
  if (!count || *count > cursor.left() / kEntryBytes) {
    return bad(kMagic.size(), "the table of payloads is cut off");
  }
  std::map<Digest, Bytes> payloads;
  for (uint64_t i = 0; i < *count; ++i) {
    const uint64_t at = cursor.offset();
    Digest digest;
    digest.high = *cursor.Read<uint64_t>();
    digest.low = *cursor.Read<uint64_t>();
    const uint64_t offset = *cursor.Read<uint64_t>();
    const uint64_t size = *cursor.Read<uint64_t>();
    ByteCursor payload(file->bytes());
    if (!payload.Seek(offset) || size > payload.left()) {
      return bad(at, "a payload reaches past the end of the file");
    }
    payloads[digest] = *payload.Take(size);
  }
  return PayloadSource(
      [file, payloads = std::move(payloads)](const Digest& digest)
          -> std::pair<Bytes, std::shared_ptr<const void>> {
        const auto it = payloads.find(digest);
        if (it == payloads.end()) return {};
        return {it->second, file};
      });
}

}  // namespace tenon
