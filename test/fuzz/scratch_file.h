// Where a target writes what it reads again.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace tenon::fuzz {

// A file of this process, gone when it goes out of scope.
struct ScratchFile {
  explicit ScratchFile(const char* name)
      : path(std::filesystem::temp_directory_path() /
             ("tenon-fuzz-" + std::to_string(getpid()) + name)) {}
  ~ScratchFile() { unlink(path.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  std::string path;
};

}  // namespace tenon::fuzz
