// What went wrong, where, by which rule.
#pragma once

#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "diag/rules.h"
#include "support/expected.h"

namespace tenon {

enum class Severity : uint8_t { kNote, kWarning, kError };

// A place in a text (line and column), an archive (member and byte offset), a
// JSON document (path) or a program (graph and node). Absent parts are empty.
struct Place {
  std::string file;     // path as the user gave it, or archive member
  uint32_t line = 0;    // 1-based; 0 = not a text place
  uint32_t column = 0;  // 1-based, in bytes
  uint64_t offset = kNoOffset;
  std::string json_path;  // "$.graph_module.graph.nodes[3].inputs[0]"
  std::string node;       // "main/%add_1"
  std::string source;     // the line of text, for the caret

  static constexpr uint64_t kNoOffset = ~uint64_t{0};

  static Place File(std::string file);
  static Place Text(std::string file, uint32_t line, uint32_t column,
                    std::string source);
  static Place Offset(std::string file, uint64_t offset);
  static Place Json(std::string file, std::string path);
  static Place Node(std::string node);

  // "model.json:$.a[3]", "x.tenon:3:7", "weights at byte 17", "main/%add".
  std::string ToString() const;
};

struct Note {
  Place place;
  std::string message;
};

struct Diagnostic {
  Severity severity = Severity::kError;
  Rule rule = Rule::kUsage;
  Place place;
  std::string message;  // lower case, no full stop: found, then expected
  std::vector<Note> notes;

  // "error: PLACE: message [V-SIG-03]", the source line and a caret where the
  // place is text, then the notes, each on its own lines.
  std::string ToString() const;
};

class Diagnostics;

// Under construction; reports itself to the sink when it dies, and converts to
// Failure, so that `return diags.Error(rule, place) << "...";` is a statement.
class DiagnosticBuilder {
 public:
  DiagnosticBuilder(Diagnostics* sink, Severity severity, Rule rule,
                    Place place);
  DiagnosticBuilder(DiagnosticBuilder&& other) noexcept;
  DiagnosticBuilder(const DiagnosticBuilder&) = delete;
  DiagnosticBuilder& operator=(const DiagnosticBuilder&) = delete;
  ~DiagnosticBuilder();

  template <typename T>
  DiagnosticBuilder& operator<<(const T& part) & {
    text_ << part;
    return *this;
  }
  template <typename T>
  DiagnosticBuilder&& operator<<(const T& part) && {
    text_ << part;
    return std::move(*this);
  }
  DiagnosticBuilder& Note(Place place, std::string message) &;
  DiagnosticBuilder&& Note(Place place, std::string message) &&;

  operator Failure() const { return {}; }  // NOLINT: implicit on purpose
  template <typename T>
  operator Expected<T>() const {  // NOLINT: implicit on purpose
    return Failure{};
  }

 private:
  Diagnostics* sink_;
  Diagnostic diagnostic_;
  std::ostringstream text_;
};

// Collects diagnostics up to a bound; counts all.
class Diagnostics {
 public:
  static constexpr size_t kDefaultLimit = 100;

  explicit Diagnostics(size_t limit = kDefaultLimit) : limit_(limit) {}

  DiagnosticBuilder Error(Rule rule, Place place = {});
  DiagnosticBuilder Warning(Rule rule, Place place = {});
  void Report(Diagnostic diagnostic);

  bool has_errors() const { return num_errors_ > 0; }
  size_t num_errors() const { return num_errors_; }
  size_t num_warnings() const { return num_warnings_; }
  // True when the bound is reached: collecting more is of no use.
  bool full() const { return all_.size() >= limit_; }
  const std::vector<Diagnostic>& all() const { return all_; }
  // All as text, one after the other.
  std::string ToString() const;
  // First error's message, for tests and exceptions; "" when there is none.
  std::string FirstError() const;
  void Clear();

 private:
  size_t limit_;
  size_t num_errors_ = 0;
  size_t num_warnings_ = 0;
  std::vector<Diagnostic> all_;
};

}  // namespace tenon
