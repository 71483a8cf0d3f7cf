#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "../../scratch.h"
#include "formats/zip/zip_reader.h"
#include "formats/zip/zip_writer.h"

namespace tenon {
namespace {

std::string TestPath(const std::string& name) { return ScratchPath(name); }

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string Hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

template <typename T>
void Put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

std::string WriteArchive(
    const std::string& name, const std::string& root,
    const std::vector<std::pair<std::string, std::string>>& members) {
  const std::string path = TestPath(name);
  ZipWriter writer;
  EXPECT_TRUE(writer.Open(path, root)) << writer.error();
  for (const auto& [member, content] : members) {
    EXPECT_TRUE(writer.Add(member, AsBytes(content))) << writer.error();
  }
  EXPECT_TRUE(writer.Finish()) << writer.error();
  const std::string bytes = ReadFile(path);
  std::remove(path.c_str());
  return bytes;
}

Expected<ZipArchive> Open(const std::string& bytes, Diagnostics& diags,
                          const ReadLimits& limits = {}) {
  return ZipArchive::Open(AsBytes(bytes), nullptr, "test.zip", limits, diags);
}

// The example that docs/formats/pt2.md describes, with the JSON members that
// only count by their length replaced by spaces.
std::string WorkedExample() {
  return WriteArchive(
      "worked", "tiny",
      {{"data/weights/weight_0",
        std::string("\x00\x00\x00\x3F\x00\x00\x80\xBF\x00\x00\x00\x40", 12)},
       {"data/weights/model_weights_config.json", std::string(252, ' ')},
       {"data/constants/model_constants_config.json", "{\"config\":{}}"},
       {"models/model.json", std::string(2676, ' ')},
       {"data/sample_inputs/model.pt", ""},
       {"archive_format", "pt2"},
       {"archive_version", "0"},
       {".data/version", "6\n"},
       {"byteorder", "little"},
       {".data/serialization_id", std::string(40, '0')}});
}

TEST(ZipWriter, WritesTheWorkedExample) {
  const std::string bytes = WorkedExample();
  ASSERT_EQ(bytes.size(), 4978u);
  EXPECT_EQ(Hex(bytes.substr(0, 92)),
            "504B0304"
            "0000"
            "0808"
            "0000"
            "00000000"
            "000000000000000000000000"
            "1A00"
            "0800" +
                Hex("tiny/data/weights/weight_0") +
                "464204005A5A5A5A"
                "0000003F000080BF00000040"
                "504B0708E103A6700C0000000C000000");
  EXPECT_EQ(Hex(bytes.substr(4152, 72)),
            "504B0102"
            "0000"
            "0000"
            "0808"
            "0000"
            "00000000"
            "E103A670"
            "0C000000"
            "0C000000"
            "1A00"
            "0000"
            "0000"
            "0000"
            "0000"
            "00000000"
            "00000000" +
                Hex("tiny/data/weights/weight_0"));
  EXPECT_EQ(Hex(bytes.substr(4880)),
            "504B06062C000000000000001E032D000000000000000000"
            "0A000000000000000A00000000000000"
            "D8020000000000003810000000000000"
            "504B0607000000001013000000000000"
            "01000000"
            "504B0506000000000A000A00D8020000381000000000");
}

TEST(ZipWriter, PutsPayloadsWhereTheWorkedExampleHasThem) {
  const std::string bytes = WorkedExample();
  Diagnostics diags;
  const auto archive = Open(bytes, diags);
  ASSERT_TRUE(archive) << diags.ToString();
  const uint64_t offsets[][2] = {
      {0, 64},      {92, 192},    {460, 576},   {605, 704},   {3396, 3520},
      {3520, 3584}, {3603, 3712}, {3729, 3840}, {3858, 3968}, {3990, 4096}};
  ASSERT_EQ(archive->members().size(), std::size(offsets));
  for (size_t i = 0; i < std::size(offsets); ++i) {
    EXPECT_EQ(archive->members()[i].header_offset, offsets[i][0]);
    EXPECT_EQ(archive->members()[i].payload_offset, offsets[i][1]);
  }
  EXPECT_EQ(archive->members()[2].crc, 0x0E7543F2u);
  EXPECT_EQ(archive->members()[9].crc, 0x963FBB8Eu);
}

TEST(ZipWriter, RefusesNamesThatLeaveTheRootAndDoubledNames) {
  const std::string path = TestPath("names");
  ZipWriter writer;
  ASSERT_TRUE(writer.Open(path, "r"));
  EXPECT_FALSE(writer.Add("../x", {}));
  ASSERT_TRUE(writer.Add("x", {}));
  EXPECT_FALSE(writer.Add("x", {}));
  EXPECT_FALSE(ZipWriter().Open(path, "a/b"));
}

TEST(ZipReader, ReadsBackWhatWasWritten) {
  const std::string bytes =
      WriteArchive("back", "r", {{"a", "one"}, {"dir/b", ""}, {"c", "three"}});
  Diagnostics diags;
  const auto archive = Open(bytes, diags);
  ASSERT_TRUE(archive) << diags.ToString();
  const ZipMember* c = archive->Find("r/c");
  ASSERT_NE(c, nullptr);
  const auto content = archive->Read(*c, true, diags);
  ASSERT_TRUE(content) << diags.ToString();
  EXPECT_EQ(AsText(content->bytes), "three");
  EXPECT_EQ(c->payload_offset % 64, 0u);
  EXPECT_EQ(archive->Find("r/d"), nullptr);
}

TEST(ZipReader, V_FILE_09_ComparesChecksumsWhenAsked) {
  std::string bytes = WriteArchive("crc", "r", {{"a", "content"}});
  bytes[64] ^= 1;
  Diagnostics diags;
  const auto archive = Open(bytes, diags);
  ASSERT_TRUE(archive) << diags.ToString();
  EXPECT_TRUE(archive->Read(archive->members()[0], false, diags));
  EXPECT_FALSE(archive->Read(archive->members()[0], true, diags));
  EXPECT_EQ(diags.all()[0].rule, Rule::kFile09);
}

TEST(ZipReader, V_FILE_03_RefusesDoubledMembers) {
  std::string bytes = WriteArchive("dup", "r", {{"a", "x"}, {"b", "y"}});
  // Both name fields of member b: local header and directory.
  for (size_t at = 0; (at = bytes.find("r/b", at)) != std::string::npos; ++at) {
    bytes[at + 2] = 'a';
  }
  Diagnostics diags;
  EXPECT_FALSE(Open(bytes, diags));
  EXPECT_NE(diags.FirstError().find("twice"), std::string::npos);
}

TEST(ZipReader, V_FILE_03_KnowsPlainNames) {
  for (const char* name : {"a", "root/x", "a.b/c d", "r/\xC3\xA9", "..a/b"}) {
    EXPECT_TRUE(IsPlainMemberName(name)) << name;
  }
  for (const char* name :
       {"", "/a", "a/", "a//b", "..", "a/../b", "./a", "a\\b", "C:x", "a\x01",
        "\xFF", "\xC0\x80", "\xED\xA0\x80"}) {
    EXPECT_FALSE(IsPlainMemberName(name)) << name;
  }
}

// A one-member archive with the content deflated.
std::string DeflatedArchive(const std::string& content, uint32_t stated_size) {
  std::string packed(content.size() + 64, '\0');
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);

