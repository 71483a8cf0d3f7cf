#include "command_line.h"

#include <algorithm>
#include <charconv>

#include "support/assert.h"

namespace tenon::tools {
namespace {

constexpr std::string_view kReadLimit = "--read-limit";
constexpr Option kCommonOptions[] = {
    {"--format", 0, "text|json|sarif",
     "How findings (errors, warnings) are written. Default: text."},
    {kReadLimit, 0, "NAME=VALUE",
     "Another bound on what a file may hold (docs/limits.md). Repeatable.",
     true},
    {"--help", 'h', "", "Shows this help."},
};

bool HasChoices(const Option& option) {
  return option.value.find('|') != std::string_view::npos;
}

std::vector<std::string_view> Choices(const Option& option) {
  std::vector<std::string_view> out;
  std::string_view rest = option.value;
  while (true) {
    const size_t bar = rest.find('|');
    out.push_back(rest.substr(0, bar));
    if (bar == std::string_view::npos) return out;
    rest.remove_prefix(bar + 1);
  }
}

const Option* FindLong(const Verb& verb, std::string_view name) {
  for (const auto options : {verb.options, CommonOptions()}) {
    for (const Option& o : options) {
      if (o.name == name) return &o;
    }
  }
  return nullptr;
}

const Option* FindShort(const Verb& verb, char name) {
  for (const auto options : {verb.options, CommonOptions()}) {
    for (const Option& o : options) {
      if (o.short_name == name) return &o;
    }
  }
  return nullptr;
}

std::string Suggestion(std::string_view closest) {
  if (closest.empty()) return "";
  return "; did you mean '" + std::string(closest) + "'?";
}

std::string UnknownOption(const Verb& verb, std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto options : {verb.options, CommonOptions()}) {
    for (const Option& o : options) names.push_back(o.name);
  }
  return "unknown option '" + std::string(name) + "' of 'tenon " +
         std::string(verb.name) + "'" + Suggestion(ClosestName(name, names));
}

// Empty when the value is allowed.
std::string CheckValue(const Option& option, std::string_view value) {
  if (!HasChoices(option)) return "";
  const std::vector<std::string_view> allowed = Choices(option);
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) {
    return "";
  }
  return "option " + std::string(option.name) + " is one of " +
         std::string(option.value) + ", not '" + std::string(value) + "'" +
         Suggestion(ClosestName(value, allowed));
}

// `text` in lines of at most `width` columns, each after `indent` spaces.
// Lines that start with a space are kept as they are.
std::string Wrap(std::string_view text, size_t indent, size_t width) {
  const std::string margin(indent, ' ');
  std::string out, line;
  const auto flush = [&] {
    if (!line.empty()) out += margin + line + "\n";
    line.clear();
  };
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view paragraph = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (paragraph.empty() || paragraph[0] == ' ') {
      flush();
      out += paragraph.empty() ? "\n" : margin + std::string(paragraph) + "\n";
      continue;
    }
    while (!paragraph.empty()) {
      const size_t space = paragraph.find(' ');
      const std::string_view word = paragraph.substr(0, space);
      paragraph.remove_prefix(space == std::string_view::npos ? paragraph.size()
                                                              : space + 1);
      if (!line.empty() && indent + line.size() + 1 + word.size() > width) {
        flush();
      }
      if (!line.empty()) line += ' ';
      line += word;
    }
    flush();
  }
  return out;
}

constexpr size_t kHelpWidth = 80;
constexpr size_t kOptionColumn = 26;

std::string HelpOf(const Option& option) {
  std::string left = option.short_name != 0
                         ? std::string("  -") + option.short_name + ", "
                         : std::string("      ");
  left += option.name;
  if (HasChoices(option)) {
    left += "=" + std::string(option.value);
  } else if (!option.value.empty()) {
    left += " " + std::string(option.value);
  }
  std::string text = Wrap(option.help, kOptionColumn, kHelpWidth);
  if (left.size() + 2 > kOptionColumn) return left + "\n" + text;
  text.replace(0, left.size(), left);
  return text;
}

}  // namespace

std::span<const Option> CommonOptions() { return kCommonOptions; }

const Option& CommandLine::Spec(std::string_view option) const {
  const Option* found = FindLong(*verb_, option);
  TENON_ASSERT(found != nullptr, "a verb asks for an option of its own table");
  return *found;
}

bool CommandLine::Has(std::string_view option) const {
  const Option& spec = Spec(option);
  return std::any_of(given_.begin(), given_.end(),
                     [&](const auto& g) { return g.first == &spec; });
}

std::string CommandLine::Get(std::string_view option,
                             std::string_view fallback) const {
  const Option& spec = Spec(option);
  std::string out(fallback);
  for (const auto& [given, value] : given_) {
    if (given == &spec) out = value;
  }
  return out;
}

