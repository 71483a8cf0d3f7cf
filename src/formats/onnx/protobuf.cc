#include "formats/onnx/protobuf.h"

#include <bit>

namespace tenon::onnx {
namespace {

constexpr uint32_t kMaxField = (uint32_t{1} << 29) - 1;

template <typename T>
void AppendLittleEndian(T value, std::string* out) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    out->push_back(static_cast<char>(value >> (8 * i) & 0xFF));
  }
}

}  // namespace

void ProtoWriter::Varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    text_.push_back(static_cast<char>(value | 0x80));
  }
  text_.push_back(static_cast<char>(value));
}

void ProtoWriter::Tag(uint32_t field, WireType type) {
  Varint(uint64_t{field} << 3 | static_cast<uint64_t>(type));
}

void ProtoWriter::Int(uint32_t field, int64_t value) {
  Tag(field, WireType::kVarint);
  Varint(static_cast<uint64_t>(value));
}

void ProtoWriter::Float(uint32_t field, float value) {
  Tag(field, WireType::kFixed32);
  AppendLittleEndian(std::bit_cast<uint32_t>(value), &text_);
}

void ProtoWriter::Text(uint32_t field, std::string_view bytes) {
  Tag(field, WireType::kBytes);
  Varint(bytes.size());
  text_.append(bytes);
}

float ProtoField::AsFloat() const {
  return std::bit_cast<float>(static_cast<uint32_t>(integer));
}

std::optional<uint64_t> ProtoReader::Varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = cursor_.Read<uint8_t>();
    if (!byte) return std::nullopt;
    // The tenth byte has one bit left.
    if (shift == 63 && *byte > 1) return std::nullopt;
    value |= uint64_t{*byte & 0x7Fu} << shift;
    if (*byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<ProtoField> ProtoReader::Next() {
  const auto tag = Varint();
  if (!tag || *tag >> 3 == 0 || *tag >> 3 > kMaxField) return std::nullopt;
  ProtoField field;
  field.number = static_cast<uint32_t>(*tag >> 3);
  field.type = static_cast<WireType>(*tag & 7);
  switch (field.type) {
    case WireType::kVarint: {
      const auto value = Varint();
      if (!value) return std::nullopt;
      field.integer = *value;
      return field;
    }
    case WireType::kFixed64: {
      const auto value = cursor_.Read<uint64_t>();
      if (!value) return std::nullopt;
      field.integer = *value;
      return field;
    }
    case WireType::kBytes: {
      const auto size = Varint();
      if (!size) return std::nullopt;
      const auto bytes = cursor_.Take(*size);
      if (!bytes) return std::nullopt;
      field.bytes = *bytes;
      return field;
    }
    case WireType::kFixed32: {
      const auto value = cursor_.Read<uint32_t>();
      if (!value) return std::nullopt;
      field.integer = *value;
      return field;
    }
  }
  return std::nullopt;  // groups, and what has no meaning
}

}  // namespace tenon::onnx
