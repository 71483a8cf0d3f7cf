// Writes FlatBuffers by way of Fields functions (flat_blob.h).
//
// What a FlatBufferBuilder builds from back to front, this one lays out from
// front to back: a table, then what it refers to. So the tables of a program
// become one string, and the blobs that they refer to stay where they are: they
// follow the tables in the file, and a writer passes them from their place to
// the file.
//
// Scalars that are zero are left out, as are empty vectors and strings of kind
// kOptional. Equal vtables are written once. Same input, same bytes.
#pragma once

#include <array>
#include <bit>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "formats/flatbuffer/flat_blob.h"
#include "support/atomic_file.h"

namespace tenon {

// Zeros up to an alignment. False when `file` refuses.
bool WriteZeros(uint64_t count, AtomicFile& file);

// A finished buffer, starting at byte 0 of a file.
struct FlatImage {
  struct Piece {
    uint64_t position = 0;  // of the bytes; their length stands before them
    Bytes bytes;
  };
  std::string tables;
  std::vector<Piece> blobs;  // by position
  uint64_t size = 0;

  // False when `file` refuses; `file` is then at an unknown place.
  bool Write(AtomicFile& file) const;
};

// A header of the kind that ExecuTorch's formats put behind the identifier: a
// magic of four bytes, the header's length, numbers. Overwrites zeros that were
// left for it (FlatEncoder's constructor).
void PatchFlatHeader(std::string_view magic,
                     std::initializer_list<uint64_t> numbers,
                     std::string* tables);

class FlatEncoder {
 public:
  template <typename T>
  using Ref = const T&;
  static constexpr bool kIsDecoder = false;
  // The format's own bound: offsets are signed in some readers.
  static constexpr uint64_t kMaxBytes = (uint64_t{1} << 31) - 1;

  // `header_bytes` zeros are left between the identifier and the first table.
  FlatEncoder(std::string_view identifier, size_t header_bytes);

  // Nothing when the buffer would be larger than kMaxBytes.
  template <typename T>
  std::optional<FlatImage> Root(const T& root) {
    PatchOffset(0, WriteTable(root));
    return Finish();
  }

  // --- for Fields functions -------------------------------------------------
  template <typename T>
  void Scalar(std::string_view name, const T& value);
  template <typename E>
  void Enum(std::string_view name, const E& value) {
    Scalar(name, static_cast<uint8_t>(value));
  }
  void String(std::string_view name, const std::string& text,
              FlatPresence presence);
  template <typename T>
  void Vector(std::string_view name, const std::vector<T>& items,
              FlatPresence presence);
  // At a multiple of `min_alignment` and of the blob's own.
  void Blob(std::string_view name, const FlatBlob& blob, FlatPresence presence,
            uint64_t min_alignment = 1);
  template <typename T>
  void Tables(std::string_view name, const std::vector<T>& tables,
              FlatPresence presence);
  template <typename T>
  void Table(std::string_view name, const T& table);
  template <typename T>
  void Table(std::string_view name, const std::optional<T>& table);
  template <typename... Ts>
  void Union(std::string_view name, const std::variant<Ts...>& alternatives);

 private:
  // Writes `object` and lets the offset at `position` point to it.
  using WriteFunction = void (*)(FlatEncoder&, const void* object,
                                 size_t position);
  struct Field {
    uint8_t size = 0;  // 0 = absent
    uint64_t bits = 0;
    WriteFunction write = nullptr;
    const void* object = nullptr;
    size_t position = 0;
    const FlatBlob* blob = nullptr;
    uint64_t alignment = 1;  // of the blob
  };
  struct PendingBlob {
    size_t position;
    const FlatBlob* blob;
    uint64_t alignment;
  };
  // More than any table of the formats has.
  static constexpr size_t kMaxFields = 30;

  void Absent() { fields_.emplace_back(); }
  void Child(const void* object, WriteFunction write) {
    Field& field = fields_.emplace_back();
    field.size = sizeof(uint32_t);
    field.write = write;
    field.object = object;
  }
  void Pad(size_t alignment, size_t before = 0);
  void Put(uint64_t bits, size_t size);
  void PatchOffset(size_t position, size_t target);
  size_t PutVectorHead(size_t count, size_t element_bytes);
  // Writes the table of fields_[first..] and notes where they lie.
  size_t LayOut(size_t first);
  size_t FindVtable(const uint16_t* vtable, size_t num_words);
  std::optional<FlatImage> Finish();

