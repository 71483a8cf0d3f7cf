// The opcodes of a pickle, one after the other, with what follows each
// (opcodes.def). Knows where an opcode ends, not what it does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/byte_cursor.h"

namespace tenon {

enum class PickleOp : uint8_t {
#define TENON_PICKLE_OP(name, byte, text, argument) k##name = byte,
#include "formats/pickle/opcodes.def"
#undef TENON_PICKLE_OP
};

constexpr uint8_t kMaxPickleProtocol = 5;

struct PickleInstruction {
  PickleOp op = PickleOp::kStop;
  uint64_t at = 0;     // of the opcode
  int64_t number = 0;  // U1 .. U8, S4: the value; F8: its bits
  Bytes bytes;         // B1 .. B8; Line and the first of TwoLines
  std::string_view second_line;
};

class PickleCursor {
 public:
  explicit PickleCursor(Bytes bytes, size_t offset = 0)
      : cursor_(bytes, offset) {}

  // False at the first place where there is no whole opcode; `problem` then
  // says why and `at` where.
  bool Next(PickleInstruction* out);

  size_t offset() const { return cursor_.offset(); }
  uint64_t at() const { return at_; }
  const std::string& problem() const { return problem_; }

 private:
  template <typename T>
  bool ReadNumber(PickleInstruction* out);
  template <typename Count>
  bool ReadCounted(PickleInstruction* out);
  bool ReadLine(Bytes* out);
  bool Fail(std::string problem);

  ByteCursor cursor_;
  uint64_t at_ = 0;
  std::string problem_;
};

}  // namespace tenon
