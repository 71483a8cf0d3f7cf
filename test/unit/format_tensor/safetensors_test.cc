#include "formats/tensor/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "../../scratch.h"
#include "support/mapped_file.h"

namespace tenon {
namespace {

// A file of `header` and `payload`, kept by the tensors read from it.
struct File {
  std::shared_ptr<std::vector<std::byte>> bytes;

  File(std::string_view header, std::string_view payload)
      : bytes(std::make_shared<std::vector<std::byte>>()) {
    const uint64_t size = header.size();
    Append(&size, sizeof(size));
    Append(header.data(), header.size());
    Append(payload.data(), payload.size());
  }
  void Append(const void* data, size_t size) {
    const auto* from = static_cast<const std::byte*>(data);
    bytes->insert(bytes->end(), from, from + size);
  }
  Expected<Safetensors> Read(Diagnostics& diags) const {
    return ReadSafetensors(*bytes, bytes, "t.safetensors", diags);
  }
};

constexpr std::string_view kOne =
    R"({"a":{"dtype":"I16","shape":[2],"data_offsets":[0,4]}})";

TEST(SafetensorsTest, ReadsWithoutCopyingWhereAligned) {
  const std::string header =
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"U8","shape":[2,2],)"
      R"("data_offsets":[0,4]}})";
  const File file(header, "\1\2\3\4");
  Diagnostics diags;
  const auto read = file.Read(diags);
  ASSERT_TRUE(read) << diags.ToString();
  const Tensor* a = read->Find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->sizes(), (Sizes{2, 2}));
  EXPECT_EQ(a->data<uint8_t>()[3], 4);
  EXPECT_EQ(a->raw(), file.bytes->data() + 8 + header.size());
  EXPECT_EQ(read->metadata.at(0).second, "v");
}

TEST(SafetensorsTest, CopiesMisalignedPayloads) {
  // Two header lengths, so that one of them is odd.
  for (const std::string_view padding : {"", " "}) {
    const std::string header = std::string(kOne) + std::string(padding);
    const File file(header, std::string_view("\1\0\2\0", 4));
    Diagnostics diags;
    const auto read = file.Read(diags);
    ASSERT_TRUE(read) << diags.ToString();
    const Tensor* a = read->Find("a");
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a->raw()) % 2, 0u);
    EXPECT_EQ(a->data<int16_t>()[1], 2);
  }
}

struct BadCase {
  const char* what;
  std::string header;
  std::string payload;
};

std::string Entry(const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape +
         R"(,"data_offsets":)" + offsets + "}}";
}

TEST(SafetensorsTest, RefusesDamage) {
  const std::string four(4, '\0');
  const BadCase cases[] = {
      {"not JSON", "{", ""},
      {"not an object", "[]", ""},
      {"no dtype", R"({"a":{"shape":[1],"data_offsets":[0,4]}})", four},
      {"unknown dtype", Entry("X9", "[1]", "[0,4]"), four},
      {"negative size", Entry("F32", "[-1]", "[0,4]"), four},
      {"fractional size", Entry("F32", "[1.5]", "[0,4]"), four},
      {"offset past the end", Entry("F32", "[2]", "[0,8]"), four},
      {"offsets reversed", Entry("F32", "[0]", "[4,0]"), four},
      {"one offset", Entry("F32", "[1]", "[0]"), four},
      {"too few bytes", Entry("F32", "[2]", "[0,4]"), four},
      {"sizes overflow", Entry("F32", "[4294967296,4294967296,4]", "[0,4]"),
       four},
      {"sizes overflow to the right number",
       Entry("U8", "[4611686018427387904,4]", "[0,0]"), ""},
      {"a gap", Entry("U8", "[3]", "[1,4]"), four},
      {"bytes behind", Entry("U8", "[3]", "[0,3]"), four},
      {"listed twice",
       R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
       R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
       four},
      {"overlap",
       R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
       R"("b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})",
       four},
      {"metadata of numbers", R"({"__metadata__":{"k":1}})", ""},
  };
  for (const BadCase& bad : cases) {
    Diagnostics diags;
    EXPECT_FALSE(File(bad.header, bad.payload).Read(diags)) << bad.what;
    EXPECT_EQ(diags.num_errors(), 1u) << bad.what;
  }
}

