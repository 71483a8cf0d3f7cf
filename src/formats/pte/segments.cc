#include "formats/pte/segments.h"

#include <algorithm>

#include "formats/flatbuffer/flat_encoder.h"
#include "support/mapped_pages.h"

namespace tenon {
namespace {

// Segments that share bytes could make a small file stand for a huge one.
Status CheckApart(const std::vector<PteDataSegment>& segments,
                  const SegmentArea& area, const std::string& file,
                  Diagnostics& diags) {
  std::vector<uint32_t> by_offset;
  for (uint32_t i = 0; i < segments.size(); ++i) {
    if (segments[i].size > 0) by_offset.push_back(i);
  }
  std::sort(by_offset.begin(), by_offset.end(), [&](uint32_t a, uint32_t b) {
    return segments[a].offset < segments[b].offset;
  });
  for (size_t i = 1; i < by_offset.size(); ++i) {
    const PteDataSegment& before = segments[by_offset[i - 1]];
    const PteDataSegment& after = segments[by_offset[i]];
    if (before.offset + before.size <= after.offset) continue;
    return diags.Error(Rule::kPte07,
                       Place::Offset(file, area.base + after.offset))
           << "segment " << by_offset[i] << " starts inside segment "
           << by_offset[i - 1];
  }
  return {};
}

// Weights that lie in a mapped file leave memory again when they are written,
// so that what is resident doesn't grow with the file.
bool WritePiece(Bytes bytes, AtomicFile& file) {
  constexpr size_t kBlockBytes = size_t{16} << 20;
  while (!bytes.empty()) {
    const Bytes block = bytes.first(std::min(bytes.size(), kBlockBytes));
    if (!file.Write(block)) return false;
    if (block.size() == kBlockBytes) ReleasePages(block);
    bytes = bytes.subspan(block.size());
  }
  return true;
}

}  // namespace

Expected<std::vector<PteSegment>> FindSegments(
    const std::vector<PteDataSegment>& segments, const SegmentArea& area,
    Bytes file_bytes, const std::shared_ptr<const void>& owner,
    const std::string& file, Diagnostics& diags) {
  std::vector<PteSegment> found;
  found.reserve(segments.size());
  for (size_t i = 0; i < segments.size(); ++i) {
    const PteDataSegment& s = segments[i];
    if (s.offset > area.size || s.size > area.size - s.offset) {
      return diags.Error(Rule::kPte07, Place::File(file))
             << "segment " << i << " of " << s.size << " bytes at " << s.offset
             << " lies outside the segment data of " << area.size << " bytes"
             << (area.base == 0 ? " (there is no extended header)" : "");
    }
    found.push_back({file_bytes.subspan(area.base + s.offset, s.size), owner,
                     std::min(AlignmentOf(area.base), AlignmentOf(s.offset))});
  }
  TENON_TRY(CheckApart(segments, area, file, diags));
  return found;
}

SegmentLayout LayOutSegments(const std::vector<PteSegment>& segments) {
  SegmentLayout layout;
  layout.segments.reserve(segments.size());
  for (const PteSegment& s : segments) {
    const uint64_t size = s.size_bytes();
    if (size == 0) {
      layout.segments.push_back({layout.size, 0});
      continue;
    }
    const uint64_t offset = AlignUp(layout.size, s.alignment);
    layout.segments.push_back({offset, size});
    layout.base_alignment = std::max(layout.base_alignment, s.alignment);
    layout.size = offset + size;
  }
  return layout;
}

bool WriteSegments(const std::vector<PteSegment>& segments,
                   const SegmentLayout& layout, uint64_t base,
                   AtomicFile& file) {
  for (size_t i = 0; i < segments.size(); ++i) {
    if (layout.segments[i].size == 0) continue;
    const uint64_t position = base + layout.segments[i].offset;
    if (!WriteZeros(position - file.offset(), file) ||
        !WritePiece(segments[i].bytes, file)) {
      return false;
    }
    for (const PtePiece& piece : segments[i].more) {
      if (!WriteZeros(position + piece.offset - file.offset(), file) ||
          !WritePiece(piece.bytes, file)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace tenon
