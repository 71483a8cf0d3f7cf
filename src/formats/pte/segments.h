// The bytes behind the tables of a .pte or .ptd: segments, at offsets from a
// common base.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "formats/pte/pte_segment.h"
#include "support/atomic_file.h"
#include "support/expected.h"

namespace tenon {

// A place among the segments, counted from where the first one starts.
struct PteDataSegment {
  static constexpr std::string_view kTable = "DataSegment";
  uint64_t offset = 0;
  uint64_t size = 0;
};

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteDataSegment> s) {
  c.Scalar("offset", s.offset);
  c.Scalar("size", s.size);
}

// Where the segments of a file lie.
struct SegmentArea {
  uint64_t base = 0;  // in the file
  uint64_t size = 0;
};

// Views of the segments, which have to lie inside the area and apart from each
// other (V-PTE-07). `file_bytes` is known to hold the area.
Expected<std::vector<PteSegment>> FindSegments(
    const std::vector<PteDataSegment>& segments, const SegmentArea& area,
    Bytes file_bytes, const std::shared_ptr<const void>& owner,
    const std::string& file, Diagnostics& diags);

// One after the other, each at a multiple of its alignment.
struct SegmentLayout {
  std::vector<PteDataSegment> segments;
  uint64_t base_alignment = 1;  // what they need of the base
  uint64_t size = 0;            // the end of the last one; no padding behind it
};
SegmentLayout LayOutSegments(const std::vector<PteSegment>& segments);

// Writes zeros up to `base`, then the segments, straight from where they lie.
// False when `file` refuses.
bool WriteSegments(const std::vector<PteSegment>& segments,
                   const SegmentLayout& layout, uint64_t base,
                   AtomicFile& file);

}  // namespace tenon
