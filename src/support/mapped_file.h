// A file mapped into memory, read only.
#pragma once

#include <memory>
#include <string>

#include "support/byte_cursor.h"

namespace tenon {

// Holders share the mapping; the last one unmaps. The bytes are those of the
// file at the time they are touched: a file that another process truncates
// while it is mapped can't be protected against.
class MappedFile {
 public:
  // Null when the file can't be opened or mapped; `error` then says why.
  static std::shared_ptr<const MappedFile> Open(const std::string& path,
                                                std::string* error);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  Bytes bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  MappedFile() = default;

  std::string path_;
  Bytes bytes_;
  int descriptor_ = -1;  // open as long as the mapping is, for FindFileRange
};

}  // namespace tenon
