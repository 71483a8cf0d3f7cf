// Writes JSON piece by piece, indented by two spaces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::tools {

// Commas and indentation come by themselves; the caller sees to it that keys
// stand in objects only. Text that isn't UTF-8 gets U+FFFD for its bad bytes.
class JsonWriter {
 public:
  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }
  void Key(std::string_view key);

  void String(std::string_view text);
  void Int(int64_t value);
  void Uint(uint64_t value);
  // Infinite values and NaN become strings: JSON has no numbers for them.
  void Double(double value);
  void Bool(bool value);
  void Null();

  void Member(std::string_view key, std::string_view text) {
    Key(key);
    String(text);
  }
  void Member(std::string_view key, uint64_t value) {
    Key(key);
    Uint(value);
  }
  void Member(std::string_view key, bool value) {
    Key(key);
    Bool(value);
  }
  void Member(std::string_view key, const char* text) {
    Member(key, std::string_view(text));
  }

  // The finished text with a line end; the writer starts anew.
  std::string Take();

 private:
  void Open(char bracket);
  void Close(char bracket);
  void BeforeValue();
  void Indent();

  std::string out_;
  size_t depth_ = 0;
  bool is_first_ = true;  // in the innermost array or object
  bool after_key_ = false;
};

// `text` as a JSON string, quotes included.
std::string JsonQuote(std::string_view text);

}  // namespace tenon::tools
