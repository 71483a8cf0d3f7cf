#include "support/atomic_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tenon {
namespace {

constexpr size_t kBufferBytes = 1 << 16;
constexpr int kMaxNames = 10'000;
constexpr uint64_t kWritebackBytes = uint64_t{8} << 20;
constexpr uint64_t kBlockBytes = 4096;

// What statfs says, where <linux/magic.h> has no name for it.
constexpr uint64_t kSmb2 = 0xFE534D42, kBcachefs = 0xCA451A4E;

bool WriteAll(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = write(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    data += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

// Names in fixed memory, so that a signal handler can read them at any time.
struct TrackedFile {
  enum State : int { kFree, kChanging, kOpen };
  std::atomic<int> state = kFree;
  char path[kMaxTrackedBytes];
};
static_assert(std::atomic<int>::is_always_lock_free);
TrackedFile tracked_files[kMaxTrackedFiles];

// The entry; -1 when the file can't be tracked.
int Track(const std::string& path) {
  if (path.size() >= kMaxTrackedBytes) return -1;
  for (int i = 0; i < kMaxTrackedFiles; ++i) {
    TrackedFile& file = tracked_files[i];
    int expected = TrackedFile::kFree;
    if (!file.state.compare_exchange_strong(expected, TrackedFile::kChanging)) {
      continue;
    }
    std::memcpy(file.path, path.c_str(), path.size() + 1);
    file.state = TrackedFile::kOpen;
    return i;
  }
  return -1;
}

void Untrack(int entry) {
  if (entry >= 0) tracked_files[entry].state = TrackedFile::kFree;
}

}  // namespace

bool IsCopiedByReference(uint64_t file_system, uint64_t from, uint64_t to) {
  switch (file_system) {
    case BTRFS_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case kBcachefs:
      return from % kBlockBytes == to % kBlockBytes;
    case NFS_SUPER_MAGIC:
    case CIFS_SUPER_MAGIC:
    case kSmb2:
      return true;
    default:
      return false;
  }
}

void RemoveTemporaryFiles() noexcept {
  for (const TrackedFile& file : tracked_files) {
    if (file.state == TrackedFile::kOpen) unlink(file.path);
  }
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_.c_str());
  Untrack(track_);
}

bool AtomicFile::Fail(const char* action) {
  const int error = errno;
  error_ = std::string("can't ") + action + " '" + path_ +
           "': " + std::strerror(error);
  return false;
}

bool AtomicFile::Open(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  path_ = path;
  const std::string stem = path + ".tmp." + std::to_string(getpid()) + ".";
  // A name may be taken: processes of containers have the same few numbers,
  // and one that was killed leaves its file.
  for (int tries = 0; tries < kMaxNames; ++tries) {
    temporary_ = stem + std::to_string(counter.fetch_add(1));
    fd_ =
        open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ >= 0 || errno != EEXIST) break;
  }
  if (fd_ < 0) return Fail("create");
  track_ = Track(temporary_);
  return true;
}

bool AtomicFile::Flush() {
  const bool ok = WriteAll(fd_, buffer_.data(), buffer_.size());
  buffer_.clear();
  return ok || Fail("write");
}

bool AtomicFile::Write(Bytes bytes) {
  offset_ += bytes.size();
  if (bytes.size() + buffer_.size() <= kBufferBytes) {
    buffer_.append(AsText(bytes));
    return true;
  }
  if (!Flush()) return false;
  // Large pieces go straight from where they lie.
  const std::string_view text = AsText(bytes);
  if (!WriteAll(fd_, text.data(), text.size())) return Fail("write");
  StartWriteback();
  return true;
}

void AtomicFile::StartWriteback() {
  if (offset_ - started_ < kWritebackBytes) return;
  // Only for speed: what goes wrong is told by Commit's fdatasync.
  sync_file_range(fd_, static_cast<off_t>(started_),
                  static_cast<off_t>(offset_ - started_),
                  SYNC_FILE_RANGE_WRITE);
  started_ = offset_;
}

bool AtomicFile::CopiesByReference(int descriptor, uint64_t from) const {
  struct statfs source, target;
  if (fstatfs(descriptor, &source) != 0 || fstatfs(fd_, &target) != 0 ||
      source.f_type != target.f_type) {
    return false;
  }
  return IsCopiedByReference(static_cast<uint64_t>(source.f_type), from,
                             offset_);
}

bool AtomicFile::Copy(int descriptor, uint64_t from, uint64_t size) {
  if (!Flush()) return false;
  offset_ += size;
  auto at = static_cast<off_t>(from);
  while (size > 0) {
    ssize_t n = copy_file_range(descriptor, &at, fd_, nullptr, size, 0);
    // Not between these file systems, or not by this kernel.
    if (n < 0 && (errno == EXDEV || errno == EINVAL || errno == ENOSYS ||
                  errno == EOPNOTSUPP)) {
      n = sendfile(fd_, descriptor, &at, size);
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Fail("copy to");
    if (n == 0) {
      error_ = "the file that is copied from became shorter";
      return false;
    }
    size -= static_cast<uint64_t>(n);
  }
  StartWriteback();
  return true;
}

bool AtomicFile::Commit() {
  if (!Flush()) return false;
  // The size counts as data; times don't matter.
  if (fdatasync(fd_) != 0) return Fail("sync");
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    return Fail("rename to");
  }
  Untrack(track_);
  close(fd_);
  fd_ = -1;
  return true;
}

}  // namespace tenon
