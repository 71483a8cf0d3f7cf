#include "support/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tenon {
namespace {

constexpr size_t kBufferBytes = 1 << 16;

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

}  // namespace

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) {
    close(fd_);
    unlink(temporary_.c_str());
  }
}

bool AtomicFile::Fail() {
  error_ = std::strerror(errno);
  return false;
}

bool AtomicFile::Open(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  path_ = path;
  temporary_ = path + ".tmp." + std::to_string(getpid()) + "." +
               std::to_string(counter.fetch_add(1));
  fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  return fd_ >= 0 || Fail();
}

bool AtomicFile::Flush() {
  const bool ok = WriteAll(fd_, buffer_.data(), buffer_.size());
  buffer_.clear();
  return ok || Fail();
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
  return WriteAll(fd_, text.data(), text.size()) || Fail();
}

bool AtomicFile::Commit() {
  if (!Flush()) return false;
  if (fsync(fd_) != 0) return Fail();
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return Fail();
  close(fd_);
  fd_ = -1;
  return true;
}

}  // namespace tenon
