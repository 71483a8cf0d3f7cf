#include "formats/pickle/pickle_writer.h"

#include <algorithm>
#include <limits>

namespace tenon {
namespace {

// Entries that Python's pickler adds to a dict by one opcode.
constexpr size_t kDictRun = 1000;

}  // namespace

template <typename T>
void PickleWriter::Raw(T value) {
  out_.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

PickleWriter::PickleWriter() : out_("\x80\x02") {}

void PickleWriter::None() { out_ += 'N'; }

void PickleWriter::Bool(bool value) { out_ += value ? '\x88' : '\x89'; }

void PickleWriter::Int(int64_t value) {
  if (value >= 0 && value <= std::numeric_limits<uint8_t>::max()) {
    out_ += 'K';
    Raw(static_cast<uint8_t>(value));
  } else if (value >= 0 && value <= std::numeric_limits<uint16_t>::max()) {
    out_ += 'M';
    Raw(static_cast<uint16_t>(value));
  } else if (value >= std::numeric_limits<int32_t>::min() &&
             value <= std::numeric_limits<int32_t>::max()) {
    out_ += 'J';
    Raw(static_cast<int32_t>(value));
  } else {
    // LONG1: the fewest bytes of two's complement that keep the sign.
    uint8_t size = 8;
    while (value == value << (8 * (9 - size)) >> (8 * (9 - size))) --size;
    out_ += '\x8A';
    Raw(size);
    out_.append(reinterpret_cast<const char*>(&value), size);
  }
}

void PickleWriter::Memoize() {
  if (num_slots_ <= std::numeric_limits<uint8_t>::max()) {
    out_ += 'q';
    Raw(static_cast<uint8_t>(num_slots_));
  } else {
    out_ += 'r';
    Raw(num_slots_);
  }
  ++num_slots_;
}

void PickleWriter::Fetch(uint32_t slot) {
  if (slot <= std::numeric_limits<uint8_t>::max()) {
    out_ += 'h';
    Raw(static_cast<uint8_t>(slot));
  } else {
    out_ += 'j';
    Raw(slot);
  }
}

void PickleWriter::Text(std::string_view text) {
  const auto [at, is_new] = texts_.emplace(text, num_slots_);
  if (!is_new) return Fetch(at->second);
  out_ += 'X';
  Raw(static_cast<uint32_t>(text.size()));
  out_ += text;
  Memoize();
}

void PickleWriter::Global(std::string_view module, std::string_view name) {
  std::string line(module);
  line += '\n';
  line += name;
  line += '\n';
  const auto [at, is_new] = globals_.emplace(line, num_slots_);
  if (!is_new) return Fetch(at->second);
  out_ += 'c';
  out_ += line;
  Memoize();
}

void PickleWriter::BeginTuple(size_t count) {
  if (count > 3) out_ += '(';
}

void PickleWriter::EndTuple(size_t count) {
  // EMPTY_TUPLE, TUPLE1, TUPLE2, TUPLE3, TUPLE.
  constexpr char kOpcodes[] = {')', '\x85', '\x86', '\x87', 't'};
  out_ += kOpcodes[std::min<size_t>(count, 4)];
  if (count > 0) Memoize();
}

void PickleWriter::Call() {
  out_ += 'R';
  Memoize();
}

void PickleWriter::Persistent() { out_ += 'Q'; }

void PickleWriter::BeginDict(size_t count) {
  out_ += '}';
  Memoize();
  dict_left_ = count;
  run_left_ = 0;
}

void PickleWriter::DictEntry() {
  if (run_left_ == 0) {
    EndDict();
    run_size_ = run_left_ = std::min(dict_left_, kDictRun);
    if (run_size_ > 1) out_ += '(';
  }
  --run_left_;
  --dict_left_;
}

void PickleWriter::EndDict() {
  if (run_size_ > 0) out_ += run_size_ > 1 ? 'u' : 's';
  run_size_ = 0;
}

std::string PickleWriter::Finish() {
  out_ += '.';
  return std::move(out_);
}

}  // namespace tenon
