#include "conformance/isolated.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

namespace tenon::conformance {
namespace {

using Clock = std::chrono::steady_clock;

struct Child {
  size_t index = 0;
  pid_t pid = -1;
  int pipe = -1;
  Clock::time_point deadline;
  std::string output;
};

void WriteAll(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n <= 0) return;
    done += static_cast<size_t>(n);
  }
}

std::optional<Child> Start(size_t index, int timeout_seconds,
                           const std::function<CheckResult(size_t)>& check) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) {
    close(ends[0]);
    close(ends[1]);
    return std::nullopt;
  }
  if (pid == 0) {
    close(ends[0]);
    const CheckResult result = check(index);
    WriteAll(ends[1], result.lines);
    // exit, not _exit: the leak checker runs there.
    std::exit(static_cast<int>(result.outcome));
  }
  close(ends[1]);
  return Child{index, pid, ends[0],
               Clock::now() + std::chrono::seconds(timeout_seconds), ""};
}

// What became of a child that closed its pipe or was stopped.
CheckResult Finish(Child* child, bool timed_out, const std::string& name) {
  close(child->pipe);
  if (timed_out) kill(child->pid, SIGKILL);
  int status = 0;
  waitpid(child->pid, &status, 0);
  CheckResult result{Outcome::kFailed, std::move(child->output)};
  if (timed_out) {
    result.lines += "FAIL " + name + ": process: ran out of time\n";
  } else if (WIFSIGNALED(status)) {
    result.lines += "FAIL " + name + ": process: died of " +
                    strsignal(WTERMSIG(status)) + "\n";
  } else if (WEXITSTATUS(status) <= static_cast<int>(Outcome::kSkipped)) {
    result.outcome = static_cast<Outcome>(WEXITSTATUS(status));
  } else {
    result.lines += "FAIL " + name + ": process: exit status " +
                    std::to_string(WEXITSTATUS(status)) + "\n";
  }
  return result;
}

// Reads what the child wrote; false at the end of its output.
bool Drain(Child* child) {
  char buffer[4096];
  const ssize_t n = read(child->pipe, buffer, sizeof(buffer));
  if (n > 0) child->output.append(buffer, static_cast<size_t>(n));
  return n > 0;
}

}  // namespace

void RunIsolated(size_t count, const IsolationOptions& options,
                 const std::function<std::string(size_t)>& name,
                 const std::function<CheckResult(size_t)>& check,
                 const std::function<void(size_t, CheckResult)>& on_result) {
  std::vector<Child> running;
  std::vector<std::optional<CheckResult>> results(count);
  size_t started = 0, reported = 0;
  while (reported < count) {
    while (started < count &&
           running.size() < static_cast<size_t>(std::max(options.jobs, 1))) {
      auto child = Start(started, options.timeout_seconds, check);
      if (child) {
        running.push_back(std::move(*child));
      } else {
        results[started] = {Outcome::kFailed, "FAIL " + name(started) +
                                                  ": process: can't start\n"};
      }
      ++started;
    }
    std::vector<pollfd> polls;
    for (const Child& child : running) polls.push_back({child.pipe, POLLIN, 0});
    if (!polls.empty()) poll(polls.data(), polls.size(), 1000);
    for (size_t i = running.size(); i-- > 0;) {
      Child& child = running[i];
      const bool has_input = (polls[i].revents & (POLLIN | POLLHUP)) != 0;
      if (has_input && Drain(&child)) continue;
      const bool timed_out = !has_input && Clock::now() > child.deadline;
      if (!has_input && !timed_out) continue;
      results[child.index] = Finish(&child, timed_out, name(child.index));
      running.erase(running.begin() + static_cast<ptrdiff_t>(i));
    }
    for (; reported < started && results[reported]; ++reported) {
      on_result(reported, std::move(*results[reported]));
    }
  }
}

}  // namespace tenon::conformance
