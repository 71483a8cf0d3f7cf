#include "backends/cpu/packed_weights.h"

#include <algorithm>

namespace tenon::cpu {

PackedWeight::PackedWeight(const dnnl::memory::desc& from,
                           const dnnl::memory::desc& to, Ref weight,
                           const WeightSource& source)
    : from_(from),
      to_(to),
      weight_(weight),
      source_(source),
      reorder_(Reorder(from, to)),
      copy_(Storage::Allocate(to.get_size(), false)) {}

bool PackedWeight::IsUpToDate(const Frame& frame) const {
  if (frame.at<void>(weight_) != packed_bytes_) return false;
  if (source_.is_constant) return true;
  if (source_.input < 0) return false;
  const auto& storage =
      frame.inputs[static_cast<size_t>(source_.input)].tensor().storage();
  return !storage->writable() && !packed_storage_.owner_before(storage) &&
         !storage.owner_before(packed_storage_);
}

void* PackedWeight::Get(const Frame& frame, dnnl::stream& stream) {
  if (IsUpToDate(frame)) return copy_->mutable_data();
  packed_bytes_ = nullptr;
  void* weight = frame.at<void>(weight_);
  if (!reorder_.Run(stream, {weight, copy_->mutable_data()})) return nullptr;
  if (source_.input >= 0) {
    packed_storage_ =
        frame.inputs[static_cast<size_t>(source_.input)].tensor().storage();
  }
  packed_bytes_ = weight;
  return copy_->mutable_data();
}

std::shared_ptr<PackedWeight> PackedWeights::Find(
    const dnnl::memory::desc& from, const dnnl::memory::desc& to, Ref weight,
    const WeightSource& source) {
  std::erase_if(weights_, [](const auto& w) { return w.expired(); });
  if (source.input >= 0) {
    // Buffers are numbered by plan, region inputs are not.
    for (const auto& candidate : weights_) {
      const auto w = candidate.lock();
      if (w->source_.input == source.input &&
          w->weight_.offset_bytes == weight.offset_bytes &&
          w->weight_.buffer == weight.buffer && w->from_ == from &&
          w->to_ == to) {
        return w;
      }
    }
  }
  auto made = std::make_shared<PackedWeight>(from, to, weight, source);
  if (made->copy_ == nullptr) return nullptr;
  if (source.input >= 0) weights_.push_back(made);
  return made;
}

}  // namespace tenon::cpu
