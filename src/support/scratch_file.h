// Room for large data that needn't stay in memory: a file without a name.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "support/byte_cursor.h"

namespace tenon {

// A mapped file that no folder lists, gone with its last holder, also when the
// process is killed. Its pages can be released (mapped_pages.h): the system
// writes them to the disk where it needs the memory.
class ScratchFile {
 public:
  // `size_bytes` zeros in a file in `folder`. Null when the file can't be made
  // or the disk is full; `error` then says why.
  static std::shared_ptr<ScratchFile> Create(const std::string& folder,
                                             size_t size_bytes,
                                             std::string* error);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  ScratchFile() = default;

  std::span<std::byte> bytes_;
};

}  // namespace tenon
