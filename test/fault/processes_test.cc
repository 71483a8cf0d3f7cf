// Processes that write one target, and processes that are killed: the target is
// always a whole file.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "scratch.h"
#include "support/atomic_file.h"
#include "tenon/model.h"

namespace tenon::fault {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string MakeFolder(const std::string& name) {
  const std::string folder = ScratchPath(name);
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

size_t CountFiles(const std::string& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// Removes the files whose name starts so; their number.
int RemoveFiles(const std::string& folder, const std::string& start) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(start)) {
      found.push_back(entry.path());
    }
  }
  for (const fs::path& path : found) fs::remove(path);
  return static_cast<int>(found.size());
}

// A child that does `work` and ends with its verdict.
pid_t Fork(const std::function<bool()>& work) {
  const pid_t pid = fork();
  if (pid == 0) _exit(work() ? 0 : 1);
  return pid;
}

int Wait(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

TEST(Processes, ThatWriteOneTargetLeaveOneWholeFile) {
  constexpr int kRounds = 40;
  const std::string folder = MakeFolder("two_writers");
  const std::string target = folder + "/target.pt2";
  const auto a = Model::Open("test/data/pt2/kwargs_order.pt2");
  const auto b = Model::Open("test/data/pt2/counter.pt2");
  ASSERT_TRUE(a && b);
  ASSERT_TRUE(a->Save(target));
  const std::string whole_a = ReadFile(target);
  ASSERT_TRUE(b->Save(target));
  const std::string whole_b = ReadFile(target);
  ASSERT_NE(whole_a, whole_b);
  for (int round = 0; round < kRounds; ++round) {
    const pid_t first = Fork([&] { return a->Save(target).ok(); });
    const pid_t second = Fork([&] { return b->Save(target).ok(); });
    // Any time a reader looks, too.
    const std::string meanwhile = ReadFile(target);
    EXPECT_TRUE(meanwhile == whole_a || meanwhile == whole_b);
    EXPECT_EQ(Wait(first), 0);
    EXPECT_EQ(Wait(second), 0);
    const std::string after = ReadFile(target);
    EXPECT_TRUE(after == whole_a || after == whole_b) << "round " << round;
    EXPECT_EQ(CountFiles(folder), 1u) << "round " << round;
  }
}

TEST(Processes, ThatAreKilledLeaveTheOldFile) {
  constexpr int kRounds = 30;
  const std::string folder = MakeFolder("killed_writer");
  const std::string target = folder + "/target";
  const std::string old_content(1000, 'o');
  std::ofstream(target) << old_content;
  const std::string piece(100'000, 'n');
  for (int round = 0; round < kRounds; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t writer = Fork([&] {
      AtomicFile file;
      if (!file.Open(target)) return false;
      for (int i = 0; i < 1000; ++i) {
        if (!file.Write(AsBytes(piece))) return false;
        // The parent kills when it has heard enough.
        if (write(ends[1], "x", 1) != 1) return false;
      }
      pause();
      return file.Commit();
    });
    for (int i = 0; i <= round; ++i) {
      char heard;
      ASSERT_EQ(read(ends[0], &heard, 1), 1);
    }
    kill(writer, SIGKILL);
    const int status = Wait(writer);
    close(ends[0]);
    close(ends[1]);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(ReadFile(target), old_content);
    // What a killed process leaves bears its number and can be told.
    EXPECT_EQ(CountFiles(folder), 2u);
    EXPECT_EQ(RemoveFiles(folder, "target.tmp." + std::to_string(writer)), 1);
  }
}

TEST(Processes, ThatFindTheirTemporaryNamesTakenTakeOthers) {
  const std::string folder = MakeFolder("taken_names");
  const std::string target = folder + "/target";
  const std::string stem = target + ".tmp." + std::to_string(getpid()) + ".";
  constexpr int kNumTaken = 1000;
  for (int i = 0; i < kNumTaken; ++i) std::ofstream(stem + std::to_string(i));
  AtomicFile file;
  ASSERT_TRUE(file.Open(target)) << file.error();
  EXPECT_TRUE(file.Write(AsBytes("new")) && file.Commit());
  EXPECT_EQ(ReadFile(target), "new");
  EXPECT_EQ(CountFiles(folder), size_t{kNumTaken} + 1);
}

TEST(Processes, ThatEndByASignalRemoveTheirTemporaryFiles) {
  const std::string folder = MakeFolder("signalled_writer");
  const std::string target = folder + "/target";
  std::ofstream(target) << "old";
  const pid_t writer = Fork([&] {
    struct sigaction action = {};
    action.sa_handler = [](int signal) {
      RemoveTemporaryFiles();
      raise(signal);
    };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGTERM, &action, nullptr);
    AtomicFile first, second;
    const bool is_begun =
        first.Open(target) && second.Open(target) && CountFiles(folder) == 3;
    if (is_begun) raise(SIGTERM);
    return is_begun;
  });
  const int status = Wait(writer);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(ReadFile(target), "old");
  EXPECT_EQ(CountFiles(folder), 1u);
}

}  // namespace
}  // namespace tenon::fault