TEST(SafetensorsTest, EveryCutIsAnError) {
  const File whole(kOne, std::string_view("\1\0\2\0", 4));
  for (size_t size = 0; size < whole.bytes->size(); ++size) {
    Diagnostics diags;
    // A buffer of its own, so that a read past the cut is seen by sanitizers.
    auto cut = std::make_shared<std::vector<std::byte>>(
        whole.bytes->begin(),
        whole.bytes->begin() + static_cast<int64_t>(size));
    EXPECT_FALSE(ReadSafetensors(*cut, cut, "cut", diags)) << size;
  }
}

// Flipped bits are an error that is reported once, or another file that holds
// together: payloads inside it, of the sizes that dtype and shape take.
TEST(SafetensorsTest, FlippedBitsNeverReachBeyondTheFile) {
  const File whole(
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"I16","shape":[2],)"
      R"("data_offsets":[0,4]},"b":{"dtype":"U8","shape":[2,1],)"
      R"("data_offsets":[4,6]}})",
      std::string_view("\1\0\2\0\3\4", 6));
  size_t num_read = 0;
  for (size_t at = 0; at < whole.bytes->size() - 6; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> damaged = *whole.bytes;
      damaged[at] ^= static_cast<std::byte>(1 << bit);
      Diagnostics diags;
      const auto index = ReadSafetensorsIndex(damaged, "damaged", diags);
      EXPECT_EQ(diags.num_errors(), index ? 0u : 1u) << diags.ToString();
      if (!index) continue;
      ++num_read;
      size_t payload_bytes = 0;
      for (const SafetensorsItem& item : index->items) {
        EXPECT_EQ(item.bytes.size(),
                  static_cast<size_t>(NumElements(item.sizes)) *
                      SizeBytes(item.dtype));
        EXPECT_GE(item.bytes.data(), damaged.data());
        EXPECT_LE(item.bytes.data() + item.bytes.size(),
                  damaged.data() + damaged.size());
        payload_bytes += item.bytes.size();
      }
      EXPECT_EQ(payload_bytes, 6u);
    }
  }
  EXPECT_GT(num_read, 0u);  // names of other letters
}

TEST(SafetensorsTest, HugeHeaderSizeIsRefused) {
  File file("{}", "");
  const uint64_t size = ~uint64_t{0} - 3;
  std::memcpy(file.bytes->data(), &size, sizeof(size));
  Diagnostics diags;
  EXPECT_FALSE(file.Read(diags));
}

TEST(SafetensorsTest, WritesWhatItReads) {
  Safetensors content;
  Tensor matrix = Tensor::Zeros(DType::kFloat32, {2, 3});
  for (int i = 0; i < 6; ++i) {
    matrix.mutable_data<float>()[i] = static_cast<float>(i);
  }
  content.tensors.push_back(
      {"a \"quoted\" \x01 name", matrix.View({3, 2}, {1, 3}, 0)});
  content.tensors.push_back({"empty", Tensor::Empty(DType::kBool, {0, 4})});
  content.metadata.emplace_back("format", "pt");
  const std::string path = ScratchPath("written.safetensors");
  Diagnostics diags;
  ASSERT_TRUE(WriteSafetensors(path, content, diags)) << diags.ToString();
  const auto read = OpenSafetensors(path, diags);
  ASSERT_TRUE(read) << diags.ToString();
  ASSERT_EQ(read->tensors.size(), 2u);
  EXPECT_EQ(read->tensors[0].name, content.tensors[0].name);
  const Tensor& a = read->tensors[0].tensor;
  EXPECT_EQ(a.sizes(), (Sizes{3, 2}));
  EXPECT_EQ(a.data<float>()[1], 3.0f) << "row-major of the transposed view";
  EXPECT_EQ(read->tensors[1].tensor.sizes(), (Sizes{0, 4}));
  EXPECT_EQ(read->metadata, content.metadata);
  std::filesystem::remove(path);
}

TEST(SafetensorsTest, RefusesToWriteWhatTheFormatLacks) {
  Diagnostics diags;
  Safetensors content;
  content.tensors.push_back({"c", Tensor::Zeros(DType::kComplex128, {1})});
  const std::string path = ScratchPath("refused.safetensors");
  EXPECT_FALSE(WriteSafetensors(path, content, diags));
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace tenon
