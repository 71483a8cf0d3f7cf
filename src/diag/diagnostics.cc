#include "diag/diagnostics.h"

#include <algorithm>
#include <new>
#include <utility>

namespace tenon {
namespace {

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "";
}

// The source line and a caret below the column; nothing for other places.
std::string Caret(const Place& place) {
  if (place.line == 0 || place.source.empty()) return "";
  std::string out = "  " + place.source + "\n  ";
  for (uint32_t i = 1; i < place.column && i <= place.source.size(); ++i) {
    out += place.source[i - 1] == '\t' ? '\t' : ' ';
  }
  return out + "^\n";
}

std::string Line(Severity severity, const Place& place,
                 std::string_view message) {
  std::string out(SeverityName(severity));
  out += ": ";
  if (const std::string where = place.ToString(); !where.empty()) {
    out += where + ": ";
  }
  out += message;
  return out;
}

}  // namespace

Place Place::File(std::string file) {
  Place p;
  p.file = std::move(file);
  return p;
}

Place Place::Text(std::string file, uint32_t line, uint32_t column,
                  std::string source) {
  Place p;
  p.file = std::move(file);
  p.line = line;
  p.column = column;
  p.source = std::move(source);
  return p;
}

Place Place::Offset(std::string file, uint64_t offset) {
  Place p;
  p.file = std::move(file);
  p.offset = offset;
  return p;
}

Place Place::Json(std::string file, std::string path) {
  Place p;
  p.file = std::move(file);
  p.json_path = std::move(path);
  return p;
}

Place Place::Node(std::string node) {
  Place p;
  p.node = std::move(node);
  return p;
}

std::string Place::ToString() const {
  std::string out = file;
  if (line > 0) {
    out += ":" + std::to_string(line) + ":" + std::to_string(column);
  }
  if (offset != kNoOffset) out += " at byte " + std::to_string(offset);
  if (!json_path.empty()) out += (out.empty() ? "" : ":") + json_path;
  if (!node.empty()) out += (out.empty() ? "" : ": ") + node;
  return out;
}

std::string Diagnostic::ToString() const {
  std::string out = Line(severity, place, message);
  out += " [";
  out += RuleId(rule);
  out += "]\n" + Caret(place);
  for (const Note& note : notes) {
    out += Line(Severity::kNote, note.place, note.message) + "\n" +
           Caret(note.place);
  }
  return out;
}

DiagnosticBuilder::DiagnosticBuilder(Diagnostics* sink, Severity severity,
                                     Rule rule, Place place)
    : sink_(sink) {
  diagnostic_.severity = severity;
  diagnostic_.rule = rule;
  diagnostic_.place = std::move(place);
}

DiagnosticBuilder::DiagnosticBuilder(DiagnosticBuilder&& other) noexcept
    : sink_(std::exchange(other.sink_, nullptr)),
      diagnostic_(std::move(other.diagnostic_)),
      text_(std::move(other.text_)) {}

DiagnosticBuilder::~DiagnosticBuilder() {
  if (sink_ == nullptr) return;
  // A destructor can't throw. What memory doesn't suffice for is counted as
  // reported all the same, so that failure stays failure.
  try {
    diagnostic_.message = text_.str();
  } catch (const std::bad_alloc&) {
    diagnostic_.message = "out of memory";  // short: needs no allocation
  }
  try {
    sink_->Report(std::move(diagnostic_));
  } catch (const std::bad_alloc&) {
  }
}

DiagnosticBuilder& DiagnosticBuilder::Note(Place place, std::string message) & {
  diagnostic_.notes.push_back({std::move(place), std::move(message)});
  return *this;
}

DiagnosticBuilder&& DiagnosticBuilder::Note(Place place,
                                            std::string message) && {
  diagnostic_.notes.push_back({std::move(place), std::move(message)});
  return std::move(*this);
}

DiagnosticBuilder Diagnostics::Error(Rule rule, Place place) {
  return DiagnosticBuilder(this, Severity::kError, rule, std::move(place));
}

DiagnosticBuilder Diagnostics::Warning(Rule rule, Place place) {
  return DiagnosticBuilder(this, Severity::kWarning, rule, std::move(place));
}

void Diagnostics::Report(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::kError) ++num_errors_;
  if (diagnostic.severity == Severity::kWarning) ++num_warnings_;
  if (!full()) all_.push_back(std::move(diagnostic));
}

std::string Diagnostics::ToString() const {
  std::string out;
  for (const Diagnostic& d : all_) out += d.ToString();
  const size_t counted = num_errors_ + num_warnings_;
  const auto shown = static_cast<size_t>(std::count_if(
      all_.begin(), all_.end(),
      [](const Diagnostic& d) { return d.severity != Severity::kNote; }));
  if (counted > shown) {
    out += "note: " + std::to_string(counted - shown) + " more not shown\n";
  }
  return out;
}

std::string Diagnostics::FirstError() const {
  for (const Diagnostic& d : all_) {
    if (d.severity == Severity::kError) return d.message;
  }
  return "";
}

void Diagnostics::Clear() {
  all_.clear();
  num_errors_ = num_warnings_ = 0;
}

}  // namespace tenon
