#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "../../scratch.h"
#include "formats/pickle/pickle_scan.h"
#include "formats/pickle/pickle_tree.h"
#include "formats/pickle/torch_save.h"
#include "formats/zip/zip_writer.h"

namespace tenon {
namespace {

using namespace std::string_literals;

Expected<PickleTree> Parse(const std::string& bytes, Diagnostics& diags) {
  return PickleTree::Parse(AsBytes(bytes), "data.pkl", diags);
}

void ExpectRefused(const std::string& bytes, const std::string& part) {
  Diagnostics diags;
  EXPECT_FALSE(Parse(bytes, diags));
  ASSERT_EQ(diags.num_errors(), 1u);
  EXPECT_EQ(diags.all()[0].rule, Rule::kFile07);
  EXPECT_NE(diags.FirstError().find(part), std::string::npos)
      << diags.FirstError();
}

TEST(PickleTree, TakesCallsApartWithoutMakingThem) {
  // os.system("hi")
  const std::string bytes =
      "\x80\x02"
      "cos\nsystem\nX\x02\0\0\0hi\x85R."s;
  Diagnostics diags;
  const auto tree = Parse(bytes, diags);
  ASSERT_TRUE(tree) << diags.ToString();
  EXPECT_EQ(tree->root().kind, PickleKind::kReduce);
  EXPECT_EQ(tree->get(tree->root().items[0]).text, "os system");
  ASSERT_EQ(tree->globals().size(), 1u);
}

TEST(PickleTree, ReadsScalarsAndContainers) {
  // {"a": (-1, 300, 1.5, None, True)}
  const std::string bytes =
      "\x80\x02}q\0X\x01\0\0\0"
      "a(J\xFF\xFF\xFF\xFFM\x2C\x01G\x3F\xF8\0\0\0\0\0\0N\x88ts."s;
  Diagnostics diags;
  const auto tree = Parse(bytes, diags);
  ASSERT_TRUE(tree) << diags.ToString();
  ASSERT_EQ(tree->root().kind, PickleKind::kDict);
  const PickleNode& tuple = tree->get(tree->root().items[1]);
  ASSERT_EQ(tuple.items.size(), 5u);
  EXPECT_EQ(tree->get(tuple.items[0]).i, -1);
  EXPECT_EQ(tree->get(tuple.items[1]).i, 300);
  EXPECT_EQ(tree->get(tuple.items[2]).f, 1.5);
  EXPECT_EQ(tree->get(tuple.items[3]).kind, PickleKind::kNone);
  EXPECT_EQ(tree->get(tuple.items[4]).kind, PickleKind::kBool);
}

TEST(PickleTree, ReadsLongsOfAllLengths) {
  for (const auto& [bytes, value] :
       {std::pair{"\x8A\0."s, int64_t{0}},
        {"\x8A\x01\xFF."s, -1},
        {"\x8A\x02\xFF\0."s, 255},
        {"\x8A\x08\0\0\0\0\0\0\0\x80."s, INT64_MIN}}) {
    Diagnostics diags;
    const auto tree = Parse(bytes, diags);
    ASSERT_TRUE(tree) << diags.ToString();
    EXPECT_EQ(tree->root().i, value);
  }
}

TEST(PickleTree, V_FILE_07_RefusesBadPrograms) {
  ExpectRefused("\x80\x02h\x07."s, "memo slot 7 is not set");
  ExpectRefused("\x80\x02R."s, "stack underflow");
  ExpectRefused("."s, "stack underflow");
  ExpectRefused("(."s, "stack underflow");
  ExpectRefused("\x80\x02N"s, "truncated");
  ExpectRefused(
      "X\xF0\xFF\xFF\xFF"
      "ab"s,
      "exceeds the 2 bytes left");
  ExpectRefused("\x80\x63N."s, "protocol 99");
  ExpectRefused("ia\nb\n"s, "opcode 105 isn't supported");
  ExpectRefused("N(u."s, "isn't a container");
  ExpectRefused("}(Nu."s, "a key but no value");
}

TEST(PickleTree, SurvivesAnyTwoBytesAfterAStack) {
  const std::string start =
      "\x80\x02}(X\x01\0\0\0"
      "aNN"s;
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      Diagnostics diags;
      const std::string bytes =
          start + static_cast<char>(a) + static_cast<char>(b) + ".";
      const bool ok = Parse(bytes, diags).ok();
      EXPECT_EQ(ok, !diags.has_errors()) << a << " " << b;
    }
  }
}

