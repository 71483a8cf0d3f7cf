#include "formats/tensor/weights_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "../../scratch.h"

namespace tenon {
namespace {

void WriteFile(const std::string& name, const std::string& text) {
  std::ofstream(ScratchPath(name), std::ios::binary) << text;
}

// One tensor of four bytes for each name.
void WriteShard(const std::string& file, std::vector<std::string> names) {
  Safetensors content;
  for (const std::string& name : names) {
    content.tensors.push_back({name, Tensor::Zeros(DType::kUInt8, {4})});
  }
  content.metadata.emplace_back("made_for", file);
  Diagnostics diags;
  ASSERT_TRUE(WriteSafetensors(ScratchPath(file), content, diags))
      << diags.ToString();
}

Expected<WeightsFile> Open(const std::string& name, Diagnostics& diags) {
  return WeightsFile::Open(ScratchPath(name), diags);
}

TEST(WeightsFileTest, OneFile) {
  WriteShard("one.safetensors", {"a", "b"});
  Diagnostics diags;
  const auto file = Open("one.safetensors", diags);
  ASSERT_TRUE(file) << diags.ToString();
  ASSERT_EQ(file->items().size(), 2u);
  EXPECT_EQ(file->Find("b")->tensor.sizes, (Sizes{4}));
  EXPECT_EQ(file->Find("c"), nullptr);
  EXPECT_EQ(file->metadata().size(), 1u);
}

TEST(WeightsFileTest, ShardsBehindAnIndex) {
  WriteShard("s1.safetensors", {"a", "b"});
  WriteShard("s2.safetensors", {"c"});
  WriteFile("s.index.json",
            R"({"metadata": {"total_size": 12}, "weight_map": {)"
            R"("c": "s2.safetensors", "a": "s1.safetensors",)"
            R"( "b": "s1.safetensors"}})");
  Diagnostics diags;
  const auto file = Open("s.index.json", diags);
  ASSERT_TRUE(file) << diags.ToString();
  ASSERT_EQ(file->items().size(), 3u);
  EXPECT_EQ(file->items()[0].tensor.name, "a");
  EXPECT_NE(file->Find("c"), nullptr);
  EXPECT_EQ(file->metadata().size(), 2u);
}

TEST(WeightsFileTest, HeadersThatBeginLikeJsonAreHeaders) {
  // '{' is 123, the low byte of this header's size.
  std::string header = R"({"a":{"dtype":"U8","shape":[1],)"
                       R"("data_offsets":[0,1]}})";
  header.resize('{', ' ');
  std::string size(8, '\0');
  size[0] = '{';
  WriteFile("brace.safetensors", size + header + "x");
  Diagnostics diags;
  const auto file = Open("brace.safetensors", diags);
  ASSERT_TRUE(file) << diags.ToString();
  EXPECT_NE(file->Find("a"), nullptr);
}

TEST(WeightsFileTest, RefusesBadIndices) {
  WriteShard("t1.safetensors", {"a", "b"});
  WriteShard("t2.safetensors", {"b"});
  struct Case {
    const char* what;
    std::string index;
  };
  const Case cases[] = {
      {"not JSON", R"({"weight_map": )"},
      {"no map", R"({"metadata": {"a": "b"}})"},
      {"a map of numbers", R"({"weight_map": {"a": 17}})"},
      {"another folder", R"({"weight_map": {"a": "../t1.safetensors"}})"},
      {"an absolute path", R"({"weight_map": {"a": "/etc/passwd"}})"},
      {"a folder", R"({"weight_map": {"a": "."}})"},
      {"no such file", R"({"weight_map": {"a": "t9.safetensors"}})"},
      {"a tensor that isn't there",
       R"({"weight_map": {"a": "t1.safetensors", "b": "t1.safetensors",)"
       R"( "z": "t1.safetensors"}})"},
      {"a tensor that isn't listed",
       R"({"weight_map": {"a": "t1.safetensors"}})"},
      {"one tensor in two files",
       R"({"weight_map": {"a": "t1.safetensors", "b": "t2.safetensors"}})"},
      {"listed twice",
       R"({"weight_map": {"a": "t1.safetensors", "b": "t1.safetensors",)"
       R"( "b": "t1.safetensors"}})"},
  };
  for (const Case& bad : cases) {
    WriteFile("bad.index.json", bad.index);
    Diagnostics diags;
    EXPECT_FALSE(Open("bad.index.json", diags)) << bad.what;
    EXPECT_EQ(diags.num_errors(), 1u) << bad.what << diags.ToString();
  }
}

TEST(WeightsFileTest, RefusesEmptyAndMissingFiles) {
  WriteFile("empty", "");
  for (const char* name : {"empty", "missing"}) {
    Diagnostics diags;
    EXPECT_FALSE(Open(name, diags)) << name;
    EXPECT_EQ(diags.num_errors(), 1u);
  }
}

}  // namespace
}  // namespace tenon
