#include "executorch/stored_data.h"

#include <algorithm>

#include "support/mapped_pages.h"

namespace tenon::executorch {

ContentKey ContentKeyOf(Bytes bytes) {
  constexpr size_t kBlockBytes = size_t{16} << 20;
  const uint64_t size = bytes.size();
  if (size <= kBlockBytes) return {HashBytes(bytes.data(), bytes.size()), size};
  Hasher hasher;
  while (!bytes.empty()) {
    const Bytes block = bytes.first(std::min(bytes.size(), kBlockBytes));
    hasher.Add(HashBytes(block.data(), block.size()));
    ReleasePages(block);
    bytes = bytes.subspan(block.size());
  }
  return {hasher.Finish(), size};
}

uint32_t StoredData::Add(Bytes bytes, std::shared_ptr<const void> owner) {
  const auto [entry, is_new] = known_.emplace(
      ContentKeyOf(bytes), static_cast<uint32_t>(offsets_.size()));
  if (!is_new) {
    deduplicated_ += bytes.size();
    return entry->second;
  }
  const uint64_t offset = AlignUp(size_bytes_, alignment_);
  offsets_.push_back(offset);
  pieces_.push_back({offset, bytes, std::move(owner)});
  size_bytes_ = offset + bytes.size();
  return entry->second;
}

PteSegment StoredData::TakeSegment() {
  PteSegment segment;
  segment.alignment = kPteSegmentAlignment;
  segment.more = std::move(pieces_);
  return segment;
}

std::vector<FlatBlob> StoredData::TakeEntries() {
  std::vector<FlatBlob> entries(1);
  for (PtePiece& piece : pieces_) {
    entries.push_back({piece.bytes, std::move(piece.owner), alignment_});
  }
  return entries;
}

}  // namespace tenon::executorch
