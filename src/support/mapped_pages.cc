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
  void Add(Bytes mapping, int descriptor) {
    const std::lock_guard lock(mutex_);
    by_address_[Address(mapping)] = {mapping.size(), descriptor, false};
  }
  void Remove(Bytes mapping) {
    const std::lock_guard lock(mutex_);
    by_address_.erase(Address(mapping));
  }
  std::optional<FileRange> Find(Bytes bytes) {
    const std::lock_guard lock(mutex_);
    auto after = by_address_.upper_bound(Address(bytes));
    if (after == by_address_.begin()) return std::nullopt;
    const auto& [begin, mapping] = *--after;
    const uint64_t offset = Address(bytes) - begin;
    if (offset > mapping.size || bytes.size() > mapping.size - offset) {
      return std::nullopt;
    }
    return FileRange{mapping.descriptor, offset};
  }
  // The mapping around `bytes`, when it is the first time that one asks for it.
  Bytes TakeUnadvised(Bytes bytes) {
    const auto range = Find(bytes);
    if (!range) return {};
    const std::lock_guard lock(mutex_);
    const auto at = by_address_.find(Address(bytes) - range->offset);
    if (at == by_address_.end() || at->second.is_advised) return {};
    at->second.is_advised = true;
    return {bytes.data() - range->offset, at->second.size};
  }

 private:
  static uintptr_t Address(Bytes bytes) {
    return reinterpret_cast<uintptr_t>(bytes.data());
  }

  struct Mapping {
    size_t size = 0;
    int descriptor = -1;
    bool is_advised = false;
  };

  std::mutex mutex_;
  std::map<uintptr_t, Mapping> by_address_;  // they don't overlap
};

// Never destroyed: files may be unmapped as late as in other destructors of
// static objects.
Mappings& AllMappings() {
  static Mappings* const mappings = new Mappings();
  return *mappings;
}

}  // namespace

void RememberMapping(Bytes mapping, int descriptor) {
  AllMappings().Add(mapping, descriptor);
}

void ForgetMapping(Bytes mapping) { AllMappings().Remove(mapping); }

std::optional<FileRange> FindFileRange(Bytes bytes) {
  const auto range = AllMappings().Find(bytes);
  return range && range->descriptor >= 0 ? range : std::nullopt;
}

bool ReadUnmapped(Bytes bytes, std::span<std::byte> out) {
  const auto range = FindFileRange(bytes);
  return range && bytes.size() == out.size() &&
         pread(range->descriptor, out.data(), out.size(),
               static_cast<off_t>(range->offset)) ==
             static_cast<ssize_t>(out.size());
}

void MapPages(Bytes bytes) {
#ifdef MADV_POPULATE_READ
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  if (!AllMappings().Find(bytes)) return;
#ifdef MADV_HUGEPAGE
  // The whole file, as advice for a part of it would cut the mapping in two. A
  // fault then brings two megabytes from the disk instead of a few pages, and
  // maps them by one entry. It doesn't change what is in memory already.
  if (const Bytes whole = AllMappings().TakeUnadvised(bytes); !whole.empty()) {
    madvise(const_cast<std::byte*>(whole.data()), whole.size(), MADV_HUGEPAGE);
  }
#endif
  const size_t before = reinterpret_cast<uintptr_t>(bytes.data()) % page;
  // Failure costs time and nothing else. No byte is changed.
  madvise(const_cast<std::byte*>(bytes.data() - before), before + bytes.size(),
          MADV_POPULATE_READ);
#else
  (void)bytes;
#endif
}

void ReleasePages(Bytes bytes) {
  static const size_t page = static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  if (bytes.size() < page || !AllMappings().Find(bytes)) return;
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  const std::byte* begin = bytes.data() - address % page;
  const std::byte* end =
      bytes.data() + bytes.size() - (address + bytes.size()) % page;
  // Failure costs memory and nothing else. No byte is changed.
  madvise(const_cast<std::byte*>(begin), static_cast<size_t>(end - begin),
          MADV_DONTNEED);
}

}  // namespace tenon
