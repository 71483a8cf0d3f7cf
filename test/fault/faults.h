// Failures on demand: the n-th call of a system function, the n-th allocation.
//
// The test's executable is linked so that these calls come here first
// (test/fault/CMakeLists.txt); operator new and delete are replaced. One fault
// at a time; threads count together.
#pragma once

#include <cstdint>

namespace tenon::fault {

enum class Call : uint8_t {
  kOpen,
  kStat,
  kMap,
  kWrite,
  kSync,
  kRename,
  kInflate,   // setting up zlib, which then has no memory
  kAllocate,  // operator new throws, or returns null where it may
};

// While it lives, the n-th call from now on fails, n counted from 1; with
// `error` as errno where the call has one.
class FailNth {
 public:
  FailNth(Call call, uint64_t n, int error);
  ~FailNth();
  FailNth(const FailNth&) = delete;
  FailNth& operator=(const FailNth&) = delete;

  // Whether there were n calls.
  bool has_failed() const;
};

// While it lives, writes take at most so many bytes.
class ShortWrites {
 public:
  explicit ShortWrites(uint64_t max_bytes);
  ~ShortWrites();
  ShortWrites(const ShortWrites&) = delete;
  ShortWrites& operator=(const ShortWrites&) = delete;
};

// What operator new gave and operator delete hasn't taken back.
int64_t LiveAllocations();

}  // namespace tenon::fault