  const auto fields = [&](std::string* out) {
    Put<uint16_t>(out, 20);
    Put<uint16_t>(out, 0);
    Put<uint16_t>(out, 8);
    Put<uint32_t>(out, 0);
    Put<uint32_t>(out, ZipCrc(AsBytes(content)));
    Put<uint32_t>(out, static_cast<uint32_t>(packed.size()));
    Put<uint32_t>(out, stated_size);
    Put<uint16_t>(out, 1);
    Put<uint16_t>(out, 0);
  };
  std::string out;
  Put<uint32_t>(&out, 0x04034B50);
  fields(&out);
  out += "m" + packed;
  const auto directory = static_cast<uint32_t>(out.size());
  Put<uint32_t>(&out, 0x02014B50);
  Put<uint16_t>(&out, 20);
  fields(&out);
  out.append(14, '\0');
  out += "m";
  const auto size = static_cast<uint32_t>(out.size()) - directory;
  Put<uint32_t>(&out, 0x06054B50);
  Put<uint32_t>(&out, 0);
  Put<uint16_t>(&out, 1);
  Put<uint16_t>(&out, 1);
  Put(&out, size);
  Put(&out, directory);
  Put<uint16_t>(&out, 0);
  return out;
}

TEST(ZipReader, InflatesDeflatedMembers) {
  const std::string content = "abcabcabcabcabcabcabc and so on";
  const std::string bytes =
      DeflatedArchive(content, static_cast<uint32_t>(content.size()));
  Diagnostics diags;
  const auto archive = Open(bytes, diags);
  ASSERT_TRUE(archive) << diags.ToString();
  const auto read = archive->Read(*archive->Find("m"), false, diags);
  ASSERT_TRUE(read) << diags.ToString();
  EXPECT_EQ(AsText(read->bytes), content);
}

TEST(ZipReader, V_FILE_02_RefusesBombsAndWrongInflatedSizes) {
  const std::string zeros(8 << 20, '\0');
  Diagnostics diags;
  EXPECT_FALSE(Open(DeflatedArchive(zeros, 8 << 20), diags));
  EXPECT_NE(diags.FirstError().find("beyond the limit"), std::string::npos);

  const std::string content(1000, 'x');
  for (const uint32_t stated : {999u, 1001u}) {
    const std::string bytes = DeflatedArchive(content, stated);
    const auto archive = Open(bytes, diags);
    ASSERT_TRUE(archive);
    EXPECT_FALSE(archive->Read(*archive->Find("m"), false, diags)) << stated;
  }
}

// Reads everything that can be read of damaged bytes.
void ReadAll(const std::string& bytes) {
  Diagnostics diags;
  const auto archive = Open(bytes, diags);
  if (!archive) {
    EXPECT_TRUE(diags.has_errors());
    return;
  }
  for (const ZipMember& m : archive->members()) {
    (void)archive->Read(m, true, diags).ok();
  }
}

TEST(ZipReader, SurvivesEveryFlippedBitOfATinyArchive) {
  const std::string bytes =
      WriteArchive("flip", "r", {{"a", "one"}, {"b", ""}, {"c", "three"}});
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      ReadAll(damaged);
    }
    std::string damaged = bytes;
    damaged[i] = '\xFF';
    ReadAll(damaged);
  }
}

