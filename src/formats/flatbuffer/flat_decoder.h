// Reads FlatBuffers of unknown origin by way of Fields functions
// (flat_blob.h).
//
// Nothing is trusted: each table, vtable, vector and string must lie inside the
// bytes and be aligned as the format wants it, strings must end in a zero,
// vectors' lengths are compared with the bytes that are left before anything is
// allocated. Objects may be shared, so that a small file could stand for a huge
// structure: all that is visited together may be at most a small multiple of
// the file. The first error ends the reading, with its byte offset.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "diag/diagnostics.h"
#include "formats/flatbuffer/flat_blob.h"
#include "support/expected.h"

namespace tenon {

// The rules that a format cites.
struct FlatRules {
  Rule structure;  // an object outside the file, misaligned, unterminated
  Rule required;   // a field that must be there is absent
  Rule known;      // an enum value or union tag that names nothing
};

class FlatDecoder {
 public:
  template <typename T>
  using Ref = T&;
  static constexpr bool kIsDecoder = true;

  // `bytes` begin with the root offset; blobs become views that hold `owner`.
  // `file` names the bytes in messages.
  FlatDecoder(Bytes bytes, std::shared_ptr<const void> owner, std::string file,
              const FlatRules& rules, Diagnostics& diags);

  template <typename T>
  Status Root(T& root) {
    if (const auto position = Follow(0)) ReadTable(*position, root);
    return failed_ ? Status(Failure{}) : Status();
  }

  // --- for Fields functions -------------------------------------------------
  template <typename T>
  void Scalar(std::string_view name, T& value);
  template <typename E>
  void Enum(std::string_view name, E& value);
  void String(std::string_view name, std::string& text, FlatPresence presence);
  // A vector of scalars.
  template <typename T>
  void Vector(std::string_view name, std::vector<T>& items,
              FlatPresence presence);
  void Blob(std::string_view name, FlatBlob& blob, FlatPresence presence,
            uint64_t min_alignment = 1);
  // A vector of tables.
  template <typename T>
  void Tables(std::string_view name, std::vector<T>& tables,
              FlatPresence presence);
  template <typename T>
  void Table(std::string_view name, T& table);
  template <typename T>
  void Table(std::string_view name, std::optional<T>& table);
  // Tag i + 1 stands for the i-th alternative; 0 and absence are errors.
  template <typename... Ts>
  void Union(std::string_view name, std::variant<Ts...>& alternatives);

 private:
  struct Frame {
    std::string_view table;
    uint32_t position = 0;
    uint32_t vtable = 0;
    uint16_t vtable_bytes = 0;
    uint16_t table_bytes = 0;
    uint16_t next_id = 0;
  };
  // Elements of a vector: where the first lies, and how many there are.
  struct Elements {
    uint32_t position = 0;
    uint32_t count = 0;
  };

  template <typename T>
  T Load(uint64_t position) const {
    T value;
    std::memcpy(&value, bytes_.data() + position, sizeof(T));
    return value;
  }
  bool Holds(uint64_t position, uint64_t size) const {
    return position <= bytes_.size() && size <= bytes_.size() - position;
  }

  DiagnosticBuilder Fail(Rule rule, uint64_t position);
  DiagnosticBuilder FailField(Rule rule, uint64_t position,
                              std::string_view name);
  bool Spend(uint64_t size, uint64_t position);
  // The position that the offset at `position` points to.
  std::optional<uint32_t> Follow(uint64_t position);
  bool Enter(uint32_t position, std::string_view table);
  void CheckNoMoreFields();
  // Takes the next id. Where its `size` bytes lie; nothing when the field is
  // absent or after an error.
  std::optional<uint32_t> Field(std::string_view name, uint32_t size);
  std::optional<Elements> VectorField(std::string_view name,
                                      uint32_t element_bytes,
                                      FlatPresence presence);
  void MissingField(std::string_view name);

