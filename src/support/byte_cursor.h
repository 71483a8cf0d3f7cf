// The one bounds-checked reader of untrusted little-endian bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace tenon {

using Bytes = std::span<const std::byte>;

inline std::string_view AsText(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline Bytes AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// Every read says whether enough bytes were left; a failed read moves nothing.
class ByteCursor {
 public:
  explicit ByteCursor(Bytes bytes, size_t offset = 0)
      : bytes_(bytes), offset_(offset < bytes.size() ? offset : bytes.size()) {}

  size_t offset() const { return offset_; }
  size_t left() const { return bytes_.size() - offset_; }

  template <typename T>
  std::optional<T> Read() {
    static_assert(std::is_trivially_copyable_v<T>);
    if (left() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  std::optional<Bytes> Take(uint64_t size_bytes) {
    if (size_bytes > left()) return std::nullopt;
    Bytes out = bytes_.subspan(offset_, size_bytes);
    offset_ += size_bytes;
    return out;
  }

  bool Seek(uint64_t offset) {
    if (offset > bytes_.size()) return false;
    offset_ = offset;
    return true;
  }

 private:
  Bytes bytes_;
  size_t offset_;
};

}  // namespace tenon