  template <typename T>
  size_t WriteTable(const T& table) {
    const size_t first = fields_.size();
    Fields(*this, table);
    const size_t end = fields_.size();
    const size_t position = LayOut(first);
    for (size_t i = first; i < end; ++i) {
      const Field field = fields_[i];  // children move the others
      if (field.write != nullptr) {
        field.write(*this, field.object, field.position);
      } else if (field.blob != nullptr) {
        // Blobs come behind the tables; where, is known at the end.
        blobs_.push_back({field.position, field.blob, field.alignment});
      }
    }
    fields_.resize(first);
    return position;
  }
  template <typename T>
  static void WriteTableAt(FlatEncoder& to, const void* object,
                           size_t position) {
    to.PatchOffset(position, to.WriteTable(*static_cast<const T*>(object)));
  }
  template <typename T>
  static void WriteTablesAt(FlatEncoder& to, const void* object,
                            size_t position);
  template <typename T>
  static void WriteVectorAt(FlatEncoder& to, const void* object,
                            size_t position);
  static void WriteStringAt(FlatEncoder& to, const void* object,
                            size_t position);

  std::string out_;
  std::vector<Field> fields_;  // a stack: those of open tables
  std::vector<size_t> vtables_;
  std::vector<PendingBlob> blobs_;
};

template <typename T>
void FlatEncoder::Scalar(std::string_view, const T& value) {
  // By bits, so that -0.0 isn't taken for the default.
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  Field& field = fields_.emplace_back();
  field.size = bits == 0 ? 0 : sizeof(T);
  field.bits = bits;
}

template <typename T>
void FlatEncoder::Vector(std::string_view, const std::vector<T>& items,
                         FlatPresence presence) {
  if (items.empty() && presence == FlatPresence::kOptional) return Absent();
  Child(&items, &WriteVectorAt<T>);
}

template <typename T>
void FlatEncoder::Tables(std::string_view, const std::vector<T>& tables,
                         FlatPresence presence) {
  if (tables.empty() && presence == FlatPresence::kOptional) return Absent();
  Child(&tables, &WriteTablesAt<T>);
}

template <typename T>
void FlatEncoder::Table(std::string_view, const T& table) {
  Child(&table, &WriteTableAt<T>);
}

template <typename T>
void FlatEncoder::Table(std::string_view, const std::optional<T>& table) {
  if (!table) return Absent();
  Child(&*table, &WriteTableAt<T>);
}

template <typename... Ts>
void FlatEncoder::Union(std::string_view name,
                        const std::variant<Ts...>& alternatives) {
  Scalar(name, static_cast<uint8_t>(alternatives.index() + 1));
  std::visit(
      [&](const auto& table) {
        using T = std::remove_cvref_t<decltype(table)>;
        Child(&table, &WriteTableAt<T>);
      },
      alternatives);
}

template <typename T>
void FlatEncoder::WriteTablesAt(FlatEncoder& to, const void* object,
                                size_t position) {
  const auto& tables = *static_cast<const std::vector<T>*>(object);
  const size_t first = to.PutVectorHead(tables.size(), sizeof(uint32_t));
  to.PatchOffset(position, first - sizeof(uint32_t));
  to.out_.resize(first + tables.size() * sizeof(uint32_t));
  for (size_t i = 0; i < tables.size(); ++i) {
    WriteTableAt<T>(to, &tables[i], first + i * sizeof(uint32_t));
  }
}

template <typename T>
void FlatEncoder::WriteVectorAt(FlatEncoder& to, const void* object,
                                size_t position) {
  const auto& items = *static_cast<const std::vector<T>*>(object);
  const size_t first = to.PutVectorHead(items.size(), sizeof(T));
  to.PatchOffset(position, first - sizeof(uint32_t));
  if constexpr (std::is_same_v<T, bool>) {
    for (const bool item : items) to.Put(item, 1);
  } else {
    to.out_.append(reinterpret_cast<const char*>(items.data()),
                   items.size() * sizeof(T));
  }
}

}  // namespace tenon
