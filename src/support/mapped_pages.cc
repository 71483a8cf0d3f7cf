#include "support/mapped_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <mutex>

namespace tenon {
namespace {

class Mappings {
 public:
  void Add(Bytes mapping) {
    const std::lock_guard lock(mutex_);
    size_of_.emplace(Address(mapping), mapping.size());
  }
  void Remove(Bytes mapping) {
    const std::lock_guard lock(mutex_);
    size_of_.erase(Address(mapping));
  }
  bool Contains(Bytes bytes) {
    const std::lock_guard lock(mutex_);
    auto after = size_of_.upper_bound(Address(bytes));
    if (after == size_of_.begin()) return false;
    const auto& [begin, size] = *--after;
    return Address(bytes) - begin <= size &&
           bytes.size() <= size - (Address(bytes) - begin);
  }

 private:
  static uintptr_t Address(Bytes bytes) {
    return reinterpret_cast<uintptr_t>(bytes.data());
  }

  std::mutex mutex_;
  std::map<uintptr_t, size_t> size_of_;  // by address; they don't overlap
};

// Never destroyed: files may be unmapped as late as in other destructors of
// static objects.
Mappings& AllMappings() {
  static Mappings* const mappings = new Mappings();
  return *mappings;
}

}  // namespace

void RememberMapping(Bytes mapping) { AllMappings().Add(mapping); }

void ForgetMapping(Bytes mapping) { AllMappings().Remove(mapping); }

void ReleasePages(Bytes bytes) {
  static const size_t page = static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  if (bytes.size() < page || !AllMappings().Contains(bytes)) return;
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t begin = address - address % page;
  const uintptr_t end =
      address + bytes.size() - (address + bytes.size()) % page;
  // Failure costs memory and nothing else.
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace tenon
