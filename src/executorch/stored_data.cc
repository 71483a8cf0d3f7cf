#include "executorch/stored_data.h"

namespace tenon::executorch {

uint32_t StoredData::Add(Bytes bytes) {
  const auto key =
      std::pair(HashBytes(bytes.data(), bytes.size()), uint64_t{bytes.size()});
  const auto [entry, is_new] =
      known_.emplace(key, static_cast<uint32_t>(offsets_.size()));
  if (is_new) {
    bytes_->resize(AlignUp(bytes_->size(), alignment_), '\0');
    offsets_.push_back(bytes_->size());
    bytes_->append(AsText(bytes));
  }
  return entry->second;
}

FlatBlob StoredData::TakeSegment() {
  FlatBlob blob;
  blob.bytes = AsBytes(*bytes_);
  blob.owner = bytes_;
  blob.alignment = kPteSegmentAlignment;
  return blob;
}

}  // namespace tenon::executorch
