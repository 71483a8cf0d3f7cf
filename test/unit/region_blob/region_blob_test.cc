// Regions as blocks of bytes: what is written is read, and nothing else is.
#include "region_blob/region_blob.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "support/hash.h"

namespace tenon {
namespace {

constexpr uint32_t kNumInputsAt = 12, kNumConstantsAt = 20, kSizeAt = 32;
// The first input is behind the head.
constexpr uint32_t kDtypeAt = 56, kRankAt = 60, kMinAt = 64;

const std::vector<std::byte> kWeights(24, std::byte{7});

std::vector<std::byte> Sample() {
  RegionBlob blob;
  blob.inputs = {{DType::kFloat32, {1, 4}, {6, 4}}, {DType::kBool, {}, {}}};
  blob.outputs = {{DType::kFloat32, {1, 4}, {6, 4}},
                  {DType::kBFloat16, {0}, {9}}};
  blob.constants = {{1, DType::kFloat32, {2, 3}, kWeights}};
  blob.writes = {{0, 0, WriteKind::kKvCacheUpdate}};
  blob.program = AsBytes("a program");
  return WriteRegionBlob(blob);
}

// Changes the block and makes its digest right again.
std::vector<std::byte> Edited(
    const std::function<void(std::vector<std::byte>*)>& edit) {
  std::vector<std::byte> block = Sample();
  edit(&block);
  const Digest digest = HashBytes(block.data() + kRegionBlobHeadBytes,
                                  block.size() - kRegionBlobHeadBytes);
  std::memcpy(block.data() + 40, &digest, sizeof(digest));
  return block;
}
template <typename T>
std::vector<std::byte> With(uint32_t at, T value) {
  return Edited([&](std::vector<std::byte>* block) {
    std::memcpy(block->data() + at, &value, sizeof(value));
  });
}

void ExpectRefused(const std::vector<std::byte>& block,
                   std::string_view reason) {
  Diagnostics diags;
  EXPECT_FALSE(ReadRegionBlob(block, diags));
  ASSERT_TRUE(diags.has_errors());
  EXPECT_EQ(diags.all()[0].rule, Rule::kPte36);
  EXPECT_NE(diags.FirstError().find(reason), std::string::npos)
      << diags.FirstError();
}

TEST(RegionBlob, WhatIsWrittenIsRead) {
  const std::vector<std::byte> block = Sample();
  Diagnostics diags;
  EXPECT_EQ(*SizeOfRegionBlob({block.data(), kRegionBlobHeadBytes}, diags),
            block.size());
  const auto blob = ReadRegionBlob(block, diags);
  ASSERT_TRUE(blob) << diags.ToString();
  ASSERT_EQ(blob->inputs.size(), 2u);
  EXPECT_EQ(blob->inputs[0].max, (std::vector<int64_t>{6, 4}));
  EXPECT_EQ(blob->inputs[1].dtype, DType::kBool);
  EXPECT_EQ(blob->inputs[1].rank(), 0u);
  EXPECT_EQ(blob->outputs[1].dtype, DType::kBFloat16);
  ASSERT_EQ(blob->constants.size(), 1u);
  EXPECT_EQ(AsText(blob->constants[0].bytes), AsText(kWeights));
  EXPECT_EQ(reinterpret_cast<const char*>(blob->constants[0].bytes.data()) -
                reinterpret_cast<const char*>(block.data()),
            256);
  EXPECT_EQ(blob->writes[0], (DeclaredWrite{0, 0, WriteKind::kKvCacheUpdate}));
  EXPECT_EQ(AsText(blob->program), "a program");
}

// PyTorch's ScalarType: uint8, int64, half, float, bool, bfloat16.
TEST(RegionBlob, DtypesHavePyTorchsNumbers) {
  EXPECT_EQ(ScalarTypeNumber(DType::kUInt8), 0);
  EXPECT_EQ(ScalarTypeNumber(DType::kInt64), 4);
  EXPECT_EQ(ScalarTypeNumber(DType::kFloat16), 5);
  EXPECT_EQ(ScalarTypeNumber(DType::kFloat32), 6);
  EXPECT_EQ(ScalarTypeNumber(DType::kBool), 11);
  EXPECT_EQ(ScalarTypeNumber(DType::kBFloat16), 15);
  EXPECT_EQ(ScalarTypeNumber(DType::kUnknown), -1);
  EXPECT_EQ(ScalarTypeNumber(DType::kFloat8E4M3FN), -1);
}

TEST(RegionBlob, V_PTE_36_EveryByteCounts) {
  const std::vector<std::byte> block = Sample();
  for (size_t i = 0; i < block.size(); ++i) {
    std::vector<std::byte> damaged = block;
    damaged[i] ^= std::byte{0x10};
    Diagnostics diags;
    EXPECT_FALSE(ReadRegionBlob(damaged, diags)) << "byte " << i;
    const std::vector<std::byte> cut(block.begin(),
                                     block.begin() + static_cast<long>(i));
    EXPECT_FALSE(ReadRegionBlob(cut, diags)) << "the first " << i;
  }
}

TEST(RegionBlob, V_PTE_36_BoundariesThatCannotBe) {
  ExpectRefused(With(kDtypeAt, uint32_t{99}), "dtype 99");
  ExpectRefused(With(kRankAt, uint32_t{65}), "rank 65");
  ExpectRefused(With(kMinAt, int64_t{7}), "a dimension of 7 to 6");
  ExpectRefused(With(kMinAt, int64_t{-1}), "a dimension of -1");
  ExpectRefused(With(kNumInputsAt, uint32_t{UINT32_MAX}), "");
  ExpectRefused(With(kNumConstantsAt, uint32_t{UINT32_MAX}), "");
  ExpectRefused(With(kSizeAt, uint64_t{1} << 60), "states");
  ExpectRefused(With(8, uint32_t{2}), "version 2");
}

}  // namespace
}  // namespace tenon
