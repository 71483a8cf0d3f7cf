// Typed access to a JSON document, with an error that names the member and the
// JSON path for everything that isn't as the schema says (V-FILE-05).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostics.h"
#include "diag/limits.h"
#include "formats/json/json_document.h"
#include "ir/program.h"
#include "support/byte_cursor.h"
#include "support/expected.h"

namespace tenon {

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

// A member that a record may have. Its name is at most kMaxName bytes long and
// has no escapes.
struct JsonMember {
  static constexpr size_t kMaxName = 31;

  constexpr JsonMember(const char* text, bool required = true)
      : name(text), is_required(required) {
    for (size_t i = 0; i < name.size(); ++i) quoted[i] = name[i];
    quoted[name.size()] = '"';  // out of bounds is an error at compile time
  }

  std::string_view name;
  bool is_required;
  // The name as it stands in a text, up to the closing quote.
  std::array<char, kMaxName + 1> quoted = {};
};

// The wanted members of a record, by position in the list of names.
template <size_t N>
struct JsonMembers {
  JsonObject object;
  std::array<uint32_t, N> entries;
  uint32_t present = 0;

  bool has(size_t i) const { return (present >> i & 1) != 0; }
  // Present and not null.
  bool has_value(size_t i) const { return has(i) && !(*this)[i].is_null(); }
  // None when it is absent or null.
  JsonElement OrNone(size_t i) const {
    return has_value(i) ? (*this)[i] : JsonElement();
  }
  // Of one that is present.
  JsonElement operator[](size_t i) const {
    return object.Value(entries.data()[i]);
  }
};

struct JsonVariant {
  std::string_view tag;
  JsonElement value;
};

class JsonInput {
 public:
  // Parses the text; `name` is the archive member that messages cite.
  // `has_slack`: bytes behind the text can be read, as ZipContent says.
  // Of `limits`, those on the document's size and depth hold here; readers of
  // what is in it find the others at limits().
  Status Parse(Bytes text, bool has_slack, std::string name,
               const ReadLimits& limits, Diagnostics& diags);

  JsonElement root() const { return document_.root(); }
  Diagnostics& diags() const { return *diags_; }
  const std::string& name() const { return name_; }
  const ReadLimits& limits() const { return limits_; }

  // Members that no reader asked for are appended here, unless null. Their
  // paths get the prefix: it tells documents apart, "" is the model.
  std::vector<FileInfo::UnknownMember>* unknown_members = nullptr;
  std::string unknown_prefix;
  size_t num_unknown_members() const {
    return unknown_members == nullptr ? 0 : unknown_members->size();
  }

  DiagnosticBuilder Error(const JsonPath& path,
                          Rule rule = Rule::kFile05) const;

  Expected<JsonObject> Object(const JsonElement& e,
                              const JsonPath& path) const {
    JsonObject out;
    if (e.Get(&out)) return out;
    return Unlike(e, path, "an object");
  }
  Expected<JsonArray> Array(const JsonElement& e, const JsonPath& path) const {
    JsonArray out;
    if (e.Get(&out)) return out;
    return Unlike(e, path, "an array");
  }
  Expected<std::string_view> String(const JsonElement& e,
                                    const JsonPath& path) const {
    std::string_view out;
    if (e.Get(&out)) return out;
    return Unlike(e, path, "a string");
  }
  Expected<int64_t> Int(const JsonElement& e, const JsonPath& path) const {
    int64_t out;
    if (e.Get(&out)) return out;
    return Unlike(e, path, "an integer of 64 bits");
  }
  Expected<bool> Bool(const JsonElement& e, const JsonPath& path) const {
    bool out;
    if (e.Get(&out)) return out;
    return Unlike(e, path, "true or false");
  }
  // Also integers, and the strings for non-finite and other numbers.
  Expected<double> Float(const JsonElement& e, const JsonPath& path) const;
  // An object with exactly one member: the tag and its value.
  Expected<JsonVariant> Variant(const JsonElement& e,
                                const JsonPath& path) const {
    TENON_ASSIGN(const JsonObject object, Object(e, path));
    if (object.size() != 1) return NoVariant(object, path);
    const auto member = object.begin();
    return JsonVariant{member.key(), member.value()};
  }
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
    out.object = object;
    size_t guess = 0;  // files list members in one order
    for (auto it = object.begin(); it != object.end(); ++it) {
      const size_t i = FindMember(it, names.data(), N, guess);
      if (i == N) {
        unknown(it.key(), it.value());
        continue;
      }
      if (out.has(i)) {
        return Error(path) << "member '" << names[i].name << "' is there twice";
      }
      out.present |= 1u << i;
      out.entries[i] = it.value_entry();
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
  // The position of the member's key in `names`, looked for from `guess` on;
  // `count` when it isn't there.
  static size_t FindMember(const JsonObject::Iterator& member,
                           const JsonMember* names, size_t count,
                           size_t guess) {
    if (member.KeyIs(names[guess].quoted, names[guess].name.size())) {
      return guess;
    }
    return FindOtherMember(member.key(), names, count);
  }
  static size_t FindOtherMember(std::string_view key, const JsonMember* names,
                                size_t count);

  void KeepUnknown(const JsonPath& path, std::string_view name,
                   const JsonElement& value) const;
  [[gnu::cold]] Failure Unlike(const JsonElement& e, const JsonPath& path,
                               const char* expected) const;
  [[gnu::cold]] Failure NoVariant(const JsonObject& object,
                                  const JsonPath& path) const;

  std::string name_;
  ReadLimits limits_;
  Diagnostics* diags_ = nullptr;
  JsonDocument document_;
};

}  // namespace tenon
