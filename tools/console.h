// Where a verb writes: data to stdout, findings and progress to stderr.
#pragma once

#include <string>
#include <string_view>

#include "diag/diagnostics.h"

namespace tenon::tools {

enum class FindingFormat { kText, kJson, kSarif };

// A reader that closed its end of the pipe (`tenon dis x | head`) has what it
// wanted: what follows is dropped and nothing is reported. Any other failed
// write is remembered.
class Console {
 public:
  // File descriptors, usually 1 and 2. They stay open.
  Console(int out, int err);
  ~Console() { Flush(); }
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void set_format(FindingFormat format) { format_ = format; }
  FindingFormat format() const { return format_; }

  // Buffered.
  void Out(std::string_view data);
  void Err(std::string_view text);
  // A line that the next one overwrites; nothing where stderr is no terminal.
  void Progress(std::string_view line);

  // Writes findings to stderr in the chosen format. As text nothing at all
  // when there are none.
  void Report(const Diagnostics& diags);
  // The same to stdout, for verbs whose result the findings are.
  void ReportAsData(const Diagnostics& diags);

  // False when data was lost (a full disk).
  bool Flush();

 private:
  struct Stream {
    int fd;
    bool is_closed = false;  // by the reader
    bool has_failed = false;
    std::string buffer;
  };
  static void Drain(Stream* stream);

  std::string Format(const Diagnostics& diags, bool colors) const;
  void ClearProgress();

  Stream out_, err_;
  FindingFormat format_ = FindingFormat::kText;
  bool out_colors_ = false;
  bool err_colors_ = false;
  bool err_is_terminal_ = false;
  bool has_progress_ = false;
};

}  // namespace tenon::tools
