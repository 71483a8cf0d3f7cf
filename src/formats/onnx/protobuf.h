// The wire format of protocol buffers: fields of a number, a wire type and a
// value, in any order. Messages inside messages are fields of bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "support/byte_cursor.h"

namespace tenon::onnx {

enum class WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kFixed32 = 5
};

// Appends fields to a text. Negative integers take ten bytes, as protobuf's
// int64 does.
class ProtoWriter {
 public:
  void Int(uint32_t field, int64_t value);
  void Float(uint32_t field, float value);
  void Text(uint32_t field, std::string_view bytes);
  // A field that is a message.
  void Message(uint32_t field, const ProtoWriter& message) {
    Text(field, message.text_);
  }

  const std::string& text() const { return text_; }
  std::string Take() { return std::move(text_); }

 private:
  void Varint(uint64_t value);
  void Tag(uint32_t field, WireType type);

  std::string text_;
};

struct ProtoField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t integer = 0;  // kVarint, kFixed32, kFixed64
  Bytes bytes;           // kBytes

  float AsFloat() const;  // of kFixed32
  std::string_view text() const { return AsText(bytes); }
};

// Reads one message. Nothing is trusted: lengths lie inside the message,
// varints have at most ten bytes, groups are refused.
class ProtoReader {
 public:
  explicit ProtoReader(Bytes message) : cursor_(message) {}

  bool at_end() const { return cursor_.left() == 0; }
  // Where the next field begins, in bytes from the message's beginning.
  size_t offset() const { return cursor_.offset(); }
  // Nothing where the bytes are no field.
  std::optional<ProtoField> Next();
  std::optional<uint64_t> Varint();

 private:
  ByteCursor cursor_;
};

}  // namespace tenon::onnx
