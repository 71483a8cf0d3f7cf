#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "round_trip.h"

namespace tenon {
namespace {

class SideFileTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "side_file_test." + std::to_string(getpid());
  }
  void TearDown() override { std::remove(path_.c_str()); }

  std::string ReadAll() const {
    std::ifstream file(path_, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void WriteAll(const std::string& text) const {
    std::ofstream(path_, std::ios::binary) << text;
  }

  std::string path_;
};

TEST_F(SideFileTest, PayloadsComeBackByDigest) {
  const std::string one(1000, '1'), two = "two";
  std::map<Digest, Bytes> payloads;
  for (const std::string* text : {&one, &two}) {
    payloads[HashBytes(text->data(), text->size())] = AsBytes(*text);
  }
  Diagnostics diags;
  ASSERT_TRUE(WriteSideFile(path_, payloads, diags)) << diags.ToString();
  const auto source = OpenSideFile(path_, diags);
  ASSERT_TRUE(source.ok()) << diags.ToString();
  for (const auto& [digest, bytes] : payloads) {
    EXPECT_EQ(AsText((*source)(digest).first), AsText(bytes));
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*source)(digest).first.data()) % 64,
              0u);
  }
  EXPECT_TRUE((*source)(Digest{1, 2}).first.empty());
  const std::string first = ReadAll();
  ASSERT_TRUE(WriteSideFile(path_, payloads, diags));
  EXPECT_EQ(ReadAll(), first);
}

TEST_F(SideFileTest, DamageIsAnError) {
  const std::string text(100, 'x');
  std::map<Digest, Bytes> payloads = {
      {HashBytes(text.data(), text.size()), AsBytes(text)}};
  Diagnostics diags;
  ASSERT_TRUE(WriteSideFile(path_, payloads, diags));
  const std::string whole = ReadAll();
  const auto opens = [&](const std::string& bytes) {
    WriteAll(bytes);
    Diagnostics unused;
    const bool ok = OpenSideFile(path_, unused).ok();
    EXPECT_EQ(ok, !unused.has_errors());
    return ok;
  };
  EXPECT_TRUE(opens(whole));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(opens(whole.substr(0, size))) << size;
  }
  std::string huge = whole;
  huge.replace(8, 8, 8, '\xFF');  // number of payloads
  EXPECT_FALSE(opens(huge));
  huge = whole;
  huge.replace(32, 8, 8, '\xFF');  // position
  EXPECT_FALSE(opens(huge));
  huge = whole;
  huge.replace(40, 8, 8, '\xFF');  // size
  EXPECT_FALSE(opens(huge));
}

}  // namespace
}  // namespace tenon
