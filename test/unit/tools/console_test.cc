#include "console.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>

namespace tenon::tools {
namespace {

class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe(ends_.data()), 0); }
  ~Pipe() {
    CloseReader();
    close(ends_[1]);
  }
  int writer() const { return ends_[1]; }
  void CloseReader() {
    if (!is_closed_) close(ends_[0]);
    is_closed_ = true;
  }
  std::string Read() {
    std::array<char, 4096> buffer;
    const ssize_t n = read(ends_[0], buffer.data(), buffer.size());
    return n > 0 ? std::string(buffer.data(), static_cast<size_t>(n)) : "";
  }

 private:
  std::array<int, 2> ends_{};
  bool is_closed_ = false;
};

TEST(ConsoleTest, KeepsDataAndFindingsApart) {
  Pipe out, err;
  Console console(out.writer(), err.writer());
  console.Out("data\n");
  Diagnostics diags;
  diags.Error(Rule::kIo, Place::File("x.pt2")) << "can't be read";
  console.Report(diags);
  EXPECT_TRUE(console.Flush());
  EXPECT_EQ(out.Read(), "data\n");
  EXPECT_EQ(err.Read(), "error: x.pt2: can't be read [T-IO]\n");
}

TEST(ConsoleTest, WritesNoEscapesAndNoProgressIntoPipes) {
  Pipe out, err;
  Console console(out.writer(), err.writer());
  console.Progress("compiling");
  Diagnostics diags;
  diags.Warning(Rule::kIo) << "slow disk";
  console.ReportAsData(diags);
  console.Err("done\n");
  EXPECT_TRUE(console.Flush());
  EXPECT_EQ(out.Read(), "warning: slow disk [T-IO]\n");
  EXPECT_EQ(err.Read(), "done\n");
}

TEST(ConsoleTest, TakesAClosedPipeForSatisfied) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe out, err;
  out.CloseReader();
  Console console(out.writer(), err.writer());
  for (int i = 0; i < 100; ++i) console.Out(std::string(10'000, 'x'));
  EXPECT_TRUE(console.Flush());
}

TEST(ConsoleTest, ReportsLostData) {
  FILE* full = std::fopen("/dev/full", "w");
  if (full == nullptr) GTEST_SKIP() << "no /dev/full on this system";
  Pipe err;
  Console console(fileno(full), err.writer());
  console.Out("data");
  EXPECT_FALSE(console.Flush());
  std::fclose(full);
}

}  // namespace
}  // namespace tenon::tools
