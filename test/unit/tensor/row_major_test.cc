#include "tensor/row_major.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace tenon {
namespace {

// Elements 0, 1, 2, ... in storage order, as the bytes of `item` each.
Tensor Counting(DType dtype, Sizes sizes, Sizes strides, int64_t offset,
                size_t storage_elements) {
  const size_t item = SizeBytes(dtype);
  auto storage = Storage::Allocate(storage_elements * item, true);
  for (size_t i = 0; i < storage_elements; ++i) {
    std::memcpy(storage->mutable_data() + i * item, &i,
                std::min(item, sizeof i));
  }
  return Tensor(std::move(storage), dtype, std::move(sizes), std::move(strides),
                offset);
}

std::vector<std::byte> Collect(const Tensor& tensor, size_t* num_blocks) {
  std::vector<std::byte> out;
  EXPECT_TRUE(VisitRowMajor(tensor, [&](Bytes block) {
    EXPECT_LE(block.size(), kRowMajorBlockBytes);
    out.insert(out.end(), block.begin(), block.end());
    ++*num_blocks;
    return true;
  }));
  return out;
}

TEST(RowMajorTest, VisitsWhatContiguousHolds) {
  const DType dtypes[] = {DType::kUInt8, DType::kFloat16, DType::kFloat32,
                          DType::kInt64, DType::kComplex128};
  const int64_t rows = 700, columns = 500;
  for (const DType dtype : dtypes) {
    const Tensor views[] = {
        Counting(dtype, {rows, columns}, {columns, 1}, 0, 350000),
        Counting(dtype, {columns, rows}, {1, columns}, 0, 350000),
        Counting(dtype, {3, 5}, {100, 7}, 11, 300),
        Counting(dtype, {4, 3}, {0, 1}, 2, 5),  // expanded
        Counting(dtype, {}, {}, 3, 4),
    };
    for (const Tensor& view : views) {
      const Tensor dense = view.Contiguous();
      const size_t size = static_cast<size_t>(dense.numel()) * SizeBytes(dtype);
      size_t num_blocks = 0;
      const std::vector<std::byte> found = Collect(view, &num_blocks);
      ASSERT_EQ(found.size(), size);
      EXPECT_EQ(std::memcmp(found.data(), dense.raw(), size), 0);
      EXPECT_EQ(num_blocks,
                (size + kRowMajorBlockBytes - 1) / kRowMajorBlockBytes);
      EXPECT_TRUE(EqualsRowMajor(view, found));
    }
  }
}

TEST(RowMajorTest, VisitsNothingOfNothing) {
  size_t num_blocks = 0;
  EXPECT_TRUE(
      Collect(Counting(DType::kFloat32, {0, 3}, {3, 1}, 0, 0), &num_blocks)
          .empty());
  EXPECT_EQ(num_blocks, 0u);
}

TEST(RowMajorTest, StopsWhenTold) {
  for (const Sizes& strides : {Sizes{1000, 1}, Sizes{1, 1000}}) {
    const Tensor tensor =
        Counting(DType::kFloat64, {1000, 1000}, strides, 0, 1000000);
    size_t num_blocks = 0;
    EXPECT_FALSE(VisitRowMajor(tensor, [&](Bytes) {
      ++num_blocks;
      return num_blocks < 2;
    }));
    EXPECT_EQ(num_blocks, 2u);
  }
}

TEST(RowMajorTest, ToldApartByAByteOrTheLength) {
  const Tensor tensor = Counting(DType::kInt32, {2, 3}, {1, 2}, 0, 6);
  size_t num_blocks = 0;
  std::vector<std::byte> bytes = Collect(tensor, &num_blocks);
  EXPECT_TRUE(EqualsRowMajor(tensor, bytes));
  EXPECT_FALSE(EqualsRowMajor(tensor, Bytes(bytes).first(20)));
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(EqualsRowMajor(tensor, bytes));
  bytes.pop_back();
  bytes[23] ^= std::byte{1};
  EXPECT_FALSE(EqualsRowMajor(tensor, bytes));
}

}  // namespace
}  // namespace tenon
