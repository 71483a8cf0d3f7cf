// The command line as a table: what is parsed is what --help shows.
//
// Each verb is one constant that names its options, arguments and examples.
// Parsing, help and the suggestions for misspelt words all read that constant,
// so none of them can lag behind.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diag/limits.h"

namespace tenon::tools {

class Console;
class CommandLine;

enum class ExitCode : int {
  kFine = 0,
  kFinding = 1,    // bad input, programs differ
  kNoVerdict = 2,  // usage, I/O, unsupported: nothing was judged
  kInternal = 3,   // a bug of ours
};

struct Option {
  std::string_view name;  // "--output"
  char short_name;        // 'o', or 0
  // What stands behind it in the help: "FILE". "a|b|c" lists the allowed
  // values. Empty: a switch.
  std::string_view value;
  std::string_view help;
  bool repeatable = false;
};

struct Verb {
  std::string_view name;
  std::string_view arguments;  // "FILE", "A B"
  size_t min_arguments;
  size_t max_arguments;
  std::string_view summary;      // one line, for the list of verbs
  std::string_view description;  // paragraphs
  std::string_view examples;     // command lines, one a line
  std::span<const Option> options;
  ExitCode (*run)(const CommandLine& line, Console& console);
};

// A parsed command line. Asking for an option that the verb's table lacks is
// an error of ours and asserts.
class CommandLine {
 public:
  explicit CommandLine(const Verb* verb) : verb_(verb) {}

  const Verb& verb() const { return *verb_; }
  const std::vector<std::string>& arguments() const { return arguments_; }

  bool Has(std::string_view option) const;
  // The value of its last mention, or `fallback`.
  std::string Get(std::string_view option,
                  std::string_view fallback = {}) const;
  std::vector<std::string> GetAll(std::string_view option) const;
  // The defaults, and what --read-limit says otherwise.
  const ReadLimits& read_limits() const { return read_limits_; }
  // nullopt, with `error` set, when the text is no integer inside the bounds.
  std::optional<uint64_t> GetCount(std::string_view option, uint64_t fallback,
                                   uint64_t max, std::string* error) const;

 private:
  friend bool ParseCommandLine(std::span<const std::string>, CommandLine*,
                               std::string*);

  const Option& Spec(std::string_view option) const;

  const Verb* verb_;
  std::vector<std::string> arguments_;
  std::vector<std::pair<const Option*, std::string>> given_;
  ReadLimits read_limits_;
};

// Options that every verb understands: --read-limit, --help, --format.
std::span<const Option> CommonOptions();

// Parses the words behind the verb. "--name value", "--name=value", "-n value";
// "--" ends the options; "-" is an argument. On failure `error` says what is
// wrong and, for a misspelt option, what was probably meant.
bool ParseCommandLine(std::span<const std::string> words, CommandLine* line,
                      std::string* error);

// The help of one verb.
std::string HelpOf(const Verb& verb);

// The name in `names` that a typo of `word` most likely meant; "" when none is
// near.
std::string_view ClosestName(std::string_view word,
                             std::span<const std::string_view> names);

}  // namespace tenon::tools
