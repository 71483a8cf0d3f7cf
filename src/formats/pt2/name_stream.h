// Finds interned names that come in the order in which they were interned.
#pragma once

#include <string_view>

#include "support/string_pool.h"

namespace tenon {

// A file mentions the same names in the same order several times: types of
// values, inputs, results of nodes. So the name behind the last one found is
// tried first, which needs neither a hash nor a cache line far away. That is
// for speed alone; any order of names is found.
class NameStream {
 public:
  explicit NameStream(StringPool* strings) : strings_(*strings) {}

  // Invalid when `name` was never interned.
  StringId Find(std::string_view name) {
    if (IsNext(name)) return StringId(next_++);
    return Found(strings_.Find(name));
  }
  StringId Intern(std::string_view name) {
    if (IsNext(name)) return StringId(next_++);
    return Found(strings_.Intern(name));
  }

 private:
  bool IsNext(std::string_view name) const {
    return next_ < strings_.size() && strings_.view(StringId(next_)) == name;
  }
  StringId Found(StringId id) {
    if (id.valid()) next_ = id.index + 1;
    return id;
  }

  StringPool& strings_;
  uint32_t next_ = 0;
};

}  // namespace tenon
