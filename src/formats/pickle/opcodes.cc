#include "formats/pickle/opcodes.h"

#include <array>
#include <cstring>
#include <utility>

namespace tenon {
namespace {

enum class Argument : uint8_t {
  kNoOpcode,
  kNone,
  kU1,
  kU2,
  kU4,
  kU8,
  kS4,
  kF8,
  kB1,
  kB4,
  kB8,
  kLine,
  kTwoLines,
};

constexpr std::array<Argument, 256> kArguments = [] {
  std::array<Argument, 256> table = {};
#define TENON_PICKLE_OP(name, byte, text, argument) \
  table[byte] = Argument::k##argument;
#include "formats/pickle/opcodes.def"
#undef TENON_PICKLE_OP
  return table;
}();

}  // namespace

bool PickleCursor::Fail(std::string problem) {
  problem_ = std::move(problem);
  return false;
}

template <typename T>
bool PickleCursor::ReadNumber(PickleInstruction* out) {
  const auto value = cursor_.Read<T>();
  if (!value) return Fail("truncated inside an opcode");
  out->number = static_cast<int64_t>(*value);
  return true;
}

template <typename Count>
bool PickleCursor::ReadCounted(PickleInstruction* out) {
  const auto count = cursor_.Read<Count>();
  if (!count) return Fail("truncated inside an opcode");
  const auto bytes = cursor_.Take(*count);
  if (!bytes) {
    return Fail("a length of " + std::to_string(uint64_t{*count}) +
                " bytes exceeds the " + std::to_string(cursor_.left()) +
                " bytes left");
  }
  out->bytes = *bytes;
  return true;
}

bool PickleCursor::ReadLine(Bytes* out) {
  const size_t start = cursor_.offset();
  const Bytes rest = *cursor_.Take(cursor_.left());
  const void* end =
      rest.empty() ? nullptr : std::memchr(rest.data(), '\n', rest.size());
  if (end == nullptr) {
    cursor_.Seek(start);
    return Fail("truncated inside an opcode");
  }
  const auto size =
      static_cast<size_t>(static_cast<const std::byte*>(end) - rest.data());
  *out = rest.first(size);
  cursor_.Seek(start + size + 1);
  return true;
}

bool PickleCursor::Next(PickleInstruction* out) {
  at_ = cursor_.offset();
  const auto opcode = cursor_.Read<uint8_t>();
  if (!opcode) return Fail("truncated: no STOP opcode");
  *out = PickleInstruction();
  out->op = static_cast<PickleOp>(*opcode);
  out->at = at_;
  switch (kArguments[*opcode]) {
    case Argument::kNoOpcode:
      return Fail("pickle opcode " + std::to_string(*opcode) +
                  " isn't supported");
    case Argument::kNone:
      return true;
    case Argument::kU1:
      return ReadNumber<uint8_t>(out);
    case Argument::kU2:
      return ReadNumber<uint16_t>(out);
    case Argument::kU4:
      return ReadNumber<uint32_t>(out);
    case Argument::kU8:
    case Argument::kF8:
      return ReadNumber<uint64_t>(out);
    case Argument::kS4:
      return ReadNumber<int32_t>(out);
    case Argument::kB1:
      return ReadCounted<uint8_t>(out);
    case Argument::kB4:
      return ReadCounted<uint32_t>(out);
    case Argument::kB8:
      return ReadCounted<uint64_t>(out);
    case Argument::kLine:
      return ReadLine(&out->bytes);
    case Argument::kTwoLines: {
      Bytes second;
      if (!ReadLine(&out->bytes) || !ReadLine(&second)) return false;
      out->second_line = AsText(second);
      return true;
    }
  }
  return Fail("pickle opcode " + std::to_string(*opcode) + " isn't supported");
}

}  // namespace tenon
