// A JSON document and views of its values.
//
// Values are read where they stand in the text: a number is converted and an
// escape decoded when somebody asks. A view is two words, is copied freely, and
// lives as long as its document.
//
// Where an object repeats an earlier one, its members are found by the index of
// the other, and stand that many bytes further on.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>

#include "formats/json/json_index.h"
#include "support/byte_cursor.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace tenon {

class JsonArray;
class JsonDocument;
class JsonObject;

enum class JsonKind : uint8_t {
  kObject,
  kArray,
  kString,
  kInt,    // of any size
  kFloat,  // with a point or exponent, or a non-finite word
  kBool,
  kNull,
};

// Any value. The default one is none: it answers false to everything.
class JsonElement {
 public:
  JsonElement() = default;
  JsonElement(const JsonDocument* document, uint32_t entry, uint32_t shift)
      : document_(document), entry_(entry), shift_(shift) {}

  bool valid() const { return document_ != nullptr; }
  JsonKind kind() const;  // of a valid one
  bool is(JsonKind wanted) const { return valid() && kind() == wanted; }
  bool is_null() const { return valid() && first() == 'n'; }
  bool is_string() const { return valid() && first() == '"'; }
  bool is_array() const { return valid() && first() == '['; }
  bool is_object() const { return valid() && first() == '{'; }
  // The value, when it is of that kind. Integers have to fit; floats may be
  // integers, too.
  bool Get(JsonObject* out) const;
  bool Get(JsonArray* out) const;
  bool Get(std::string_view* out) const;
  bool Get(int64_t* out) const;
  bool Get(double* out) const;
  bool Get(bool* out) const;
  // The member of an object; none when it has none, or isn't an object.
  JsonElement operator[](std::string_view key) const;
  // Equal numbers within a document mean equal texts.
  uint32_t original() const;
  // The value's own bytes, quotes and brackets included.
  std::string_view text() const;

 private:
  friend class JsonObject;
  friend class JsonArray;
  const char* at() const;
  char first() const { return *at(); }
  std::string_view NumberText() const;

  const JsonDocument* document_ = nullptr;
  uint32_t entry_ = 0;
  uint32_t shift_ = 0;  // bytes between the indexed value and this one
};

class JsonDocument {
 public:
  // Checks and indexes `text`, which must outlive the document. `has_slack`:
  // kJsonSlackBytes behind it can be read; else it is copied.
  JsonIndex::Fault Parse(std::string_view text, bool has_slack,
                         uint32_t max_depth);

  JsonElement root() const { return {this, 0, 0}; }

 private:
  friend class JsonElement;
  friend class JsonObject;
  friend class JsonArray;

  // Where the value or key at `entry` begins.
  const char* At(uint32_t entry, uint32_t shift) const {
    return text_.data() + index_.entries()[entry] + size_t{shift};
  }
  // What the index says of the container at `entry`.
  uint32_t Of(uint32_t entry, uint32_t what) const {
    return index_.entries()[entry + what];
  }
  // The entry behind the value at `entry`, which begins with `first`.
  uint32_t Behind(uint32_t entry, char first) const {
    return first == '{' || first == '[' ? entry + Of(entry, JsonIndex::kEntries)
                                        : entry + 1;
  }
  // The string behind the opening quote.
  std::string_view StringFrom(const char* begin) const;
  // The same with its escapes decoded, kept here.
  std::string_view Decode(const char* begin) const;

  std::string_view text_;
  JsonIndex index_;
  std::string copy_;
  mutable std::deque<std::string> decoded_;
};

// Members in the order of the text.
class JsonObject {
 public:
  struct Field {
    std::string_view key;
    JsonElement value;
  };
  class Iterator {
   public:
    Iterator(const JsonDocument* document, uint32_t entry, uint32_t shift)
        : document_(document), entry_(entry), shift_(shift) {}
    Field operator*() const { return {key(), value()}; }
    std::string_view key() const { return document_->StringFrom(at()); }
    // Whether the key is what `quoted` begins with: `size` bytes and the
    // closing quote.
    bool KeyIs(const std::array<char, 32>& quoted, size_t size) const;
    JsonElement value() const { return {document_, entry_ + 1, shift_}; }
    uint32_t value_entry() const { return entry_ + 1; }
    Iterator& operator++() {
      entry_ =
          document_->Behind(entry_ + 1, *document_->At(entry_ + 1, shift_));
      return *this;
    }
    bool operator!=(const Iterator& other) const {
      return entry_ != other.entry_;
    }

   private:
    // Behind the key's opening quote.
    const char* at() const { return document_->At(entry_, shift_) + 1; }

    const JsonDocument* document_;
    uint32_t entry_;
    uint32_t shift_;
  };

