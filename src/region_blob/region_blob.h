// A region as one block of bytes: its boundary, its constants and its program,
// for executors that are handed bytes and nothing else (docs/formats/pte.md).
//
//   0  "TENONRGN"                     8  u32 version, 1
//  12  u32 number of inputs          16  u32 number of outputs
//  20  u32 number of constants       24  u32 number of writes
//  28  u32 0                         32  u64 bytes of the whole block
//  40  16 bytes: the digest of all that follows
//  56  per input, then per output:   u32 dtype, u32 rank, per dimension i64
//                                    min and i64 max
//      per constant:                 u32 input, u32 dtype, u32 rank, u32 0, i64
//                                    sizes, u64 offset of its bytes
//      per write:                    u32 input, u32 output, u32 kind
//      u64 offset of the program, u64 its bytes
//
// Numbers are little-endian, dtypes are PyTorch's ScalarType numbers, offsets
// count from the start of the block. Bytes of constants and the program lie at
// multiples of 64, without overlap and in order; what is between them is zero.
// The block states its own size, as hosts hand over an address alone.
#pragma once

#include <cstdint>
#include <vector>

#include "diag/diagnostics.h"
#include "ir/delegate.h"
#include "ir/kinds.h"
#include "support/byte_cursor.h"
#include "support/expected.h"

namespace tenon {

// A tensor of the boundary: each dimension lies in [min, max].
struct BoundaryTensor {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> min, max;

  size_t rank() const { return min.size(); }
};

// An input of the region that calls don't pass; contiguous.
struct BlobConstant {
  uint32_t input = 0;  // of the region; ascending
  DType dtype = DType::kFloat32;
  std::vector<int64_t> sizes;
  Bytes bytes;
};

struct RegionBlob {
  std::vector<BoundaryTensor> inputs;   // those that calls pass, in order
  std::vector<BoundaryTensor> outputs;  // in order
  std::vector<BlobConstant> constants;
  // By position among `inputs` and `outputs`; each at most once.
  std::vector<DeclaredWrite> writes;
  Bytes program;
};

// What stands before the boundary.
constexpr uint64_t kRegionBlobHeadBytes = 56;

std::vector<std::byte> WriteRegionBlob(const RegionBlob& blob);

// The bytes of the whole block, from its first kRegionBlobHeadBytes bytes. An
// error when they aren't the head of a block of this version.
Expected<uint64_t> SizeOfRegionBlob(Bytes head, Diagnostics& diags);

// Views of `bytes`, which are the whole block. Anything that WriteRegionBlob
// wouldn't write is an error.
Expected<RegionBlob> ReadRegionBlob(Bytes bytes, Diagnostics& diags);

// PyTorch's number of a dtype that has a size; -1 for others.
int32_t ScalarTypeNumber(DType dtype);

}  // namespace tenon
