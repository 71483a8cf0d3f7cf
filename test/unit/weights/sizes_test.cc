#include <filesystem>

#include "../../scratch.h"
#include "formats/pt2/pt2.h"
#include "programs.h"
#include "support/mapped_file.h"
#include "weights/file_sizes.h"
#include "weights/state_sizes.h"

namespace tenon {
namespace {

const char* const kState = R"(
storage @0 = 4 bytes hex"01020304"
storage @1 = 4 bytes hex"01020304"
storage @2 = 8 bytes zeros
storage @3 = weightless
storage @4 = 4 bytes hex"01020305"
parameter "net.0.w" : u8[4] = @0
parameter "net.0.tied" : u8[4] = @0
parameter "net.1.w" : u8[4] = @1
buffer "net.1.sub.f" : f32[2] = @2
constant "c" : i16[3, 2] strides [1, 10] = @3
buffer "d" : u8[4] = @4
)";

using Rows = std::vector<std::pair<std::string, uint64_t>>;

Rows NamesAndBytes(const std::vector<SizeRow>& rows) {
  Rows out;
  for (const SizeRow& row : rows) out.emplace_back(row.name, row.bytes);
  return out;
}

TEST(StateSizesTest, EachStorageCountsOnce) {
  const StateSizes sizes = ComputeStateSizes(ProgramWith(kState), 2);
  EXPECT_EQ(sizes.bytes, 4u + 4 + 8 + 26 + 4);
  EXPECT_EQ(sizes.num_entries, 6u);
  EXPECT_EQ(NamesAndBytes(sizes.kinds),
            (Rows{{"constant", 26}, {"buffer", 12}, {"parameter", 8}}));
  EXPECT_EQ(NamesAndBytes(sizes.dtypes),
            (Rows{{"int16", 26}, {"uint8", 12}, {"float32", 8}}));
  EXPECT_EQ(NamesAndBytes(sizes.modules),
            (Rows{{"", 30}, {"net.1", 12}, {"net.0", 4}}));
  EXPECT_EQ(sizes.modules[2].count, 2u);
}

TEST(StateSizesTest, ModulesAreCutAtTheDepth) {
  const Program program = ProgramWith(kState);
  EXPECT_EQ(NamesAndBytes(ComputeStateSizes(program, 1).modules),
            (Rows{{"", 30}, {"net", 16}}));
  EXPECT_EQ(NamesAndBytes(ComputeStateSizes(program, 0).modules),
            (Rows{{"", 30}, {"net.1.sub", 8}, {"net.0", 4}, {"net.1", 4}}));
}

TEST(StateSizesTest, FindsSharedAndEqualStorages) {
  const StateSizes sizes = ComputeStateSizes(ProgramWith(kState), 2);
  ASSERT_EQ(sizes.shared.size(), 1u);
  EXPECT_EQ(sizes.shared[0].names,
            (std::vector<std::string>{"net.0.w", "net.0.tied"}));
  ASSERT_EQ(sizes.duplicates.size(), 1u);
  EXPECT_EQ(sizes.duplicates[0].names,
            (std::vector<std::string>{"net.0.w", "net.1.w"}));
  EXPECT_EQ(sizes.duplicate_bytes, 4u);
}

// Equal beginnings and sizes don't make a duplicate.
TEST(StateSizesTest, DuplicatesAreEqualToTheEnd) {
  Program program = ProgramWith(R"(
storage @0 = 100000 bytes zeros
storage @1 = 100000 bytes zeros
storage @2 = 100000 bytes zeros
buffer "a" : u8[100000] = @0
buffer "b" : u8[100000] = @1
buffer "c" : u8[100000] = @2
)");
  const auto other = std::make_shared<std::vector<std::byte>>(100000);
  other->back() = std::byte{1};
  program.state.storages[1].bytes = *other;
  const StateSizes sizes = ComputeStateSizes(program, 1);
  ASSERT_EQ(sizes.duplicates.size(), 1u);
  EXPECT_EQ(sizes.duplicates[0].names, (std::vector<std::string>{"a", "c"}));
}

TEST(FileSizesTest, RowsAddUpToTheFile) {
  const std::string path = ScratchPath("sizes.pt2");
  Diagnostics diags;
  Program program = ProgramWith(kState);
  program.file.members.push_back({"extra/note", AsBytes("hello"), nullptr});
  ASSERT_TRUE(WritePt2(program, path, {}, diags)) << diags.ToString();
  std::string error;
  const auto file = MappedFile::Open(path, &error);
  const auto sizes = ComputeFileSizes(file->bytes(), path, ReadLimits(), diags);
  ASSERT_TRUE(sizes) << diags.ToString();
  EXPECT_EQ(sizes->file_bytes, std::filesystem::file_size(path));
  uint64_t sum = 0;
  std::map<std::string, uint64_t> by_name;
  for (const SizeRow& row : sizes->contents) {
    sum += row.bytes;
    by_name[row.name] = row.bytes;
  }
  EXPECT_EQ(sum, sizes->file_bytes);
  EXPECT_EQ(by_name["weights"], 20u);
  EXPECT_EQ(by_name["constants"], 0u);  // weightless
  EXPECT_EQ(by_name["extra files"], 5u);
  EXPECT_EQ(by_name["other members"], 0u);
  EXPECT_GT(by_name["graph"], 100u);
}

TEST(FileSizesTest, DamageIsAnError) {
  Diagnostics diags;
  EXPECT_FALSE(ComputeFileSizes(AsBytes("PK\5\6"), "cut", ReadLimits(), diags));
  EXPECT_EQ(diags.num_errors(), 1u);
}

}  // namespace
}  // namespace tenon