  size_t size() const { return document_->Of(entry_, JsonIndex::kCount); }
  Iterator begin() const {
    return {document_, entry_ + JsonIndex::kContainerEntries, shift_};
  }
  Iterator end() const {
    return {document_, entry_ + document_->Of(entry_, JsonIndex::kEntries),
            shift_};
  }
  JsonElement operator[](std::string_view key) const;
  // The value that an iterator found.
  JsonElement Value(uint32_t value_entry) const {
    return {document_, value_entry, shift_};
  }

 private:
  friend class JsonElement;
  // Never a repetition: then it is the original, shifted.
  const JsonDocument* document_ = nullptr;
  uint32_t entry_ = 0;
  uint32_t shift_ = 0;
};

class JsonArray {
 public:
  class Iterator {
   public:
    Iterator(const JsonDocument* document, uint32_t entry, uint32_t shift)
        : document_(document), entry_(entry), shift_(shift) {}
    JsonElement operator*() const { return {document_, entry_, shift_}; }
    Iterator& operator++() {
      entry_ = document_->Behind(entry_, *document_->At(entry_, shift_));
      return *this;
    }
    bool operator!=(const Iterator& other) const {
      return entry_ != other.entry_;
    }

   private:
    const JsonDocument* document_;
    uint32_t entry_;
    uint32_t shift_;
  };

  size_t size() const { return document_->Of(entry_, JsonIndex::kCount); }
  Iterator begin() const {
    return {document_, entry_ + JsonIndex::kContainerEntries, shift_};
  }
  Iterator end() const {
    return {document_, entry_ + document_->Of(entry_, JsonIndex::kEntries),
            shift_};
  }
  // None behind the last. Walks.
  JsonElement at(size_t i) const;

 private:
  friend class JsonElement;
  const JsonDocument* document_ = nullptr;
  uint32_t entry_ = 0;
  uint32_t shift_ = 0;
};

// Appends the value as Python's json.dumps spells it.
void AppendJsonElement(const JsonElement& element, std::string* out);

// --- inlined: a document has millions of them ---

inline const char* JsonElement::at() const {
  return document_->At(entry_, shift_);
}

inline std::string_view JsonDocument::StringFrom(const char* begin) const {
#ifdef __SSE2__
  // Most strings are short. What lies behind the text can be read.
  const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(begin));
  const int quotes = _mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')));
  const int escapes = _mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
  if (quotes != 0) {
    const int size = __builtin_ctz(static_cast<unsigned>(quotes));
    if ((escapes & ((1 << size) - 1)) == 0) {
      return {begin, static_cast<size_t>(size)};
    }
    return Decode(begin);
  }
#endif
  const char* end = begin;
  while (*end != '"' && *end != '\\') ++end;
  if (*end == '\\') return Decode(begin);
  return {begin, static_cast<size_t>(end - begin)};
}

inline bool JsonObject::Iterator::KeyIs(const std::array<char, 32>& quoted,
                                        size_t size) const {
#ifdef __SSE2__
  // A short key may be compared with what follows it: the text has slack.
  const auto differ = [this, &quoted](size_t from) {
    const auto load = [from](const char* p) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + from));
    };
    return ~static_cast<uint32_t>(_mm_movemask_epi8(
               _mm_cmpeq_epi8(load(at()), load(quoted.data())))) &
           0xFFFFu;
  };
  uint32_t bits = differ(0);
  if (size >= 16) bits |= differ(16) << 16;
  return (bits & ((uint64_t{2} << size) - 1)) == 0;
#else
  return std::memcmp(at(), quoted.data(), size + 1) == 0;
#endif
}

inline bool JsonElement::Get(JsonObject* out) const {
  if (!valid() || first() != '{') return false;
  out->document_ = document_;
  out->entry_ = entry_;
  out->shift_ = shift_;
  if (document_->Of(entry_, JsonIndex::kEntries) == JsonIndex::kRepeatEntries) {
    out->entry_ = document_->Of(entry_, JsonIndex::kOriginal);
    out->shift_ += document_->Of(entry_, 0) - document_->Of(out->entry_, 0);
  }
  return true;
}

inline uint32_t JsonElement::original() const {
  const bool is_repeat =
      first() == '{' &&
      document_->Of(entry_, JsonIndex::kEntries) == JsonIndex::kRepeatEntries;
  return is_repeat ? document_->Of(entry_, JsonIndex::kOriginal) : entry_;
}

inline bool JsonElement::Get(JsonArray* out) const {
  if (!valid() || first() != '[') return false;
  out->document_ = document_;
  out->entry_ = entry_;
  out->shift_ = shift_;
  return true;
}

inline bool JsonElement::Get(std::string_view* out) const {
  if (!is_string()) return false;
  *out = document_->StringFrom(at() + 1);
  return true;
}

inline bool JsonElement::Get(bool* out) const {
  if (!valid() || (first() != 't' && first() != 'f')) return false;
  *out = first() == 't';
  return true;
}

}  // namespace tenon
