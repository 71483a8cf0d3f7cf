// A file that appears whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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
//
// Beyond kDirectFromBytes bytes go to the disk past the page cache, where the
// file system lets them: that takes less than half of the processor's time, and
// leaves in memory what others have there. What was written that way is read
// from the disk when it is read the next time.
class AtomicFile {
 public:
  static constexpr uint64_t kDirectFromBytes = uint64_t{32} << 20;

  AtomicFile() = default;
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Each returns false with `error()` set; after that only destroy it.
  bool Open(const std::string& path);
  bool Write(Bytes bytes);
  // How many bytes are best given at a time, when there are many. A writer that
  // reads them for a purpose of its own then leaves them in the right cache.
  uint64_t PieceBytes() const;
  // Appends `size` bytes of an open file from `from` on. The kernel copies them
  // where it can; they don't pass through this process's memory.
  bool Copy(int descriptor, uint64_t from, uint64_t size);
  // Whether both files lie where IsCopiedByReference says that Copy is cheaper
  // than Write from a mapping.
  bool CopiesByReference(int descriptor, uint64_t from) const;
  // After it, all that was written can be read at `temporary_path()`. Costs
  // more than it seems to when bytes go past the page cache.
  bool Flush();
  // Everything of Commit that may take long or lack room; what is left is to
  // give the file its name.
  bool Prepare();
  bool Commit();

  const std::string& path() const { return path_; }
  const std::string& temporary_path() const { return temporary_; }
  uint64_t offset() const { return offset_; }
  // "can't write 'out.pt2': No space left on device"
  const std::string& error() const { return error_; }

 private:
  bool Fail(const char* action);
  // Writes what lies in memory at the file's position, of any alignment.
  bool WriteCached(std::string_view text);
  // Past the page cache position, length and memory have to be aligned: `text`
  // goes there through block_. BeginDirect takes from `text` what is missing
  // until the position is. Where the file system refuses, direct_ stays false.
  bool BeginDirect(std::string_view* text);
  bool WriteDirect(std::string_view text);
  bool WriteBlock();
  // Writes block_'s last bytes, and goes on in the page cache.
  bool EndDirect();
  bool SetDirect(bool on);
  // Lets the disk begin with what was written since it last began, when that is
  // worth it: else it would wait for Commit.
  void StartWriteback();

  std::string path_, temporary_, error_;
  std::string buffer_;
  int fd_ = -1;
  int track_ = -1;  // its entry among the tracked files
  uint64_t offset_ = 0;
  uint64_t started_ = 0;  // how far the disk was told to write
  uint64_t written_ = 0;  // the descriptor's position
  char* block_ = nullptr;
  size_t used_ = 0;  // of block_
  bool direct_ = false;
  bool refused_ = false;
  bool is_prepared_ = false;
};

// Both files get their names, or both targets stay as they were. Null, or the
// file that says why not.
const AtomicFile* CommitBoth(AtomicFile* first, AtomicFile* second);

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
