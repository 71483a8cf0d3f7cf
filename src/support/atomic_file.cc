#include "support/atomic_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace tenon {
namespace {

constexpr size_t kBufferBytes = 1 << 16;
constexpr int kMaxNames = 10'000;
// The page cache likes its large pages to end at multiples of this, and the
// last cache holds as much.
constexpr uint64_t kWritebackBytes = uint64_t{8} << 20;
constexpr uint64_t kBlockBytes = 4096;
// Of kDirectBytes the disk gets as much at a time, from one large page where
// there are any: of many small ones it takes half as long again.
constexpr size_t kDirectBytes = size_t{4} << 20;
constexpr size_t kLargePageBytes = size_t{2} << 20;
// A piece that is copied after it was read stays in the second cache between.
constexpr uint64_t kDirectPieceBytes = uint64_t{256} << 10;

// What statfs says, where <linux/magic.h> has no name for it.
constexpr uint64_t kSmb2 = 0xFE534D42, kBcachefs = 0xCA451A4E;

// How much was written; less than `text` has when errno says why.
size_t WriteAll(int fd, std::string_view text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

// Aligned to a large page; null when there is no memory.
char* MapBlock() {
  constexpr size_t kMapped = kDirectBytes + kLargePageBytes;
  void* const mapped = mmap(nullptr, kMapped, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  // The ends beyond the aligned part are given back.
  char* const begin = static_cast<char*>(mapped);
  const size_t before =
      (kLargePageBytes - reinterpret_cast<uintptr_t>(begin) % kLargePageBytes) %
      kLargePageBytes;
  if (before > 0) munmap(begin, before);
  if (before < kLargePageBytes) {
    munmap(begin + before + kDirectBytes, kLargePageBytes - before);
  }
  madvise(begin + before, kDirectBytes, MADV_HUGEPAGE);
  return begin + before;
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
  if (block_ != nullptr) munmap(block_, kDirectBytes);
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

bool AtomicFile::WriteCached(std::string_view text) {
  const size_t done = WriteAll(fd_, text);
  written_ += done;
  return done == text.size() || Fail("write");
}

bool AtomicFile::SetDirect(bool on) {
  const int flags = fcntl(fd_, F_GETFL);
  if (flags < 0 ||
      fcntl(fd_, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) != 0) {
    return false;
  }
  direct_ = on;
  return true;
}

bool AtomicFile::BeginDirect(std::string_view* text) {
  const size_t head = (kBlockBytes - written_ % kBlockBytes) % kBlockBytes;
  if (refused_) return true;
  if (block_ == nullptr) block_ = MapBlock();
  refused_ = block_ == nullptr;
  if (refused_) return true;
  if (!WriteCached(text->substr(0, head))) return false;
  text->remove_prefix(head);
  refused_ = !SetDirect(true);
  return true;
}

bool AtomicFile::WriteBlock() {
  const std::string_view text(block_, std::exchange(used_, 0));
  const size_t whole = text.size() - text.size() % kBlockBytes;
  const size_t done = WriteAll(fd_, text.substr(0, whole));
  written_ += done;
  if (done == text.size()) return true;
  // Some file systems take the flag and refuse the write, and no position is
  // aligned after a short one.
  if (done < whole) {
    if (errno != EINVAL) return Fail("write");
    refused_ = true;
  }
  if (!SetDirect(false)) return Fail("write");
  return WriteCached(text.substr(done));
}

bool AtomicFile::WriteDirect(std::string_view text) {
  while (direct_ && !text.empty()) {
    const size_t size = std::min(text.size(), kDirectBytes - used_);
    std::memcpy(block_ + used_, text.data(), size);
    used_ += size;
    text.remove_prefix(size);
    if (used_ == kDirectBytes && !WriteBlock()) return false;
  }
  return WriteCached(text);
}

bool AtomicFile::EndDirect() {
  if (used_ > 0 && !WriteBlock()) return false;
  return !direct_ || SetDirect(false) || Fail("write");
}

bool AtomicFile::Flush() {
  if (direct_) return EndDirect();
  const bool ok = WriteCached(buffer_);
  buffer_.clear();
  return ok;
}

bool AtomicFile::Write(Bytes bytes) {
  std::string_view text = AsText(bytes);
  offset_ += text.size();
  if (direct_) return WriteDirect(text);
  // The buffer ends at a multiple of its size: the page cache takes whole pages
  // with less work than parts of them, piece by piece.
  const size_t room = kBufferBytes - written_ % kBufferBytes - buffer_.size();
  if (text.size() < room) {
    buffer_.append(text);
    return true;
  }
  if (offset_ >= kDirectFromBytes && text.size() >= kDirectPieceBytes) {
    if (!Flush() || !BeginDirect(&text)) return false;
    if (direct_) return WriteDirect(text);
  } else if (!buffer_.empty()) {
    buffer_.append(text.substr(0, room));
    text.remove_prefix(room);
    if (!Flush()) return false;
  }
  // Large pieces go straight from where they lie.
  const size_t end = (written_ + text.size()) % kBufferBytes;
  const size_t rest = std::min(end, text.size());
  if (!WriteCached(text.substr(0, text.size() - rest))) return false;
  buffer_.assign(text.substr(text.size() - rest));
  StartWriteback();
  return true;
}

uint64_t AtomicFile::PieceBytes() const {
  return direct_ ? kDirectPieceBytes
                 : kWritebackBytes - offset_ % kWritebackBytes;
}

void AtomicFile::StartWriteback() {
  if (written_ - started_ < kWritebackBytes) return;
  // Only for speed: what goes wrong is told by Commit's fdatasync.
  sync_file_range(fd_, static_cast<off_t>(started_),
                  static_cast<off_t>(written_ - started_),
                  SYNC_FILE_RANGE_WRITE);
  started_ = written_;
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
    written_ += static_cast<uint64_t>(n);
  }
  StartWriteback();
  return true;
}

bool AtomicFile::Prepare() {
  if (is_prepared_) return true;
  if (!Flush()) return false;
  // The size counts as data; times don't matter.
  if (fdatasync(fd_) != 0) return Fail("sync");
  is_prepared_ = true;
  return true;
}

bool AtomicFile::Commit() {
  if (!Prepare()) return false;
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    return Fail("rename to");
  }
  Untrack(track_);
  close(fd_);
  fd_ = -1;
  return true;
}

const AtomicFile* CommitBoth(AtomicFile* first, AtomicFile* second) {
  if (!first->Prepare()) return first;
  if (!second->Prepare()) return second;
  // The first target's old content waits beside it until both names are given.
  const std::string aside = first->temporary_path() + ".old";
  const bool had_target =
      link(first->path().c_str(), aside.c_str()) == 0 ||
      // Some file systems have no second names.
      (errno != ENOENT && rename(first->path().c_str(), aside.c_str()) == 0);
  const bool is_first_there = first->Commit();
  if (is_first_there && second->Commit()) {
    if (had_target) unlink(aside.c_str());
    return nullptr;
  }
  if (had_target) {
    rename(aside.c_str(), first->path().c_str());
  } else if (is_first_there) {
    unlink(first->path().c_str());
  }
  return is_first_there ? second : first;
}

}  // namespace tenon
