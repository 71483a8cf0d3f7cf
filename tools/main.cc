// tenon VERB: the driver. Finds the verb, parses its options, runs it.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "command_line.h"
#include "console.h"
#include "verbs.h"

namespace tenon::tools {
namespace {

// Out of memory, or a library's exception: never a verdict about a program.
[[noreturn]] void OnUnexpected() {
  std::fputs("tenon: internal error: unexpected end (out of memory?)\n",
             stderr);
  std::_Exit(static_cast<int>(ExitCode::kInternal));
}

int Main(std::vector<std::string> words) {
  std::set_terminate(OnUnexpected);
  // A closed pipe shows as EPIPE, which Console knows how to take.
  std::signal(SIGPIPE, SIG_IGN);
  Console console(STDOUT_FILENO, STDERR_FILENO);
  const ExitCode code = RunCommand(words, console);
  if (!console.Flush()) {
    console.Err("error: the output can't be written [T-IO]\n");
    return static_cast<int>(ExitCode::kNoVerdict);
  }
  return static_cast<int>(code);
}

}  // namespace
}  // namespace tenon::tools

int main(int argc, char** argv) {
  return tenon::tools::Main({argv + (argc > 0 ? 1 : 0), argv + argc});
}