std::vector<std::string> CommandLine::GetAll(std::string_view option) const {
  const Option& spec = Spec(option);
  std::vector<std::string> out;
  for (const auto& [given, value] : given_) {
    if (given == &spec) out.push_back(value);
  }
  return out;
}

std::optional<uint64_t> CommandLine::GetCount(std::string_view option,
                                              uint64_t fallback, uint64_t max,
                                              std::string* error) const {
  if (!Has(option)) return fallback;
  const std::string text = Get(option);
  uint64_t value = 0;
  const auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value > max) {
    *error = "option " + std::string(option) +
             " is a whole number of at most " + std::to_string(max) +
             ", not '" + text + "'";
    return std::nullopt;
  }
  return value;
}

bool ParseCommandLine(std::span<const std::string> words, CommandLine* line,
                      std::string* error) {
  const Verb& verb = *line->verb_;
  bool options_ended = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (options_ended || word.size() < 2 || word[0] != '-') {
      line->arguments_.emplace_back(word);
      continue;
    }
    if (word == "--") {
      options_ended = true;
      continue;
    }
    const bool is_long = word[1] == '-';
    const size_t equals = is_long ? word.find('=') : std::string_view::npos;
    const Option* option = is_long ? FindLong(verb, word.substr(0, equals))
                                   : FindShort(verb, word[1]);
    if (option == nullptr) {
      *error = UnknownOption(verb, word.substr(0, equals));
      return false;
    }
    std::string value;
    // "-oFILE" and "--output=FILE" carry their value in the same word.
    std::optional<std::string_view> attached;
    if (equals != std::string_view::npos) attached = word.substr(equals + 1);
    if (!is_long && word.size() > 2) attached = word.substr(2);
    if (option->value.empty()) {
      if (attached) {
        *error = "option " + std::string(option->name) + " takes no value";
        return false;
      }
    } else if (attached) {
      value = *attached;
    } else if (i + 1 < words.size()) {
      value = words[++i];
    } else {
      *error = "option " + std::string(option->name) +
               " needs a value: " + std::string(option->value);
      return false;
    }
    if (*error = CheckValue(*option, value); !error->empty()) return false;
    const bool is_again = line->Has(option->name);
    if (is_again && !option->repeatable && !option->value.empty()) {
      *error = "option " + std::string(option->name) + " is given twice";
      return false;
    }
    if (option->name == kReadLimit &&
        !SetLimit(value, &line->read_limits_, error)) {
      return false;
    }
    line->given_.emplace_back(option, std::move(value));
  }
  if (line->Has("--help")) return true;
  const size_t count = line->arguments_.size();
  if (count < verb.min_arguments || count > verb.max_arguments) {
    *error = "'tenon " + std::string(verb.name) + "' takes " +
             (verb.arguments.empty() ? "no arguments"
                                     : std::string(verb.arguments)) +
             ", not " + std::to_string(count) +
             (count == 1 ? " argument" : " arguments");
    return false;
  }
  return true;
}

std::string HelpOf(const Verb& verb) {
  std::string out = "usage: tenon " + std::string(verb.name) + " [OPTION]...";
  if (!verb.arguments.empty()) out += " " + std::string(verb.arguments);
  out += "\n\n" + Wrap(verb.description, 0, kHelpWidth) + "\noptions:\n";
  for (const auto options : {verb.options, CommonOptions()}) {
    for (const Option& o : options) out += HelpOf(o);
  }
  out += "\nexamples:\n" + Wrap(verb.examples, 1, kHelpWidth);
  return out;
}

std::string_view ClosestName(std::string_view word,
                             std::span<const std::string_view> names) {
  // Edit distance with transpositions: "exprot" is one step from "export".
  const auto distance = [](std::string_view a, std::string_view b) {
    std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
      row[0] = i;
      for (size_t j = 1; j <= b.size(); ++j) {
        const size_t changed = last[j - 1] + (a[i - 1] != b[j - 1] ? 1 : 0);
        row[j] = std::min({changed, last[j] + 1, row[j - 1] + 1});
        const bool swapped =
            i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
        if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
      }
      before = last;
      last = row;
    }
    return last[b.size()];
  };
  constexpr size_t kLongestWord = 100;
  if (word.empty() || word.size() > kLongestWord) return {};
  std::string_view best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string_view name : names) {
    // A beginning ("ver" for "verify") is near, whatever its length.
    const bool is_beginning = word.size() >= 3 && name.starts_with(word);
    const size_t d = is_beginning ? 1 : distance(word, name);
    if (d < best_distance) {
      best_distance = d;
      best = name;
    }
  }
  return best;
}

}  // namespace tenon::tools
