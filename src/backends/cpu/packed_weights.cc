#include "backends/cpu/packed_weights.h"

#include <algorithm>
#include <cstring>

namespace tenon::cpu {

PackedWeight::PackedWeight(const dnnl::memory::desc& from,
                           const dnnl::memory::desc& to, Ref weight,
                           const WeightSource& source, size_t num_scales,
                           int use)
    : from_(from),
      to_(to),
      weight_(weight),
      source_(source),
      use_(use),
      reorder_(Reorder(from, to)),
      copy_(Storage::Allocate(to.get_size(), false)),
      packed_scale_(num_scales) {}

bool PackedWeight::IsUpToDate(const Frame& frame, const float* scale) const {
  if (frame.at<void>(weight_) != packed_bytes_) return false;
  if (scale != nullptr && std::memcmp(scale, packed_scale_.data(),
                                      packed_scale_.size() * sizeof(float))) {
    return false;
  }
  if (source_.is_constant) return true;
  if (source_.input < 0) return false;
  const auto& storage =
      frame.inputs[static_cast<size_t>(source_.input)].tensor().storage();
  return !storage->writable() && !packed_storage_.owner_before(storage) &&
         !storage.owner_before(packed_storage_);
}

std::shared_ptr<Storage> PackedWeight::Scaled(const float* weight) const {
  auto scaled = Storage::Allocate(from_.get_size(), false);
  if (scaled == nullptr) return nullptr;
  auto* to = reinterpret_cast<float*>(scaled->mutable_data());
  const size_t per_channel =
      from_.get_size() / sizeof(float) / packed_scale_.size();
  for (const float scale : packed_scale_) {
    for (size_t i = 0; i < per_channel; ++i) *to++ = *weight++ * scale;
  }
  return scaled;
}

void* PackedWeight::Get(const Frame& frame, dnnl::stream& stream,
                        const float* scale) {
  if (IsUpToDate(frame, scale)) return copy_->mutable_data();
  packed_bytes_ = nullptr;
  void* weight = frame.at<void>(weight_);
  void* plain = weight;
  std::shared_ptr<Storage> scaled;
  if (scale != nullptr) {
    std::copy_n(scale, packed_scale_.size(), packed_scale_.begin());
    scaled = Scaled(frame.at<float>(weight_));
    if (scaled == nullptr) return nullptr;
    plain = scaled->mutable_data();
  }
  if (!reorder_.Run(stream, {plain, copy_->mutable_data()})) return nullptr;
  if (source_.input >= 0) {
    packed_storage_ =
        frame.inputs[static_cast<size_t>(source_.input)].tensor().storage();
  }
  packed_bytes_ = weight;
  return copy_->mutable_data();
}

std::shared_ptr<PackedWeight> PackedWeights::Find(
    const dnnl::memory::desc& from, const dnnl::memory::desc& to, Ref weight,
    const WeightSource& source, size_t num_scales, int use) {
  std::erase_if(weights_, [](const auto& w) { return w.expired(); });
  if (source.input >= 0) {
    // Buffers are numbered by plan, region inputs are not.
    for (const auto& candidate : weights_) {
      const auto w = candidate.lock();
      if (w->source_.input == source.input &&
          w->weight_.offset_bytes == weight.offset_bytes &&
          w->weight_.buffer == weight.buffer && w->from_ == from &&
          w->to_ == to && w->packed_scale_.size() == num_scales &&
          w->use_ == use) {
        return w;
      }
    }
  }
  auto made =
      std::make_shared<PackedWeight>(from, to, weight, source, num_scales, use);
  if (made->copy_ == nullptr) return nullptr;
  if (source.input >= 0) weights_.push_back(made);
  return made;
}

}  // namespace tenon::cpu
