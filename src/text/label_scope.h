// Labels may repeat, so a reference is a label and a count: %add is the first
// value labelled "add", %add#2 the second. Counting and looking up.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "support/string_pool.h"

namespace tenon {

// Hands out 1, 2, 3, ... for each label.
class LabelCounter {
 public:
  void Clear() { ++round_; }
  uint32_t Next(StringId label) {
    const size_t i = label.valid() ? label.index + size_t{1} : 0;
    if (i >= counts_.size()) counts_.resize(i + 1);
    Count& c = counts_[i];
    if (c.round != round_) c = {round_, 0};
    return ++c.count;
  }

 private:
  struct Count {
    uint32_t round = 0, count = 0;
  };
  std::vector<Count> counts_;
  uint32_t round_ = 1;
};

// Finds what was defined under a label and its number. The first of each label
// lies in a table by string, so that the usual case needs no hashing.
template <typename IdType>
class LabelScope {
 public:
  void Clear() {
    ++round_;
    later_.clear();
  }
  // False when the place is taken.
  bool Define(StringId label, uint32_t ordinal, IdType id) {
    if (ordinal != 1) return later_.try_emplace(Key(label, ordinal), id).second;
    if (label.index >= firsts_.size()) {
      firsts_.resize(label.index + size_t{1});
    }
    First& f = firsts_[label.index];
    if (f.round == round_) return false;
    f = {round_, id};
    return true;
  }
  // Invalid when there is none.
  IdType Find(StringId label, uint32_t ordinal) const {
    if (ordinal != 1) {
      const auto it = later_.find(Key(label, ordinal));
      return it == later_.end() ? IdType() : it->second;
    }
    if (label.index >= firsts_.size()) return IdType();
    const First& f = firsts_[label.index];
    return f.round == round_ ? f.id : IdType();
  }

 private:
  struct First {
    uint32_t round = 0;
    IdType id;
  };
  static uint64_t Key(StringId label, uint32_t ordinal) {
    return static_cast<uint64_t>(label.index) << 32 | ordinal;
  }

  std::vector<First> firsts_;
  std::unordered_map<uint64_t, IdType> later_;
  uint32_t round_ = 1;
};

}  // namespace tenon
