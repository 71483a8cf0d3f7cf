#include "kernels/int4_layout.h"

#include <algorithm>

namespace tenon {
namespace {

bool HasAvx512() {
  return __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0;
}

bool HasVectors() { return HasAvx512() || __builtin_cpu_supports("avx2") != 0; }

const int64_t kBlock = HasAvx512() ? 64 : 32;
const bool kHasHalves = HasVectors();

}  // namespace

Int4Layout::Place Int4Layout::Find(int64_t row, int64_t column) const {
  const int64_t first = row / kBlock * kBlock, in_block = row - first;
  const int64_t rows = std::min(kBlock, rows_ - first);
  const int64_t begin = (first * columns_ + column * rows) / 2;
  if (rows == kBlock && kHasHalves) {
    return {begin + in_block % (rows / 2), in_block >= rows / 2};
  }
  return {begin + in_block / 2, in_block % 2 != 0};
}

Int4Layout::Run Int4Layout::FindRun(int64_t first) const {
  const int64_t in_block = first % kBlock;
  const int64_t rows = std::min(kBlock, rows_ - (first - in_block));
  if (rows == kBlock && kHasHalves) {
    return {rows / 2 - in_block % (rows / 2), false, rows / 2};
  }
  return {rows - in_block, true, rows / 2};
}

}  // namespace tenon
