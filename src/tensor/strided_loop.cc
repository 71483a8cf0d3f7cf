#include "tensor/strided_loop.h"

#include <algorithm>
#include <numeric>

#include "support/assert.h"

namespace tenon {

StridedLoop::StridedLoop(const Sizes& sizes, std::vector<Sizes> strides,
                         Order order)
    : sizes_(sizes), strides_(std::move(strides)) {
  for (const Sizes& s : strides_) {
    TENON_ASSERT(s.size() == sizes_.size(),
                 "operands of a loop have one stride per dimension");
  }
  for (const int64_t size : sizes_) empty_ = empty_ || size == 0;
  if (order == Order::kAny) SortDims();
  Coalesce();
  offsets_.assign(strides_.size(), 0);
  steps_.assign(strides_.size(), 0);
  if (!sizes_.empty()) {
    run_ = sizes_.back();
    sizes_.pop_back();
    for (size_t k = 0; k < strides_.size(); ++k) {
      steps_[k] = strides_[k].back();
      strides_[k].pop_back();
    }
  }
  index_.assign(sizes_.size(), 0);
}

void StridedLoop::SortDims() {
  if (strides_.empty()) return;
  std::vector<size_t> order(sizes_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::abs(strides_[0][a]) > std::abs(strides_[0][b]);
  });
  const auto permute = [&](Sizes& values) {
    Sizes permuted(values.size());
    for (size_t i = 0; i < order.size(); ++i) permuted[i] = values[order[i]];
    values = std::move(permuted);
  };
  permute(sizes_);
  for (Sizes& s : strides_) permute(s);
}

void StridedLoop::Coalesce() {
  size_t kept = 0;
  for (size_t d = 0; d < sizes_.size(); ++d) {
    if (sizes_[d] == 1) continue;
    const auto merges = [&](const Sizes& s) {
      return s[kept - 1] == s[d] * sizes_[d];
    };
    if (kept > 0 && std::all_of(strides_.begin(), strides_.end(), merges)) {
      sizes_[kept - 1] *= sizes_[d];
      for (Sizes& s : strides_) s[kept - 1] = s[d];
      continue;
    }
    sizes_[kept] = sizes_[d];
    for (Sizes& s : strides_) s[kept] = s[d];
    ++kept;
  }
  sizes_.resize(kept);
  for (Sizes& s : strides_) s.resize(kept);
}

bool StridedLoop::Next() {
  if (empty_) return false;
  if (!started_) {
    started_ = true;
    return true;
  }
  for (size_t d = sizes_.size(); d-- > 0;) {
    ++index_[d];
    for (size_t k = 0; k < strides_.size(); ++k) offsets_[k] += strides_[k][d];
    if (index_[d] < sizes_[d]) return true;
    for (size_t k = 0; k < strides_.size(); ++k) {
      offsets_[k] -= strides_[k][d] * sizes_[d];
    }
    index_[d] = 0;
  }
  return false;
}

}  // namespace tenon
