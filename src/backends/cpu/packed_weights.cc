#include "backends/cpu/packed_weights.h"

#include <algorithm>
#include <cstring>

namespace tenon::cpu {

PackedWeight::PackedWeight(const dnnl::memory::desc& from,
                           const dnnl::memory::desc& to, Ref weight,
                           const WeightSource& source, size_t num_scales,
                           int use, const std::atomic<bool>* is_shared)
    : from_(from),
      to_(to),
      weight_(weight),
      source_(source),
      num_scales_(num_scales),
      use_(use),
      is_shared_(is_shared),
      reorder_(Reorder(from, to)),
      copy_(std::make_shared<Copy>()) {
  copy_->bytes = Storage::Allocate(to.get_size(), false);
  copy_->scale.resize(num_scales);
}

bool PackedWeight::IsUpToDate(const Copy& copy, const Frame& frame,
                              const float* scale) const {
  if (frame.at<void>(weight_) != copy.source_bytes) return false;
  if (scale != nullptr &&
      std::memcmp(scale, copy.scale.data(), num_scales_ * sizeof(float)) != 0) {
    return false;
  }
  if (source_.is_constant) return true;
  if (source_.input < 0) return false;
  const auto& storage =
      frame.inputs[static_cast<size_t>(source_.input)].tensor().storage();
  return !storage->writable() && !copy.source.owner_before(storage) &&
         !storage.owner_before(copy.source);
}

std::shared_ptr<Storage> PackedWeight::Scaled(
    const float* weight, const std::vector<float>& scale) const {
  auto scaled = Storage::Allocate(from_.get_size(), false);
  if (scaled == nullptr) return nullptr;
  auto* to = reinterpret_cast<float*>(scaled->mutable_data());
  const size_t per_channel = from_.get_size() / sizeof(float) / scale.size();
  for (const float factor : scale) {
    for (size_t i = 0; i < per_channel; ++i) *to++ = *weight++ * factor;
  }
  return scaled;
}

void* PackedWeight::Get(const Frame& frame, dnnl::stream& stream,
                        std::shared_ptr<Copy>* held, const float* scale) {
  if (*held != nullptr && IsUpToDate(**held, frame, scale)) {
    return (*held)->bytes->mutable_data();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!IsUpToDate(*copy_, frame, scale)) {
    // The first packing is into memory that nobody has seen yet.
    if (*is_shared_ && copy_->source_bytes != nullptr) {
      auto fresh = std::make_shared<Copy>();
      fresh->bytes = Storage::Allocate(to_.get_size(), false);
      if (fresh->bytes == nullptr) return nullptr;
      fresh->scale.resize(num_scales_);
      copy_ = std::move(fresh);
    }
    copy_->source_bytes = nullptr;
    void* weight = frame.at<void>(weight_);
    void* plain = weight;
    std::shared_ptr<Storage> scaled;
    if (scale != nullptr) {
      std::copy_n(scale, num_scales_, copy_->scale.begin());
      scaled = Scaled(frame.at<float>(weight_), copy_->scale);
      if (scaled == nullptr) return nullptr;
      plain = scaled->mutable_data();
    }
    if (!reorder_.Run(stream, {plain, copy_->bytes->mutable_data()})) {
      return nullptr;
    }
    if (source_.input >= 0) {
      copy_->source =
          frame.inputs[static_cast<size_t>(source_.input)].tensor().storage();
    }
    copy_->source_bytes = weight;
  }
  *held = copy_;
  return copy_->bytes->mutable_data();
}

std::shared_ptr<PackedWeight> PackedWeights::Find(
    const dnnl::memory::desc& from, const dnnl::memory::desc& to, Ref weight,
    const WeightSource& source, size_t num_scales, int use) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(weights_, [](const auto& w) { return w.expired(); });
  if (source.input >= 0) {
    // Buffers are numbered by plan, region inputs are not.
    for (const auto& candidate : weights_) {
      const auto w = candidate.lock();
      if (w != nullptr && w->source_.input == source.input &&
          w->weight_.offset_bytes == weight.offset_bytes &&
          w->weight_.buffer == weight.buffer && w->from_ == from &&
          w->to_ == to && w->num_scales_ == num_scales && w->use_ == use) {
        return w;
      }
    }
  }
  auto made = std::make_shared<PackedWeight>(from, to, weight, source,
                                             num_scales, use, &is_shared_);
  if (made->copy_->bytes == nullptr) return nullptr;
  weights_.push_back(made);
  return made;
}

size_t PackedWeights::size_bytes() {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t sum = 0;
  for (const auto& candidate : weights_) {
    const auto w = candidate.lock();
    if (w != nullptr) sum += w->to_.get_size();
  }
  return sum;
}

}  // namespace tenon::cpu
