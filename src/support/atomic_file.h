// A file that appears whole or not at all.
#pragma once

#include <cstdint>
#include <string>

#include "support/byte_cursor.h"

namespace tenon {

// Writes to a temporary name beside the target; Commit syncs and renames.
// Destroyed without Commit, the temporary file is removed and an older target
// stays as it was.
//
// Processes and threads that write one target each have a temporary name of
// their own, TARGET.tmp.PID.N, and the last to commit wins: the target is
// always one of the files, whole. A process that is killed can't remove its
// temporary file; one that ends by a signal of its own choice can, below.
class AtomicFile {
 public:
  AtomicFile() = default;
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Each returns false with `error()` set; after that only destroy it.
  bool Open(const std::string& path);
  bool Write(Bytes bytes);
  // Appends `size` bytes of an open file from `from` on. The kernel copies them
  // where it can; they don't pass through this process's memory.
  bool Copy(int descriptor, uint64_t from, uint64_t size);
  // Whether both files lie where IsCopiedByReference says that Copy is cheaper
  // than Write from a mapping.
  bool CopiesByReference(int descriptor, uint64_t from) const;
  // After it, all that was written can be read at `temporary_path()`.
  bool Flush();
  bool Commit();

  const std::string& temporary_path() const { return temporary_; }
  uint64_t offset() const { return offset_; }
  // "can't write 'out.pt2': No space left on device"
  const std::string& error() const { return error_; }

 private:
  bool Fail(const char* action);
  // Lets the disk begin with what was written since it last began, when that is
  // worth it: else it would wait for Commit.
  void StartWriteback();

  std::string path_, temporary_, error_;
  std::string buffer_;
  int fd_ = -1;
  int track_ = -1;  // its entry among the tracked files
  uint64_t offset_ = 0;
  uint64_t started_ = 0;  // how far the disk was told to write
};

// Whether a file system copies from one place in a file to another without
// moving the bytes through this machine: by sharing blocks (Btrfs, XFS,
// Bcachefs; both places have the same distance from a block's beginning) or on
// its server (NFS, SMB). Elsewhere the kernel's copy goes page by page, and
// writing from a mapping costs a quarter less. `file_system` is what statfs
// calls f_type.
bool IsCopiedByReference(uint64_t file_system, uint64_t from, uint64_t to);

// Removes the temporary files of this process. For handlers of signals that end
// it: calls nothing but unlink. Files beyond kMaxTrackedFiles open at once, or
// with names beyond kMaxTrackedBytes, aren't known to it.
void RemoveTemporaryFiles() noexcept;
constexpr int kMaxTrackedFiles = 16;
constexpr size_t kMaxTrackedBytes = 4096;

}  // namespace tenon
