// A file that appears whole or not at all.
#pragma once

#include <string>

#include "support/byte_cursor.h"

namespace tenon {

// Writes to a temporary name beside the target; Commit syncs and renames.
// Destroyed without Commit, the temporary file is removed and an older target
// stays as it was.
class AtomicFile {
 public:
  AtomicFile() = default;
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Each returns false with `error()` set; after that only destroy it.
  bool Open(const std::string& path);
  bool Write(Bytes bytes);
  // After it, all that was written can be read at `temporary_path()`.
  bool Flush();
  bool Commit();

  const std::string& temporary_path() const { return temporary_; }
  uint64_t offset() const { return offset_; }
  const std::string& error() const { return error_; }

 private:
  bool Fail();

  std::string path_, temporary_, error_;
  std::string buffer_;
  int fd_ = -1;
  uint64_t offset_ = 0;
};

}  // namespace tenon