  template <typename T>
  void ReadTable(uint32_t position, T& table) {
    const Frame outer = std::exchange(frame_, Frame());
    if (Enter(position, T::kTable)) {
      Fields(*this, table);
      CheckNoMoreFields();
    }
    frame_ = outer;
  }
  template <typename T>
  void ReadTableAt(uint32_t offset_position, T& table) {
    if (const auto target = Follow(offset_position)) ReadTable(*target, table);
  }
  template <size_t I, typename... Ts>
  bool ReadAlternative(uint8_t tag, uint32_t offset_position,
                       std::variant<Ts...>& alternatives) {
    if (tag != I + 1) return false;
    ReadTableAt(offset_position, alternatives.template emplace<I>());
    return true;
  }
  template <typename... Ts, size_t... Is>
  bool ReadAlternatives(uint8_t tag, uint32_t offset_position,
                        std::variant<Ts...>& alternatives,
                        std::index_sequence<Is...>) {
    return (ReadAlternative<Is>(tag, offset_position, alternatives) || ...);
  }

  Bytes bytes_;
  std::shared_ptr<const void> owner_;
  std::string file_;
  FlatRules rules_;
  Diagnostics& diags_;
  Frame frame_;
  uint64_t budget_;
  bool failed_ = false;
};

template <typename T>
void FlatDecoder::Scalar(std::string_view name, T& value) {
  const auto position = Field(name, sizeof(T));
  if constexpr (std::is_same_v<T, bool>) {
    value = position && Load<uint8_t>(*position) != 0;
  } else {
    value = position ? Load<T>(*position) : T();
  }
}

template <typename E>
void FlatDecoder::Enum(std::string_view name, E& value) {
  static_assert(sizeof(E) == 1);
  const auto position = Field(name, 1);
  value = static_cast<E>(position ? Load<uint8_t>(*position) : uint8_t{0});
  if (!failed_ && Name(value).empty()) {
    FailField(rules_.known, position.value_or(frame_.position), name)
        << " is " << static_cast<int>(value) << ", which is no known value";
  }
}

template <typename T>
void FlatDecoder::Vector(std::string_view name, std::vector<T>& items,
                         FlatPresence presence) {
  items.clear();
  const auto elements = VectorField(name, sizeof(T), presence);
  if (!elements) return;
  if constexpr (std::is_same_v<T, bool>) {
    for (uint32_t i = 0; i < elements->count; ++i) {
      items.push_back(Load<uint8_t>(elements->position + i) != 0);
    }
  } else if (elements->count > 0) {
    items.resize(elements->count);
    std::memcpy(items.data(), bytes_.data() + elements->position,
                size_t{elements->count} * sizeof(T));
  }
}

template <typename T>
void FlatDecoder::Tables(std::string_view name, std::vector<T>& tables,
                         FlatPresence presence) {
  tables.clear();
  const auto elements = VectorField(name, sizeof(uint32_t), presence);
  if (!elements) return;
  // The smallest table is an offset and a reference to it.
  constexpr uint64_t kMinBytes = 8;
  tables.reserve(std::min<uint64_t>(elements->count, budget_ / kMinBytes));
  for (uint32_t i = 0; i < elements->count && !failed_; ++i) {
    ReadTableAt(elements->position + i * uint32_t{sizeof(uint32_t)},
                tables.emplace_back());
  }
}

template <typename T>
void FlatDecoder::Table(std::string_view name, T& table) {
  const auto position = Field(name, sizeof(uint32_t));
  if (!position) return MissingField(name);
  ReadTableAt(*position, table);
}

template <typename T>
void FlatDecoder::Table(std::string_view name, std::optional<T>& table) {
  table.reset();
  const auto position = Field(name, sizeof(uint32_t));
  if (position) ReadTableAt(*position, table.emplace());
}

template <typename... Ts>
void FlatDecoder::Union(std::string_view name,
                        std::variant<Ts...>& alternatives) {
  const auto tag_position = Field(name, 1);
  const uint8_t tag = tag_position ? Load<uint8_t>(*tag_position) : uint8_t{0};
  const auto position = Field(name, sizeof(uint32_t));
  if (failed_) return;
  if (tag == 0) return MissingField(name);
  if (tag > sizeof...(Ts)) {
    FailField(rules_.known, *tag_position, name)
        << " is of kind " << int{tag} << ", which is no known kind";
    return;
  }
  if (!position) return MissingField(name);
  ReadAlternatives(tag, *position, alternatives,
                   std::index_sequence_for<Ts...>());
}

}  // namespace tenon
