#include "backends/cpu/packed_weights.h"

#include <algorithm>

namespace tenon::cpu {

PackedWeight::PackedWeight(const dnnl::memory::desc& from,
                           const dnnl::memory::desc& to, Ref weight,
                           const WeightSource& source,
                           const std::atomic<bool>* is_shared)
    : from_(from),
      to_(to),
      weight_(weight),
      source_(source),
      is_shared_(is_shared),
      reorder_(Reorder(from, to)),
      copy_(std::make_shared<Copy>()) {
  copy_->bytes = Storage::Allocate(to.get_size(), false);
}

bool PackedWeight::IsUpToDate(const Copy& copy, const Frame& frame) const {
  if (frame.at<void>(weight_) != copy.source_bytes) return false;
  if (source_.is_constant) return true;
  if (source_.input < 0) return false;
  const auto& storage =
      frame.inputs[static_cast<size_t>(source_.input)].tensor().storage();
  return !storage->writable() && !copy.source.owner_before(storage) &&
         !storage.owner_before(copy.source);
}

void* PackedWeight::Get(const Frame& frame, dnnl::stream& stream,
                        std::shared_ptr<Copy>* held) {
  if (*held != nullptr && IsUpToDate(**held, frame)) {
    return (*held)->bytes->mutable_data();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!IsUpToDate(*copy_, frame)) {
    // The first packing is into memory that nobody has seen yet.
    if (*is_shared_ && copy_->source_bytes != nullptr) {
      auto fresh = std::make_shared<Copy>();
      fresh->bytes = Storage::Allocate(to_.get_size(), false);
      if (fresh->bytes == nullptr) return nullptr;
      copy_ = std::move(fresh);
    }
    copy_->source_bytes = nullptr;
    void* weight = frame.at<void>(weight_);
    if (!reorder_.Run(stream, {weight, copy_->bytes->mutable_data()})) {
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
    const WeightSource& source) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(weights_, [](const auto& w) { return w.expired(); });
  if (source.input >= 0) {
    // Buffers are numbered by plan, region inputs are not.
    for (const auto& candidate : weights_) {
      const auto w = candidate.lock();
      if (w != nullptr && w->source_.input == source.input &&
          w->weight_.offset_bytes == weight.offset_bytes &&
          w->weight_.buffer == weight.buffer && w->from_ == from &&
          w->to_ == to) {
        return w;
      }
    }
  }
  auto made =
      std::make_shared<PackedWeight>(from, to, weight, source, &is_shared_);
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
