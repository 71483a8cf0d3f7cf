// A folder of this process for the files that a test writes: tests run side by
// side, and a file that is truncated while another process maps it kills that.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace tenon {

// A path in the folder, which is gone when the process ends.
inline std::string ScratchPath(const std::string& name) {
  struct Folder {
    std::string path =
        ::testing::TempDir() + "tenon-test-" + std::to_string(getpid());
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Folder folder;
  return folder.path + "/" + name;
}

}  // namespace tenon
