// The malloc family of the test binary comes before that of libc, also for the
// shared libraries it loads. Sanitizers bring a malloc of their own and call a
// hook instead.
#include "allocation_count.h"

#include <cerrno>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TENON_HAS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TENON_HAS_SANITIZER
#endif
#endif

namespace {
thread_local tenon::Allocations so_far;

void Count(size_t size_bytes) {
  ++so_far.count;
  so_far.size_bytes += size_bytes;
}
}  // namespace

namespace tenon {
Allocations AllocationsSoFar() { return so_far; }
}  // namespace tenon

extern "C" {
#ifdef TENON_HAS_SANITIZER

void __sanitizer_malloc_hook(const volatile void*, size_t size) { Count(size); }
void __sanitizer_free_hook(const volatile void*) {}

#else

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* p, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* p);

void* malloc(size_t size) noexcept {
  Count(size);
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) noexcept {
  Count(count * size);
  return __libc_calloc(count, size);
}
void* realloc(void* p, size_t size) noexcept {
  Count(size);
  return __libc_realloc(p, size);
}
void* memalign(size_t alignment, size_t size) noexcept {
  Count(size);
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return memalign(alignment, size);
}
int posix_memalign(void** p, size_t alignment, size_t size) noexcept {
  *p = memalign(alignment, size);
  return *p != nullptr ? 0 : ENOMEM;
}
void free(void* p) noexcept { __libc_free(p); }

#endif
}  // extern "C"
