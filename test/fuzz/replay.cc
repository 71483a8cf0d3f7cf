// fuzz_replay TARGET FILE_OR_FOLDER...: runs a target over files, without
// libFuzzer, so that every compiler runs what fuzzers found. Says which file it
// is at, so that a crash can be told.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/target.h"

namespace tenon::fuzz {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> FilesIn(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

int Main(const std::vector<std::string>& words) {
  const Target* target = words.empty() ? nullptr : FindTarget(words[0]);
  if (target == nullptr || words.size() < 2) {
    std::fputs("usage: fuzz_replay TARGET FILE_OR_FOLDER...\n", stderr);
    return 2;
  }
  size_t count = 0;
  for (size_t i = 1; i < words.size(); ++i) {
    for (const fs::path& path : FilesIn(words[i])) {
      std::printf("%s\n", path.c_str());
      std::fflush(stdout);
      std::ifstream in(path, std::ios::binary);
      if (!in) return 2;
      const std::string content{std::istreambuf_iterator<char>(in), {}};
      target->run(AsBytes(content));
      ++count;
    }
  }
  std::printf("%zu passed, 0 failed\n", count);
  return count == 0 ? 1 : 0;
}

}  // namespace
}  // namespace tenon::fuzz

int main(int argc, char** argv) {
  return tenon::fuzz::Main({argv + 1, argv + argc});
}