TEST(PickleScan, TellsPlainTensorsFromOthers) {
  std::string reason;
  EXPECT_TRUE(IsPlainTorchSave({}, &reason));
  EXPECT_TRUE(IsPlainTorchSave(AsBytes("ctorch._utils\n_rebuild_tensor_v2\n."),
                               &reason));
  EXPECT_TRUE(IsPlainTorchSave(AsBytes("ctorch\nFloatStorage\n."), &reason));
  EXPECT_FALSE(IsPlainTorchSave(AsBytes("ctorch\nload\n."), &reason));
  EXPECT_EQ(reason, "it imports 'torch load'");
  EXPECT_FALSE(IsPlainTorchSave(AsBytes("cmine\nClass\n."), &reason));
  EXPECT_FALSE(IsPlainTorchSave(AsBytes("c__builtin__\neval\n."), &reason));
}

TEST(PickleScan, V_FILE_07_RefusesToCarryActingModules) {
  Diagnostics diags;
  EXPECT_TRUE(CheckCarriedPickle(AsBytes("cmine\nClass\n."), "w", diags));
  EXPECT_FALSE(CheckCarriedPickle(AsBytes("cos\nmkdir\n."), "w", diags));
  EXPECT_FALSE(CheckCarriedPickle(AsBytes("cos.path\nx\n."), "w", diags));
  EXPECT_FALSE(CheckCarriedPickle(AsBytes("cbuiltins\nexec\n."), "w", diags));
}

// torch.save({"w": t, "v": u}): two float tensors [2] over one storage of four
// floats, the second at offset 2; `metadata` goes behind the second's
// arguments.
std::string SavedDictBytes(const std::string& metadata = "") {
  const std::string storage =
      "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"
      "0X\3\0\0\0cpuK\4tQ"s;
  const auto tensor = [&](char offset, const std::string& more) {
    return "ctorch._utils\n_rebuild_tensor_v2\n("s + storage + "K" + offset +
           "K\2\x85K\1\x85\x89"
           "ccollections\nOrderedDict\n)R" +
           more + "tR";
  };
  const std::string pickle = "\x80\2}(X\1\0\0\0w"s + tensor(0, "") +
                             "X\1\0\0\0v"s + tensor(2, metadata) + "u.";
  const std::string data("\0\0\x80\x3F\0\0\0\x40\0\0\x40\x40\0\0\x80\x40", 16);
  const std::string path = ScratchPath("saved.pt");
  ZipWriter writer;
  EXPECT_TRUE(writer.Open(path, "archive"));
  EXPECT_TRUE(writer.Add("data.pkl", AsBytes(pickle)));
  EXPECT_TRUE(writer.Add("data/0", AsBytes(data)));
  EXPECT_TRUE(writer.Finish());
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::remove(path.c_str());
  return bytes;
}

TEST(TorchSave, ReadsTensorsThatShareAStorage) {
  const std::string bytes = SavedDictBytes();
  Diagnostics diags;
  const auto dict = ReadTorchSave(AsBytes(bytes), nullptr, "w.pt", diags);
  ASSERT_TRUE(dict) << diags.ToString();
  ASSERT_EQ(dict->tensors.size(), 2u);
  EXPECT_EQ(dict->tensors[0].first, "w");
  const SavedTensor& v = dict->tensors[1].second;
  EXPECT_EQ(v.dtype, DType::kFloat32);
  EXPECT_EQ(v.sizes, std::vector<int64_t>{2});
  EXPECT_EQ(v.storage_offset, 2);
  EXPECT_EQ(dict->storages.size(), 1u);
  EXPECT_EQ(dict->tensors[0].second.storage, v.storage);
  EXPECT_EQ(dict->storages[0].bytes.size(), 16u);
}

TEST(TorchSave, NegatesWhatIsStoredNegated) {
  const std::string bytes = SavedDictBytes("}X\3\0\0\0neg\x88s"s);
  Diagnostics diags;
  const auto dict = ReadTorchSave(AsBytes(bytes), nullptr, "w.pt", diags);
  ASSERT_TRUE(dict) << diags.ToString();
  ASSERT_EQ(dict->storages.size(), 2u);
  float value;
  std::memcpy(&value, dict->storages[1].bytes.data() + 12, 4);
  EXPECT_EQ(value, -4.0f);
}

TEST(TorchSave, V_FILE_07_NamesTheCallThatItRefuses) {
  Diagnostics diags;
  std::string bytes = SavedDictBytes();
  const size_t at = bytes.find("_rebuild_tensor_v2");
  bytes.replace(at, 18, "_rebuild_qtensor_x");
  EXPECT_FALSE(ReadTorchSave(AsBytes(bytes), nullptr, "w.pt", diags));
  EXPECT_EQ(diags.all()[0].rule, Rule::kFile09);  // the checksum comes first
}

TEST(TorchSave, SurvivesEveryFlippedByte) {
  std::string bytes = SavedDictBytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char saved = bytes[i];
    bytes[i] = '\xFF';
    Diagnostics diags;
    const bool ok = ReadTorchSave(AsBytes(bytes), nullptr, "w.pt", diags).ok();
    EXPECT_EQ(ok, !diags.has_errors());
    bytes[i] = saved;
  }
}

}  // namespace
}  // namespace tenon
