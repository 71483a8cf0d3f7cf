#include "formats/pte/pte_header.h"

#include "formats/flatbuffer/flat_encoder.h"

namespace tenon {
namespace {

constexpr std::string_view kMagic = "eh00";
constexpr size_t kIdentifierOffset = 4;
constexpr size_t kHeaderOffset = 8;
// The first version of the header lacked the size of the segment data.
constexpr uint32_t kMinLength = 24;
// A loader fetches so much before it knows anything.
constexpr size_t kMinFileBytes = 64;

Status CheckArea(const PteHeader& header, uint64_t file_bytes,
                 const Place& place, Diagnostics& diags) {
  const SegmentArea& area = header.segments;
  if (header.program_bytes > file_bytes) {
    return diags.Error(Rule::kPte02, place)
           << "program_size " << header.program_bytes
           << " lies past the end of the file of " << file_bytes << " bytes";
  }
  if (area.base == 0 && area.size == 0) return {};
  if (area.base < header.program_bytes) {
    return diags.Error(Rule::kPte02, place)
           << "segment_base_offset " << area.base
           << " lies inside the program of " << header.program_bytes
           << " bytes";
  }
  if (area.base > file_bytes || area.size > file_bytes - area.base) {
    return diags.Error(Rule::kPte02, place)
           << "segment data of " << area.size << " bytes at " << area.base
           << " lies past the end of the file of " << file_bytes << " bytes";
  }
  return {};
}

}  // namespace

Expected<PteHeader> ReadPteHeader(Bytes file_bytes, const std::string& file,
                                  Diagnostics& diags) {
  const uint64_t size = file_bytes.size();
  if (size < kMinFileBytes) {
    return diags.Error(Rule::kPte01, Place::File(file))
           << "a file of " << size << " bytes is too short for a .pte, which "
           << "has at least " << kMinFileBytes;
  }
  const std::string_view text = AsText(file_bytes);
  if (text.substr(kIdentifierOffset, kPteIdentifier.size()) != kPteIdentifier) {
    return diags.Error(Rule::kPte01, Place::Offset(file, kIdentifierOffset))
           << "the identifier isn't '" << kPteIdentifier << "'";
  }
  PteHeader header;
  header.program_bytes = size;
  if (text.substr(kHeaderOffset, kMagic.size()) != kMagic) return header;

  const Place place = Place::Offset(file, kHeaderOffset);
  ByteCursor cursor(file_bytes, kHeaderOffset + kMagic.size());
  const uint32_t length = *cursor.Read<uint32_t>();
  if (length < kMinLength) {
    return diags.Error(Rule::kPte02, place)
           << "extended header of " << length << " bytes, expected at least "
           << kMinLength;
  }
  header.program_bytes = *cursor.Read<uint64_t>();
  header.segments.base = *cursor.Read<uint64_t>();
  if (length >= kPteHeaderBytes) {
    header.segments.size = *cursor.Read<uint64_t>();
  } else if (header.segments.base > 0 && header.segments.base <= size) {
    header.segments.size = size - header.segments.base;
  }
  TENON_TRY(CheckArea(header, size, place, diags));
  return header;
}

void PatchPteHeader(const PteHeader& header, std::string* tables) {
  PatchFlatHeader(
      kMagic,
      {header.program_bytes, header.segments.base, header.segments.size},
      tables);
}

}  // namespace tenon
