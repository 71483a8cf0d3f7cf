// Typed access to a JSON document, with an error that names the member and the
// JSON path for everything that isn't as the schema says (V-FILE-05).
#pragma once

#include <simdjson.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostics.h"
#include "diag/limits.h"
#include "ir/program.h"
#include "support/byte_cursor.h"
#include "support/expected.h"

namespace tenon {

using JsonElement = simdjson::dom::element;
using JsonObject = simdjson::dom::object;
using JsonArray = simdjson::dom::array;

// Where in the document: a chain of frames on the caller's stack, so that a
// path costs nothing until an error wants its text.
class JsonPath {
 public:
  JsonPath() = default;
  JsonPath(const JsonPath& parent, std::string_view key)
      : parent_(&parent), key_(key) {}
  JsonPath(const JsonPath& parent, size_t index)
      : parent_(&parent), index_(index) {}
  // A path that starts at `text`, itself a path; it must outlive this one.
  static JsonPath At(std::string_view text) {
    JsonPath path;
    path.key_ = text;
    return path;
  }

  // "$.graph_module.graph.nodes[3]"
  std::string ToString() const;

 private:
  const JsonPath* parent_ = nullptr;
  std::string_view key_;
  size_t index_ = 0;
};

struct JsonMember {
  std::string_view name;
  bool is_required = true;
};

// The wanted members of a record, by position in the list of names.
template <size_t N>
struct JsonMembers {
  std::array<JsonElement, N> elements;
  uint32_t present = 0;

  bool has(size_t i) const { return (present >> i & 1) != 0; }
  // Present and not null.
  bool has_value(size_t i) const { return has(i) && !elements[i].is_null(); }
  const JsonElement& operator[](size_t i) const { return elements[i]; }
};

struct JsonVariant {
  std::string_view tag;
  JsonElement value;
};

class JsonInput {
 public:
  // Parses the text; `name` is the archive member that messages cite. Python's
  // bare Infinity and NaN are read as the strings that newer releases write.
  // `has_slack`: bytes behind the text can be read, as ZipContent says.
  // Of `limits`, those on the document's size and depth hold here; readers of
  // what is in it find the others at limits().
  Status Parse(Bytes text, bool has_slack, std::string name,
               const ReadLimits& limits, Diagnostics& diags);

  const JsonElement& root() const { return root_; }
  Diagnostics& diags() const { return *diags_; }
  const std::string& name() const { return name_; }
  const ReadLimits& limits() const { return limits_; }

  // Members that no reader asked for are appended here, unless null. Their
  // paths get the prefix: it tells documents apart, "" is the model.
  std::vector<FileInfo::UnknownMember>* unknown_members = nullptr;
  std::string unknown_prefix;

  DiagnosticBuilder Error(const JsonPath& path,
                          Rule rule = Rule::kFile05) const;

  Expected<JsonObject> Object(const JsonElement& e, const JsonPath& path) const;
  Expected<JsonArray> Array(const JsonElement& e, const JsonPath& path) const;
  Expected<std::string_view> String(const JsonElement& e,
                                    const JsonPath& path) const;
  Expected<int64_t> Int(const JsonElement& e, const JsonPath& path) const;
  Expected<bool> Bool(const JsonElement& e, const JsonPath& path) const;
  // Also integers, and the strings for non-finite and other numbers.
  Expected<double> Float(const JsonElement& e, const JsonPath& path) const;
  // An object with exactly one member: the tag and its value.
  Expected<JsonVariant> Variant(const JsonElement& e,
                                const JsonPath& path) const;
  Expected<std::vector<std::string>> Strings(const JsonElement& e,
                                             const JsonPath& path) const;

  // Picks the named members of a record. `unknown(name, value)` gets others.
  template <size_t N, typename Unknown>
  Expected<JsonMembers<N>> Members(const JsonElement& e, const JsonPath& path,
                                   const std::array<JsonMember, N>& names,
                                   Unknown&& unknown) const {
    static_assert(N <= 32);
    TENON_ASSIGN(const JsonObject object, Object(e, path));
    JsonMembers<N> out;
    size_t guess = 0;  // files list members in one order
    for (const auto field : object) {
      size_t i = guess;
      for (size_t tries = 0; tries < N && names[i].name != field.key; ++tries) {
        i = i + 1 == N ? 0 : i + 1;
      }
      if (names[i].name != field.key) {
        unknown(field.key, field.value);
        continue;
      }
      if (out.has(i)) {
        return Error(path) << "member '" << field.key << "' is there twice";
      }
      out.present |= 1u << i;
      out.elements[i] = field.value;
      guess = i + 1 == N ? 0 : i + 1;
    }
    for (size_t i = 0; i < N; ++i) {
      if (names[i].is_required && !out.has(i)) {
        return Error(path) << "no member '" << names[i].name << "'";
      }
    }
    return out;
  }
  template <size_t N>
  Expected<JsonMembers<N>> Members(
      const JsonElement& e, const JsonPath& path,
      const std::array<JsonMember, N>& names) const {
    return Members(e, path, names,
                   [&](std::string_view name, const JsonElement& value) {
                     KeepUnknown(path, name, value);
                   });
  }

 private:
  void KeepUnknown(const JsonPath& path, std::string_view name,
                   const JsonElement& value) const;
  DiagnosticBuilder Unlike(const JsonElement& e, const JsonPath& path,
                           const char* expected) const;

  std::string name_;
  ReadLimits limits_;
  Diagnostics* diags_ = nullptr;
  simdjson::dom::parser parser_;
  JsonElement root_;
};

// The exact number of items; simdjson's own count saturates.
size_t CountItems(const JsonArray& array);

}  // namespace tenon
