#include "weights/write_weights.h"

#include "../../scratch.h"
#include "formats/tensor/weights_file.h"
#include "programs.h"
#include "weights/read_sharing.h"

namespace tenon {
namespace {

// Four uint8, two uint8 of them, transposed int16, a float32, a constant.
const char* const kState = R"(
storage @0 = 4 bytes hex"01020304"
storage @1 = 8 bytes hex"0100020003000400"
storage @2 = 4 bytes hex"0000803f"
storage @3 = 4 bytes hex"00000040"
parameter "a" : u8[4] = @0
buffer "tail" : u8[2] offset (2) = @0
parameter "tied" : u8[4] = @0
parameter "t" : i16[2, 2] strides [1, 2] = @1
buffer "f" : f32[1] = @2
constant "c" : f32[] = @3
)";

WriteWeightsReport Write(const Program& program, const std::string& path,
                         const WriteWeightsOptions& options) {
  Diagnostics diags;
  auto report = WriteWeights(program, path, options, diags);
  EXPECT_TRUE(report.ok()) << diags.ToString();
  return report ? std::move(*report) : WriteWeightsReport();
}

WeightsFile Read(const std::string& path) {
  Diagnostics diags;
  auto file = WeightsFile::Open(path, diags);
  EXPECT_TRUE(file.ok()) << diags.ToString();
  return std::move(*file);
}

std::vector<int> BytesOf(const WeightsFile& file, const std::string& name) {
  std::vector<int> out;
  const WeightsFile::Item* item = file.Find(name);
  if (item == nullptr) return out;
  for (const std::byte b : item->tensor.bytes)
    out.push_back(static_cast<int>(b));
  return out;
}

TEST(WriteWeightsTest, WritesEachTensorOfTheStateDict) {
  const std::string path = ScratchPath("all.safetensors");
  const WriteWeightsReport report = Write(ProgramWith(kState), path, {});
  EXPECT_EQ(report.num_tensors, 5u);
  EXPECT_EQ(report.bytes, 4u + 2 + 4 + 8 + 4);
  const WeightsFile file = Read(path);
  EXPECT_EQ(file.items().size(), 5u);
  EXPECT_EQ(BytesOf(file, "a"), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(BytesOf(file, "tied"), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(BytesOf(file, "tail"), (std::vector<int>{3, 4}));
  EXPECT_EQ(BytesOf(file, "t"), (std::vector<int>{1, 0, 3, 0, 2, 0, 4, 0}));
  EXPECT_EQ(file.Find("c"), nullptr);
}

TEST(WriteWeightsTest, PayloadsAreAligned) {
  const std::string path = ScratchPath("aligned.safetensors");
  Write(ProgramWith(kState), path, {});
  const WeightsFile file = Read(path);
  for (const WeightsFile::Item& item : file.items()) {
    const auto address = reinterpret_cast<uintptr_t>(item.tensor.bytes.data());
    EXPECT_EQ(address % SizeBytes(item.tensor.dtype), 0u) << item.tensor.name;
  }
}

TEST(WriteWeightsTest, SaysWhatTheFormatCantSay) {
  const std::string path = ScratchPath("said.safetensors");
  const WriteWeightsReport report = Write(ProgramWith(kState), path, {});
  EXPECT_EQ(report.notes, (std::vector<std::string>{
                              "'tail' shares the storage of 'a': written again",
                              "'tied' shares the storage of 'a': written again",
                              "'t' is strided: written row-major"}));
  Diagnostics diags;
  const auto sharing = ReadSharing(Read(path), diags);
  ASSERT_TRUE(sharing.ok()) << diags.ToString();
  EXPECT_EQ(*sharing,
            (std::vector<std::vector<std::string>>{{"a", "tail", "tied"}}));
}

TEST(WriteWeightsTest, OnceNamesTheOthersInTheMetadata) {
  const std::string path = ScratchPath("once.safetensors");
  WriteWeightsOptions options;
  options.once = true;
  EXPECT_EQ(Write(ProgramWith(kState), path, options).num_tensors, 4u);
  const WeightsFile file = Read(path);
  EXPECT_EQ(file.Find("tied"), nullptr);
  EXPECT_EQ(file.metadata().back(),
            (std::pair<std::string, std::string>("tied", "a")));
}

TEST(WriteWeightsTest, ConstantsOnDemand) {
  const std::string path = ScratchPath("constants.safetensors");
  WriteWeightsOptions options;
  options.with_constants = true;
  EXPECT_EQ(Write(ProgramWith(kState), path, options).num_tensors, 6u);
  EXPECT_EQ(BytesOf(Read(path), "c"), (std::vector<int>{0, 0, 0, 64}));
}

TEST(WriteWeightsTest, RefusesByName) {
  struct Case {
    const char* state;
    const char* message;
  };
  const Case cases[] = {
      {"storage @0 = 16 bytes zeros\nparameter \"z\" : c128[1] = @0\n",
       "z: safetensors has no dtype complex128"},
      {"storage @0 = 4 bytes zeros\nparameter \"z\" : c32[1] = @0\n",
       "z: safetensors has no dtype complex32"},
      {"storage @0 = weightless\nparameter \"w\" : f32[4] = @0\n",
       "w: the program was saved without this tensor's values"},
      {"storage @0 = 4 bytes zeros\nbuffer \"p\" : f32[1] = @0 pickled\n",
       "p: this tensor is a pickled object"},
      {"storage @0 = 4 bytes zeros\nbuffer \"x\" : f32[1] = @0\n"
       "constant \"x\"#2 : f32[1] = @0\n",
       ""},
      {"storage @0 = 4 bytes zeros\nbuffer \"__metadata__\" : f32[1] = @0\n",
       "__metadata__: safetensors can't hold buffer of this name"},
      {"storage @0 = 1 bytes zeros\nbuffer \"e\" : u8[2000000000] strides [0] "
       "= @0\n",
       "e: a tensor of 2000000000 elements over a storage of 1 bytes"},
  };
  for (const Case& bad : cases) {
    const std::string path = ScratchPath("refused.safetensors");
    Diagnostics diags;
    const auto report = WriteWeights(ProgramWith(bad.state), path, {}, diags);
    EXPECT_EQ(report.ok(), *bad.message == '\0') << bad.state;
    EXPECT_NE(diags.ToString().find(bad.message), std::string::npos)
        << diags.ToString();
    EXPECT_EQ(std::filesystem::exists(path), report.ok());
    std::filesystem::remove(path);
  }
}

}  // namespace
}  // namespace tenon
