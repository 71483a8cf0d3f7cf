#include "formats/pte/ptd.h"

#include <algorithm>

#include "formats/flatbuffer/flat_decoder.h"
#include "formats/flatbuffer/flat_encoder.h"
#include "formats/pte/segments.h"
#include "support/mapped_file.h"

namespace tenon {

// The root table; see PteRoot.
template <typename PtdRef>
struct PtdRoot {
  static constexpr std::string_view kTable = PtdFile::kTable;
  PtdRef data;
  std::vector<PteDataSegment> segments;
};

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PtdTensorLayout> l) {
  c.Enum("scalar_type", l.type);
  c.Vector("sizes", l.sizes, FlatPresence::kRequired);
  c.Vector("dim_order", l.dim_order, FlatPresence::kRequired);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PtdEntry> e) {
  c.String("key", e.key, FlatPresence::kRequired);
  c.Scalar("segment_index", e.segment);
  c.Table("tensor_layout", e.layout);
}

template <typename Codec>
void Fields(
    Codec& c,
    typename Codec::template Ref<PtdRoot<typename Codec::template Ref<PtdFile>>>
        root) {
  c.Scalar("version", root.data.version);
  c.Tables("segments", root.segments, FlatPresence::kRequired);
  c.Tables("named_data", root.data.entries, FlatPresence::kRequired);
}

namespace {

constexpr FlatRules kRules = {Rule::kPte03, Rule::kPte05, Rule::kPte04};
constexpr std::string_view kIdentifier = "FT01";
constexpr size_t kIdentifierOffset = 4;
constexpr size_t kMinFileBytes = 64;

// The header at byte 8, of which tables and segments are found:
//   "FH01"  u32 length  u64 flatbuffer_offset  u64 flatbuffer_size
//   u64 segment_base  u64 segment_bytes
// The FlatBuffer's root offset and identifier stand in front of it, at byte 0;
// its other tables begin at flatbuffer_offset.
constexpr std::string_view kMagic = "FH01";
constexpr size_t kHeaderOffset = 8;
constexpr uint32_t kHeaderBytes = 40;
constexpr uint64_t kTablesOffset = 48;
struct PtdHeader {
  uint64_t tables_offset = 0;
  uint64_t tables_bytes = 0;
  SegmentArea segments;
};

// Where the tables end; nothing when the file can't hold them.
std::optional<uint64_t> EndOfTables(const PtdHeader& header, uint64_t size) {
  if (header.tables_offset > size ||
      header.tables_bytes > size - header.tables_offset) {
    return std::nullopt;
  }
  return header.tables_offset + header.tables_bytes;
}

Expected<PtdHeader> ReadHeader(Bytes bytes, const std::string& file,
                               Diagnostics& diags) {
  const uint64_t size = bytes.size();
  const std::string_view text = AsText(bytes);
  if (size < kMinFileBytes) {
    return diags.Error(Rule::kPte01, Place::File(file))
           << "a file of " << size << " bytes is too short for a .ptd, which "
           << "has at least " << kMinFileBytes;
  }
  if (text.substr(kIdentifierOffset, kIdentifier.size()) != kIdentifier) {
    return diags.Error(Rule::kPte01, Place::Offset(file, kIdentifierOffset))
           << "the identifier isn't '" << kIdentifier << "'";
  }
  const Place place = Place::Offset(file, kHeaderOffset);
  ByteCursor cursor(bytes, kHeaderOffset + kMagic.size());
  const uint32_t length = *cursor.Read<uint32_t>();
  if (text.substr(kHeaderOffset, kMagic.size()) != kMagic ||
      length < kHeaderBytes) {
    return diags.Error(Rule::kPte02, place)
           << "there is no header '" << kMagic << "' of at least "
           << kHeaderBytes << " bytes";
  }
  PtdHeader header;
  header.tables_offset = *cursor.Read<uint64_t>();
  header.tables_bytes = *cursor.Read<uint64_t>();
  header.segments.base = *cursor.Read<uint64_t>();
  header.segments.size = *cursor.Read<uint64_t>();
  const auto end = EndOfTables(header, size);
  if (!end) {
    return diags.Error(Rule::kPte02, place)
           << "tables of " << header.tables_bytes << " bytes at "
           << header.tables_offset << " lie past the end of the file of "
           << size << " bytes";
  }
  const SegmentArea& area = header.segments;
  if (area.size > 0 &&
      (area.base < *end || area.base > size || area.size > size - area.base)) {
    return diags.Error(Rule::kPte02, place)
           << "segment data of " << area.size << " bytes at " << area.base
           << " doesn't lie between the tables, which end at " << *end
           << ", and the end of the file of " << size << " bytes";
  }
  return header;
}

}  // namespace

Expected<PtdFile> ReadPtd(Bytes bytes, std::shared_ptr<const void> owner,
                          const std::string& file, Diagnostics& diags) {
  TENON_ASSIGN(const PtdHeader header, ReadHeader(bytes, file, diags));
  PtdFile data;
  PtdRoot<PtdFile&> root = {data, {}};
  FlatDecoder decoder(bytes.first(*EndOfTables(header, bytes.size())), owner,
                      file, kRules, diags);
  TENON_TRY(decoder.Root(root));
  if (data.version != 0) {
    return diags.Error(Rule::kPte06, Place::File(file))
           << "schema version " << data.version << ", expected 0";
  }
  TENON_ASSIGN(data.segments, FindSegments(root.segments, header.segments,
                                           bytes, owner, file, diags));
  return data;
}

Expected<PtdFile> ReadPtd(const std::string& path, Diagnostics& diags) {
  std::string error;
  const auto file = MappedFile::Open(path, &error);
  if (file == nullptr) {
    return diags.Error(Rule::kIo, Place::File(path))
           << "can't be read: " << error;
  }
  return ReadPtd(file->bytes(), file, path, diags);
}

Status WritePtd(const PtdFile& data, const std::string& path, AtomicFile* file,
                Diagnostics& diags) {
  const SegmentLayout layout = LayOutSegments(data.segments);
  FlatEncoder encoder(kIdentifier, kTablesOffset - kHeaderOffset);
  const PtdRoot<const PtdFile&> root = {data, layout.segments};
  std::optional<FlatImage> image = encoder.Root(root);
  if (!image) {
    return diags.Error(Rule::kUnsupported, Place::File(path))
           << "the tables are larger than " << FlatEncoder::kMaxBytes
           << " bytes, the most that a FlatBuffer can hold";
  }
  PtdHeader header;
  header.tables_offset = kTablesOffset;
  header.tables_bytes = image->size - kTablesOffset;
  header.segments = {AlignUp(image->size, std::max(layout.base_alignment,
                                                   kPteSegmentAlignment)),
                     layout.size};
  PatchFlatHeader(kMagic,
                  {header.tables_offset, header.tables_bytes,
                   header.segments.base, header.segments.size},
                  &image->tables);
  if (!image->Write(*file) ||
      !WriteSegments(data.segments, layout, header.segments.base, *file)) {
    return diags.Error(Rule::kIo, Place::File(path))
           << "can't be written: " << file->error();
  }
  return {};
}

Status WritePtd(const PtdFile& data, const std::string& path,
                Diagnostics& diags) {
  AtomicFile file;
  if (file.Open(path)) {
    TENON_TRY(WritePtd(data, path, &file, diags));
    if (file.Commit()) return {};
  }
  return diags.Error(Rule::kIo, Place::File(path))
         << "can't be written: " << file.error();
}

}  // namespace tenon
