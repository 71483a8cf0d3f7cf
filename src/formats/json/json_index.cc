#include "formats/json/json_index.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "formats/json/json_blocks.h"
#include "formats/json/json_repeats.h"
#include "support/utf8.h"

namespace tenon {
namespace {

constexpr const char* kEnd = "unexpected end of JSON";
constexpr const char* kTooDeep = "nesting too deep";
constexpr const char* kNoMemory = "no memory for the index of the JSON";
constexpr const char* kToken = "bad JSON: unexpected token";
constexpr const char* kScalar = "bad JSON: neither a number nor a word";
constexpr const char* kEscape = "bad JSON: an unknown escape in a string";
constexpr const char* kSurrogate = "bad JSON: half a surrogate pair";
constexpr const char* kControl = "bad JSON: a control character in a string";
constexpr const char* kUtf8 = "bad JSON: not UTF-8";

// Behind all tokens; no text has so many bytes.
constexpr uint32_t kNoPosition = ~0u;
static_assert(kNoPosition > kMaxJsonBytes);
constexpr char kEndOfText[] = "";

constexpr std::string_view kWords[] = {"null", "true",     "false",
                                       "NaN",  "Infinity", "-Infinity"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

constexpr std::array<bool, 256> EndsOfTokens() {
  std::array<bool, 256> ends = {};
  for (const char c : {',', ']', '}', ':', ' ', '\t', '\n', '\r'}) {
    ends[static_cast<unsigned char>(c)] = true;
  }
  return ends;
}
constexpr std::array<bool, 256> kEndsToken = EndsOfTokens();

bool EndsToken(char c) { return kEndsToken[static_cast<unsigned char>(c)]; }

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

class JsonIndexer {
 public:
  JsonIndexer(std::string_view text, uint32_t max_depth, JsonIndex* out)
      : text_(text), max_depth_(max_depth), out_(*out) {}

  JsonIndex::Fault Run() {
    if (text_.empty()) return {kEnd, 0};
    if (!Index()) return fault_;
    if (is_wide_) {
      const size_t bad = FindBadUtf8(text_);
      if (bad != std::string_view::npos) return {kUtf8, bad};
    }
    return {};
  }

 private:
  // What the loop keeps at hand: the next token found and the next entry.
  struct Cursor {
    const uint32_t* token;
    uint32_t* entry;
  };

  // Tokens are named by where they stand in the text; the end is kEndOfText.
  // False with `fault_` set.
  bool Index() {
    // Local, so that they stay in registers; so do those that the functions
    // written here capture.
    Cursor cursor{positions_, nullptr};
    uint32_t count = 0;  // members of the innermost container so far
    char closer = '\0';  // '}' or ']'
    const char* const text = text_.data();

    const auto offset = [text](const char* at) {
      return static_cast<uint32_t>(at - text);
    };
    const auto next = [&] {
      if (*cursor.token == kNoPosition) {
        cursor = Refill(cursor);
        if (*cursor.token == kNoPosition) return kEndOfText;
      }
      return text + *cursor.token++;
    };
    // There was a token, so Refill has made room.
    const auto put = [&](const char* at) {
      *cursor.entry++ = offset(at);  // NOLINT: never null
    };
    // From a key to its value; nothing in arrays.
    const auto next_member = [&](const char** at) {
      ++count;
      if (closer == ']') return true;
      if (**at != '"') return false;
      put(*at);
      *at = next();
      if (**at != ':') return false;
      *at = next();
      return true;
    };

    const char* at = next();
    while (true) {
      // A value begins at `at`.
      const char c = *at;
      if (c == '"') {
        put(at);
        at = next();
      } else if (c == '{' || c == '[') {
        uint32_t slot = JsonRepeats::kNoSlot;
        if (c == '{') slot = repeats_.FindSlot(text_, offset(at), Depth() + 1);
        if (slot != JsonRepeats::kNoSlot &&
            Repeats(offset(at), slot, &cursor)) {
          at = next();
        } else {
          if (Depth() + 1 >= max_depth_) return Fail(kTooDeep, offset(at));
          stack_.push_back({NumEntries(cursor), count, slot, closer});
          count = 0;
          closer = c == '{' ? '}' : ']';
          put(at);
          cursor.entry += JsonIndex::kContainerEntries - 1;  // see Close
          at = next();
          if (*at != closer) {
            if (!next_member(&at)) return Unexpected(at);
            continue;
          }
        }
      } else {
        if (!Scalar(at)) return false;
        put(at);
        at = next();
      }
      // Behind a value.
      while (*at == closer && Depth() > 0) {
        Close(offset(at), count, closer, cursor);
        count = stack_.back().count;
        closer = stack_.back().closer;
        stack_.pop_back();
        at = next();
      }
      if (Depth() == 0) {
        out_.size_ = NumEntries(cursor);
        return at == kEndOfText || Unexpected(at);
      }
      if (*at != ',') return Unexpected(at);
      at = next();
      if (!next_member(&at)) return Unexpected(at);
    }
  }

  size_t Depth() const { return stack_.size(); }
  uint32_t NumEntries(const Cursor& cursor) const {
    return static_cast<uint32_t>(cursor.entry - out_.entries_.get());
  }

  // Fills in the innermost container's entries.
  void Close(uint32_t at, uint32_t count, char closer, const Cursor& cursor) {
    const Frame& frame = stack_.back();
    uint32_t* entry = out_.entries_.get() + frame.entry;
    entry[JsonIndex::kBytes] = at + 1 - entry[0];
    entry[JsonIndex::kEntries] = static_cast<uint32_t>(cursor.entry - entry);
    entry[JsonIndex::kCount] = count;
    if (closer != '}') return;
    const bool is_large = repeats_.Note(Depth(), entry[JsonIndex::kBytes]);
    if (is_large && frame.slot != JsonRepeats::kNoSlot) {
      repeats_.Add(frame.slot, {frame.entry, entry[0], entry[JsonIndex::kBytes],
                                count, static_cast<uint32_t>(Depth())});
    }
  }

  // Whether the object at `at` is like an earlier one; if so, it is indexed and
  // the next token is the one behind it.
  bool Repeats(uint32_t at, uint32_t slot, Cursor* cursor) {
    const JsonRepeats::Object* like =
        repeats_.Find(text_, at, slot, Depth() + 1);
    if (like == nullptr) return false;
    uint32_t* entry = cursor->entry;
    entry[0] = at;  // NOLINT: never null, there was a token
    entry[JsonIndex::kBytes] = like->num_bytes;
    entry[JsonIndex::kEntries] = JsonIndex::kRepeatEntries;
    entry[JsonIndex::kCount] = like->num_members;
    entry[JsonIndex::kOriginal] = like->entry;
    cursor->entry += JsonIndex::kRepeatEntries;
    const size_t end = size_t{at} + like->num_bytes;
    while (*cursor->token < end) ++cursor->token;
    if (*cursor->token == kNoPosition && end > scanned_) {
      scanned_ = end;
      tokens_ = JsonTokenizer();
    }
    return true;
  }

  // Whether a number or word begins at `at`.
  bool Scalar(const char* at) {
    const char c = *at;
    if (c == ',' || c == ':' || c == '}' || c == ']' || at == kEndOfText) {
      return Unexpected(at);
    }
    const auto begin = static_cast<size_t>(at - text_.data());
    size_t end = NumberEnd(begin);
    if (end == begin) end = WordEnd(begin);
    if (end == begin || (end < text_.size() && !EndsToken(text_[end]))) {
      return Fail(kScalar, begin);
    }
    return true;
  }

  // Where the number at `at` ends; `at` when there is none.
  size_t NumberEnd(size_t at) const {
    size_t end = at + (text_[at] == '-' ? 1 : 0);
    const size_t first = end;
    end = SkipDigits(end);
    if (end == first || (text_[first] == '0' && end > first + 1)) return at;
    if (CharAt(end) == '.') {
      const size_t fraction = end + 1;
      end = SkipDigits(fraction);
      if (end == fraction) return at;
    }
    if ((CharAt(end) | 0x20) == 'e') {
      size_t exponent = end + 1;
      if (CharAt(exponent) == '+' || CharAt(exponent) == '-') ++exponent;
      end = SkipDigits(exponent);
      if (end == exponent) return at;
    }
    return end;
  }

  char CharAt(size_t at) const { return at < text_.size() ? text_[at] : '\0'; }

  size_t SkipDigits(size_t at) const {
    while (at < text_.size() && IsDigit(text_[at])) ++at;
    return at;
  }

  size_t WordEnd(size_t at) const {
    for (const std::string_view word : kWords) {
      if (text_.substr(at, word.size()) == word) return at + word.size();
    }
    return at;
  }

  // The tokens of the next block that has some, and room for their entries. One
  // block ahead only, so that little is found in vain where an object turns out
  // to be a repetition. No token behind the last, and with `fault_` set.
  [[gnu::noinline]] Cursor Refill(const Cursor& cursor) {
    positions_[0] = kNoPosition;
    while (positions_[0] == kNoPosition) {
      if (fault_.what != nullptr || scanned_ >= text_.size()) break;
      if (!ScanBlock()) break;
      scanned_ += kJsonBlockBytes;
      if (scanned_ >= text_.size() && tokens_.in_string()) {
        Fail(kEnd, text_.size());
      }
    }
    // No token of a block needs more than a repetition.
    out_.size_ = cursor.entry == nullptr ? 0 : NumEntries(cursor);
    if (!out_.Reserve(JsonIndex::kRepeatEntries * kJsonBlockBytes)) {
      Fail(kNoMemory, scanned_);
      positions_[0] = kNoPosition;
    }
    return {positions_, out_.entries_.get() + out_.size_};
  }

  bool ScanBlock() {
    const char* bytes = text_.data() + scanned_;
    char last[kJsonBlockBytes];
    if (text_.size() - scanned_ < kJsonBlockBytes) {
      std::memset(last, ' ', sizeof(last));
      std::memcpy(last, bytes, text_.size() - scanned_);
      bytes = last;
    }
    JsonBlock block;
    classify_(bytes, &block);
    is_wide_ |= block.wide != 0;
    const JsonTokenizer::Result found = tokens_.Next(block);
    if (found.controls != 0) {
      return Fail(kControl, scanned_ + __builtin_ctzll(found.controls));
    }
    for (uint64_t rest = found.escapes; rest != 0; rest &= rest - 1) {
      if (!CheckEscape(scanned_ + __builtin_ctzll(rest))) return false;
    }
    uint32_t* out = positions_;
    const auto base = static_cast<uint32_t>(scanned_);
    for (uint64_t rest = found.tokens; rest != 0; rest &= rest - 1) {
      *out++ = base + static_cast<uint32_t>(__builtin_ctzll(rest));
    }
    *out = kNoPosition;
    return true;
  }

  bool CheckEscape(size_t at) {
    switch (CharAt(at + 1)) {
      case '"':
      case '\\':
      case '/':
      case 'b':
      case 'f':
      case 'n':
      case 'r':
      case 't':
        return true;
      case 'u':
        break;
      default:
        return Fail(kEscape, at);
    }
    uint32_t unit = 0;
    if (!HexUnit(at, &unit)) return Fail(kEscape, at);
    if (unit < 0xD800 || unit > 0xDFFF) return true;
    if (unit >= 0xDC00) return at == low_at_ || Fail(kSurrogate, at);
    uint32_t low = 0;
    low_at_ = at + 6;
    if (CharAt(low_at_) != '\\' || CharAt(low_at_ + 1) != 'u' ||
        !HexUnit(low_at_, &low) || low < 0xDC00 || low > 0xDFFF) {
      return Fail(kSurrogate, at);
    }
    return true;
  }

  bool HexUnit(size_t at, uint32_t* unit) const {
    for (size_t i = 2; i < 6; ++i) {
      const int digit = HexDigit(CharAt(at + i));
      if (digit < 0) return false;
      *unit = *unit << 4 | static_cast<uint32_t>(digit);
    }
    return true;
  }

  bool Unexpected(const char* at) {
    return at == kEndOfText
               ? Fail(kEnd, text_.size())
               : Fail(kToken, static_cast<size_t>(at - text_.data()));
  }
  // Keeps the first: a token after it may be one that was never scanned.
  bool Fail(const char* what, size_t at) {
    if (fault_.what == nullptr) fault_ = {what, at, what == kTooDeep};
    return false;
  }

  // A container that isn't closed yet: its entry, the members so far of the one
  // around it, where objects like it are looked up, and what closes the one
  // around it.
  struct Frame {
    uint32_t entry;
    uint32_t count;
    uint32_t slot;
    char closer;
  };

  const std::string_view text_;
  const uint32_t max_depth_;
  JsonIndex& out_;
  JsonIndex::Fault fault_;

  std::vector<Frame> stack_;

  JsonRepeats repeats_;

  const JsonClassifier classify_ = FindJsonClassifier();
  JsonTokenizer tokens_;
  size_t scanned_ = 0;  // bytes whose tokens are known
  bool is_wide_ = false;
  size_t low_at_ = 0;  // where the second half of a surrogate pair is due
  // Tokens found but not handed out: up to kNoPosition.
  uint32_t positions_[kJsonBlockBytes + 1] = {kNoPosition};
};

bool JsonIndex::Grow(size_t wanted) {
  const size_t capacity = std::max(wanted, capacity_ + capacity_ / 2);
  void* grown = std::realloc(entries_.get(), capacity * sizeof(uint32_t));
  if (grown == nullptr) return false;
  (void)entries_.release();  // realloc freed it
  entries_.reset(static_cast<uint32_t*>(grown));
  capacity_ = capacity;
  return true;
}

JsonIndex::Fault JsonIndex::Build(std::string_view text, uint32_t max_depth) {
  size_ = 0;
  return JsonIndexer(text, max_depth, this).Run();
}

}  // namespace tenon
