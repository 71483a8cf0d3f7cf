// Objects and lists of a JSON text under construction.
#pragma once

#include <string>
#include <string_view>

#include "formats/json/json_text.h"

namespace tenon {

// {"key": value, ...}: call Key, append the value to the text, repeat, Close.
class JsonObjectOut {
 public:
  explicit JsonObjectOut(std::string* out) : out_(*out) { out_ += '{'; }
  std::string* Key(std::string_view key) {
    if (!is_first_) out_ += ", ";
    is_first_ = false;
    AppendJsonString(key, &out_);
    out_ += ": ";
    return &out_;
  }
  void Text(std::string_view key, std::string_view text) {
    AppendJsonString(text, Key(key));
  }
  void Bool(std::string_view key, bool value) {
    *Key(key) += value ? "true" : "false";
  }
  void Int(std::string_view key, int64_t value) {
    AppendJsonInt(value, Key(key));
  }
  void Close() { out_ += '}'; }

 private:
  std::string& out_;
  bool is_first_ = true;
};

// [value, ...]: call Item, append the value to the text, repeat, Close.
class JsonArrayOut {
 public:
  explicit JsonArrayOut(std::string* out) : out_(*out) { out_ += '['; }
  std::string* Item() {
    if (!is_first_) out_ += ", ";
    is_first_ = false;
    return &out_;
  }
  void Close() { out_ += ']'; }

 private:
  std::string& out_;
  bool is_first_ = true;
};

template <typename Texts>
void AppendJsonStrings(const Texts& texts, std::string* out) {
  JsonArrayOut array(out);
  for (const auto& text : texts) AppendJsonString(text, array.Item());
  array.Close();
}

}  // namespace tenon
