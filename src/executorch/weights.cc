#include "executorch/weights.h"

#include <utility>

namespace tenon::executorch {
namespace {

PtdTensorLayout LayoutOf(const PteTensor& tensor) {
  return {tensor.type, tensor.sizes, tensor.dim_order};
}

std::string SizesText(const std::vector<int32_t>& sizes) {
  std::string out = "[";
  for (const int32_t size : sizes) {
    out += (out.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return out + "]";
}

void MakeExternal(std::string key, PteTensor* tensor) {
  PteTensorExtra extra = tensor->extra.value_or(PteTensorExtra());
  extra.name = std::move(key);
  extra.place = PteTensorPlace::kExternal;
  tensor->extra = std::move(extra);
}

}  // namespace

uint32_t Weights::DataSegmentOf(Bytes bytes,
                                const std::shared_ptr<const void>& owner) {
  const auto [at, is_new] = data_segments_.emplace(
      ContentKeyOf(bytes), static_cast<uint32_t>(data_.segments.size()));
  if (is_new) {
    data_.segments.push_back({bytes, owner, kPteSegmentAlignment});
  } else {
    deduplicated_ += bytes.size();
  }
  return at->second;
}

// The key of an entry with that segment and layout: one that is there, or a new
// one.
std::string Weights::KeyFor(std::string_view method, std::string_view fqn,
                            uint32_t segment, const PtdTensorLayout& layout) {
  std::string key(fqn);
  for (int attempt = 0;; ++attempt) {
    const auto [at, is_new] = entries_.emplace(key, data_.entries.size());
    if (is_new) {
      data_.entries.push_back({key, segment, layout});
      return key;
    }
    const PtdEntry& entry = data_.entries[at->second];
    if (entry.segment == segment && entry.layout == layout) return key;
    key = std::string(fqn) + "@" + std::string(method);
    if (attempt > 0) key += "." + std::to_string(attempt);
  }
}

void Weights::Store(std::string_view method, std::string_view fqn, Bytes bytes,
                    const std::shared_ptr<const void>& owner,
                    PteTensor* tensor) {
  // A data file has no segment without bytes.
  if (place_ != PteWeightPlace::kDataFile || bytes.empty()) {
    tensor->data_index = constants_.Add(bytes, owner);
    return;
  }
  MakeExternal(
      KeyFor(method, fqn, DataSegmentOf(bytes, owner), LayoutOf(*tensor)),
      tensor);
}

void Weights::StoreView(const PteTensor& stored, PteTensor* view) {
  if (!stored.is_external()) {
    view->data_index = stored.data_index;
    return;
  }
  const PtdEntry& entry =
      data_.entries[entries_.find(stored.extra->name)->second];
  const uint32_t segment = entry.segment;
  MakeExternal(KeyFor("view", entry.key + SizesText(view->sizes), segment,
                      LayoutOf(*view)),
               view);
}

bool Weights::StoreNamed(const NamedBytes& named, bool stays_inside) {
  const ContentKey content = ContentKeyOf(named.bytes);
  const auto [key, is_new_key] = keys_.emplace(named.key, content);
  if (!is_new_key) {
    deduplicated_ += named.bytes.size();
    return key->second == content;
  }
  if (place_ == PteWeightPlace::kDataFile && !stays_inside) {
    const bool is_new =
        entries_.emplace(named.key, data_.entries.size()).second;
    if (!is_new) return false;
    data_.entries.push_back(
        {named.key, DataSegmentOf(named.bytes, named.owner), std::nullopt});
    return true;
  }
  const auto [at, is_new] = known_named_.emplace(
      content, static_cast<uint32_t>(named_segments_.size()));
  if (is_new) {
    named_segments_.push_back(named);
  } else {
    deduplicated_ += named.bytes.size();
  }
  named_.push_back({named.key, at->second});
  return true;
}

void Weights::AddConstantsTo(PteProgram* program, PteExportReport* report) {
  report->constant_bytes = constants_.size_bytes();
  report->deduplicated += constants_.deduplicated();
  if (place_ == PteWeightPlace::kInline) {
    for (FlatBlob& entry : constants_.TakeEntries()) {
      program->inline_constants.push_back({std::move(entry)});
    }
    return;
  }
  PteSubsegments entries;
  entries.offsets = constants_.offsets();
  entries.segment = static_cast<uint32_t>(program->segments.size());
  program->constants = std::move(entries);
  program->segments.push_back(constants_.TakeSegment());
}

void Weights::AddNamedDataTo(PteProgram* program, PteExportReport* report) {
  report->deduplicated += deduplicated_;
  const auto first = static_cast<uint32_t>(program->segments.size());
  for (const NamedBytes& named : named_segments_) {
    program->segments.push_back(
        {named.bytes, named.owner, kPteSegmentAlignment});
    report->named_bytes += named.bytes.size();
  }
  for (PteNamedData& named : named_) {
    named.segment += first;
    program->named_data.push_back(std::move(named));
  }
}

std::optional<PtdFile> Weights::TakeDataFile(PteExportReport* report) {
  if (place_ != PteWeightPlace::kDataFile) return std::nullopt;
  for (const PteSegment& segment : data_.segments) {
    report->data_bytes += segment.size_bytes();
  }
  return std::move(data_);
}

}  // namespace tenon::executorch