TEST(ZipReader, V_FILE_01_RefusesEveryCutOfATinyArchive) {
  const std::string bytes = WriteArchive("cut", "r", {{"a", "one"}});
  for (size_t size = 0; size < bytes.size(); ++size) {
    Diagnostics diags;
    EXPECT_FALSE(Open(bytes.substr(0, size), diags)) << size;
    EXPECT_EQ(diags.all()[0].rule, Rule::kFile01);
  }
}

TEST(ZipWriter, WritesAContainerInsideAContainer) {
  const std::string content(100'000, 'x');
  const auto fill = [&](ZipWriter* zip) {
    return zip->Add("data/0", AsBytes(content)) && zip->Add("empty", Bytes()) &&
           zip->Add("id", AsBytes(zip->SerializationId()));
  };
  std::string inner;
  ZipWriter memory;
  ASSERT_TRUE(memory.OpenMemory(&inner, "archive"));
  ASSERT_TRUE(fill(&memory) && memory.WriteDirectory());

  std::string bytes;
  ZipWriter writer;
  ASSERT_TRUE(writer.OpenMemory(&bytes, ""));
  ASSERT_TRUE(writer.Add("first", AsBytes("1")));
  ASSERT_TRUE(writer.AddContainer("inner.zip", "archive", fill));
  ASSERT_TRUE(writer.Add("last", AsBytes("2")));
  ASSERT_TRUE(writer.WriteDirectory());
  Diagnostics diags;
  const auto zip = Open(bytes, diags);
  ASSERT_TRUE(zip) << diags.ToString();
  ASSERT_EQ(zip->members().size(), 3u);
  const ZipMember* member = zip->Find("inner.zip");
  ASSERT_NE(member, nullptr);
  EXPECT_EQ(member->payload_offset % 64, 0u);
  const auto read = zip->Read(*member, true, diags);
  ASSERT_TRUE(read) << diags.ToString();
  EXPECT_EQ(AsText(read->bytes), inner);
}

TEST(ZipWriter, TellsAContainerThatCannotBeWritten) {
  std::string bytes;
  ZipWriter writer;
  ASSERT_TRUE(writer.OpenMemory(&bytes, "root"));
  EXPECT_FALSE(writer.AddContainer("x", "archive", [](ZipWriter* zip) {
    return zip->Add("../evil", Bytes());
  }));
  EXPECT_NE(writer.error().find("../evil"), std::string::npos);

  ZipWriter second;
  std::string more;
  ASSERT_TRUE(second.OpenMemory(&more, "root"));
  int calls = 0;
  EXPECT_FALSE(second.AddContainer("x", "archive", [&](ZipWriter* zip) {
    return zip->Add("n", AsBytes(std::string(++calls, 'x')));
  }));
  EXPECT_NE(second.error().find("changed"), std::string::npos);
}

}  // namespace
}  // namespace tenon
