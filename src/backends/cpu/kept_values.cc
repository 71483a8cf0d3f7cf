#include "backends/cpu/kept_values.h"

#include <utility>

namespace tenon::cpu {

bool KeptValues::IsUpToDate(std::span<const RuntimeValue> inputs) const {
  if (is_due_ || sources_.size() != inputs_.size()) return false;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& t = inputs[inputs_[i]].tensor();
    const Source& source = sources_[i];
    if (t.storage()->writable() || t.raw() != source.data ||
        source.storage.owner_before(t.storage()) ||
        t.storage().owner_before(source.storage)) {
      return false;
    }
  }
  return true;
}

bool KeptValues::Bind(std::span<const RuntimeValue> inputs,
                      std::vector<std::byte*>* bases) {
  if (!IsUpToDate(inputs)) {
    is_due_ = true;
    sources_.clear();
    for (const uint32_t i : inputs_) {
      const Tensor& t = inputs[i].tensor();
      sources_.push_back({t.storage(), t.raw()});
    }
    // The old ones live until there are others, so that addresses differ.
    std::vector<std::shared_ptr<Storage>> fresh;
    for (const Value& value : values_) {
      fresh.push_back(Storage::Allocate(value.size_bytes, false));
      if (fresh.back() == nullptr) return false;
    }
    storages_ = std::move(fresh);
  }
  for (size_t i = 0; i < values_.size(); ++i) {
    (*bases)[values_[i].buffer] = storages_[i]->mutable_data();
  }
  return true;
}

}  // namespace tenon::cpu
