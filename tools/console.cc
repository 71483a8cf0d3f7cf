#include "console.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "findings.h"

namespace tenon::tools {
namespace {

constexpr size_t kBufferBytes = 1 << 16;

bool WantsColors(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool is_dumb = term != nullptr && std::string_view(term) == "dumb";
  return isatty(fd) == 1 && !is_dumb &&
         (no_color == nullptr || *no_color == '\0');
}

}  // namespace

Console::Console(int out, int err)
    : out_{out},
      err_{err},
      out_colors_(WantsColors(out)),
      err_colors_(WantsColors(err)),
      err_is_terminal_(isatty(err) == 1) {}

void Console::Drain(Stream* stream) {
  std::string_view left = stream->buffer;
  while (!left.empty() && !stream->is_closed && !stream->has_failed) {
    const ssize_t n = write(stream->fd, left.data(), left.size());
    if (n >= 0) {
      left.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EPIPE) {
      stream->is_closed = true;
    } else if (errno != EINTR) {
      stream->has_failed = true;
    }
  }
  stream->buffer.clear();
}

void Console::Out(std::string_view data) {
  ClearProgress();
  out_.buffer += data;
  if (out_.buffer.size() >= kBufferBytes) Drain(&out_);
}

void Console::Err(std::string_view text) {
  ClearProgress();
  // Keeps the order of both streams where they end in one place.
  Drain(&out_);
  err_.buffer += text;
  Drain(&err_);
}

void Console::Progress(std::string_view line) {
  if (!err_is_terminal_) return;
  err_.buffer += "\r\033[K";
  err_.buffer += line;
  Drain(&err_);
  has_progress_ = true;
}

void Console::ClearProgress() {
  if (!has_progress_) return;
  has_progress_ = false;
  err_.buffer += "\r\033[K";
  Drain(&err_);
}

std::string Console::Format(const Diagnostics& diags, bool colors) const {
  switch (format_) {
    case FindingFormat::kText:
      return FindingsAsText(diags, colors);
    case FindingFormat::kJson:
      return FindingsAsJson(diags);
    case FindingFormat::kSarif:
      return FindingsAsSarif(diags);
  }
  return "";
}

void Console::Report(const Diagnostics& diags) {
  const bool is_empty = diags.all().empty();
  if (is_empty && format_ == FindingFormat::kText) return;
  Err(Format(diags, err_colors_));
}

void Console::ReportAsData(const Diagnostics& diags) {
  Out(Format(diags, out_colors_));
}

bool Console::Flush() {
  ClearProgress();
  Drain(&out_);
  Drain(&err_);
  return !out_.has_failed;
}

}  // namespace tenon::tools
