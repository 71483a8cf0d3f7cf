#include "fault/faults.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <new>

namespace tenon::fault {
namespace {

// Of one fault; plain atomics, as operator new may be called at any time.
std::atomic<bool> is_armed{false};
std::atomic<Call> armed_call{Call::kOpen};
std::atomic<uint64_t> calls_left{0};
std::atomic<int> armed_error{0};
std::atomic<bool> failed{false};

std::atomic<uint64_t> max_write_bytes{UINT64_MAX};
std::atomic<int64_t> live_allocations{0};

bool ShouldFail(Call call) {
  if (!is_armed || armed_call != call || calls_left == 0) return false;
  if (--calls_left > 0) return false;
  failed = true;
  errno = armed_error;
  return true;
}

void* Allocate(size_t size, size_t alignment) {
  if (ShouldFail(Call::kAllocate)) return nullptr;
  const size_t bytes = std::max<size_t>(size, 1);
  void* const at =
      alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
          ? std::malloc(bytes)
          : std::aligned_alloc(alignment,
                               (bytes + alignment - 1) / alignment * alignment);
  if (at != nullptr) ++live_allocations;
  return at;
}

void* AllocateOrThrow(size_t size, size_t alignment) {
  void* const at = Allocate(size, alignment);
  if (at == nullptr) throw std::bad_alloc();
  return at;
}

void Free(void* at) {
  if (at == nullptr) return;
  --live_allocations;
  std::free(at);
}

constexpr size_t kDefault = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

FailNth::FailNth(Call call, uint64_t n, int error) {
  armed_call = call;
  armed_error = error;
  calls_left = n;
  failed = false;
  is_armed = true;
}

FailNth::~FailNth() { is_armed = false; }

bool FailNth::has_failed() const { return failed; }

ShortWrites::ShortWrites(uint64_t max_bytes) { max_write_bytes = max_bytes; }

ShortWrites::~ShortWrites() { max_write_bytes = UINT64_MAX; }

int64_t LiveAllocations() { return live_allocations; }

}  // namespace tenon::fault

using tenon::fault::Call;
using tenon::fault::ShouldFail;

extern "C" {

int __real_open(const char* path, int flags, mode_t mode);
int __real_fstat(int fd, struct stat* info);
void* __real_mmap(void* at, size_t size, int protection, int flags, int fd,
                  off_t offset);
ssize_t __real_write(int fd, const void* data, size_t size);
int __real_fdatasync(int fd);
int __real_rename(const char* from, const char* to);
int __real_inflateInit2_(z_streamp stream, int bits, const char* version,
                         int size);

int __wrap_open(const char* path, int flags, ...) {
  if (ShouldFail(Call::kOpen)) return -1;
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return __real_open(path, flags, mode);
}

int __wrap_fstat(int fd, struct stat* info) {
  return ShouldFail(Call::kStat) ? -1 : __real_fstat(fd, info);
}

void* __wrap_mmap(void* at, size_t size, int protection, int flags, int fd,
                  off_t offset) {
  if (ShouldFail(Call::kMap)) return MAP_FAILED;
  return __real_mmap(at, size, protection, flags, fd, offset);
}

ssize_t __wrap_write(int fd, const void* data, size_t size) {
  if (ShouldFail(Call::kWrite)) return -1;
  return __real_write(fd, data,
                      std::min<uint64_t>(size, tenon::fault::max_write_bytes));
}

int __wrap_fdatasync(int fd) {
  return ShouldFail(Call::kSync) ? -1 : __real_fdatasync(fd);
}

int __wrap_rename(const char* from, const char* to) {
  return ShouldFail(Call::kRename) ? -1 : __real_rename(from, to);
}

int __wrap_inflateInit2_(z_streamp stream, int bits, const char* version,
                         int size) {
  if (ShouldFail(Call::kInflate)) return Z_MEM_ERROR;
  return __real_inflateInit2_(stream, bits, version, size);
}

}  // extern "C"

void* operator new(size_t size) {
  return tenon::fault::AllocateOrThrow(size, tenon::fault::kDefault);
}
void* operator new[](size_t size) {
  return tenon::fault::AllocateOrThrow(size, tenon::fault::kDefault);
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return tenon::fault::Allocate(size, tenon::fault::kDefault);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return tenon::fault::Allocate(size, tenon::fault::kDefault);
}
void* operator new(size_t size, std::align_val_t alignment) {
  return tenon::fault::AllocateOrThrow(size, static_cast<size_t>(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return tenon::fault::AllocateOrThrow(size, static_cast<size_t>(alignment));
}
void operator delete(void* at) noexcept { tenon::fault::Free(at); }
void operator delete[](void* at) noexcept { tenon::fault::Free(at); }
void operator delete(void* at, size_t) noexcept { tenon::fault::Free(at); }
void operator delete[](void* at, size_t) noexcept { tenon::fault::Free(at); }
void operator delete(void* at, const std::nothrow_t&) noexcept {
  tenon::fault::Free(at);
}
void operator delete[](void* at, const std::nothrow_t&) noexcept {
  tenon::fault::Free(at);
}
void operator delete(void* at, std::align_val_t) noexcept {
  tenon::fault::Free(at);
}
void operator delete[](void* at, std::align_val_t) noexcept {
  tenon::fault::Free(at);
}
void operator delete(void* at, size_t, std::align_val_t) noexcept {
  tenon::fault::Free(at);
}
void operator delete[](void* at, size_t, std::align_val_t) noexcept {
  tenon::fault::Free(at);
}
