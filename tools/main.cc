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
#include "support/atomic_file.h"
#include "verbs.h"

namespace tenon::tools {
namespace {

// A library's exception: never a verdict about a program.
[[noreturn]] void OnUnexpected() {
  std::fputs("tenon: internal error: unexpected end\n", stderr);
  std::_Exit(static_cast<int>(ExitCode::kInternal));
}

// Ends as the signal would have ended it, without files half written.
void OnEndingSignal(int signal) {
  RemoveTemporaryFiles();
  raise(signal);
}

void HandleEndingSignals() {
  struct sigaction action = {};
  action.sa_handler = OnEndingSignal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;  // of nohup and the like
    sigaction(signal, &action, nullptr);
  }
}

int Main(std::vector<std::string> words) {
  std::set_terminate(OnUnexpected);
  HandleEndingSignals();
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
