#include "formats/pte/segments.h"

#include <algorithm>

#include "formats/flatbuffer/flat_encoder.h"

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

}  // namespace

Expected<std::vector<FlatBlob>> FindSegments(
    const std::vector<PteDataSegment>& segments, const SegmentArea& area,
    Bytes file_bytes, const std::shared_ptr<const void>& owner,
    const std::string& file, Diagnostics& diags) {
  std::vector<FlatBlob> found;
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

SegmentLayout LayOutSegments(const std::vector<FlatBlob>& segments) {
  SegmentLayout layout;
  layout.segments.reserve(segments.size());
  for (const FlatBlob& s : segments) {
    if (s.bytes.empty()) {
      layout.segments.push_back({layout.size, 0});
      continue;
    }
    const uint64_t offset = AlignUp(layout.size, s.alignment);
    layout.segments.push_back({offset, s.bytes.size()});
    layout.base_alignment = std::max(layout.base_alignment, s.alignment);
    layout.size = offset + s.bytes.size();
  }
  return layout;
}

bool WriteSegments(const std::vector<FlatBlob>& segments,
                   const SegmentLayout& layout, uint64_t base,
                   AtomicFile& file) {
  for (size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].bytes.empty()) continue;
    const uint64_t position = base + layout.segments[i].offset;
    if (!WriteZeros(position - file.offset(), file) ||
        !file.Write(segments[i].bytes)) {
      return false;
    }
  }
  return true;
}

}  // namespace tenon
