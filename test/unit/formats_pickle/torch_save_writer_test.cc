// Payloads that Tenon writes, read back and compared with PyTorch's own.
#include <gtest/gtest.h>

#include <limits>
#include <span>
#include <string>

#include "formats/pickle/pickle_scan.h"
#include "formats/pickle/pickle_tree.h"
#include "formats/pickle/pickle_writer.h"
#include "formats/pickle/torch_save.h"

namespace tenon {
namespace {

using namespace std::string_literals;

std::string Write(const SavedDict& dict, bool is_dict = true) {
  std::string bytes;
  ZipWriter zip;
  EXPECT_TRUE(zip.OpenMemory(&bytes, "archive"));
  EXPECT_TRUE(is_dict ? WriteTorchSave(dict, &zip)
                      : WriteSavedTensor(dict, &zip));
  EXPECT_TRUE(zip.WriteDirectory());
  return bytes;
}

std::string PickleOf(const std::string& payload) {
  Diagnostics diags;
  const auto pickle = FindPickle(AsBytes(payload), "w.pt", diags);
  EXPECT_TRUE(pickle) << diags.ToString();
  return pickle ? std::string(AsText(pickle->bytes)) : "";
}

void ExpectEqual(const SavedTensor& a, const SavedTensor& b) {
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.sizes, b.sizes);
  EXPECT_EQ(a.strides, b.strides);
  EXPECT_EQ(a.storage_offset, b.storage_offset);
  EXPECT_EQ(a.requires_grad, b.requires_grad);
  EXPECT_EQ(a.is_parameter, b.is_parameter);
  EXPECT_EQ(a.device, b.device);
  EXPECT_EQ(a.layout, b.layout);
  EXPECT_EQ(a.is_coalesced, b.is_coalesced);
  ASSERT_EQ(a.parts.size(), b.parts.size());
  for (size_t i = 0; i < a.parts.size(); ++i) {
    ExpectEqual(a.parts[i], b.parts[i]);
  }
}

SavedDict ExpectReadsBack(const SavedDict& dict, const std::string& payload) {
  Diagnostics diags;
  const auto read = ReadTorchSave(AsBytes(payload), nullptr, "w.pt", diags);
  EXPECT_TRUE(read) << diags.ToString();
  if (!read) return {};
  EXPECT_EQ(read->tensors.size(), dict.tensors.size());
  for (size_t i = 0; i < read->tensors.size(); ++i) {
    EXPECT_EQ(read->tensors[i].first, dict.tensors[i].first);
    ExpectEqual(read->tensors[i].second, dict.tensors[i].second);
  }
  std::string reason;
  EXPECT_TRUE(IsPlainTorchSave(AsBytes(payload), &reason)) << reason;
  return std::move(*read);
}

SavedTensor Vector(DType dtype, int64_t size, size_t storage) {
  SavedTensor tensor;
  tensor.dtype = dtype;
  tensor.sizes = {size};
  tensor.strides = {1};
  tensor.storage = storage;
  return tensor;
}

constexpr std::byte kZeros[64] = {};

// What torch.save of PyTorch 2.6 gives for a parameter w of two floats and a
// buffer v, the second of them: data.pkl at protocol 2.
TEST(TorchSaveWriter, SpellsAPickleAsPyTorchDoes) {
  SavedDict dict;
  dict.storages = {{Bytes(kZeros, 8), nullptr}};
  SavedTensor w = Vector(DType::kFloat32, 2, 0);
  w.is_parameter = w.requires_grad = true;
  SavedTensor v = Vector(DType::kFloat32, 1, 0);
  v.storage_offset = 1;
  dict.tensors = {{"w", w}, {"v", v}};
  const std::string expected =
      "\x80\2}q\0(X\1\0\0\0wq\1ctorch._utils\n_rebuild_parameter\nq\2"
      "ctorch._utils\n_rebuild_tensor_v2\nq\3((X\7\0\0\0storageq\4"
      "ctorch\nFloatStorage\nq\5X\1\0\0\0"
      "0q\6X\3\0\0\0cpuq\7K\2tq\x08QK\0"
      "K\2\x85q\tK\1\x85q\n\x89"
      "ccollections\nOrderedDict\nq\x0B)Rq\x0Ctq\r"
      "Rq\x0E\x88h\x0B)Rq\x0F\x87q\x10Rq\x11"
      "X\1\0\0\0vq\x12h\3((h\4h\5h\6h\7K\2tq\x13QK\1K\1\x85q\x14K\1\x85q\x15"
      "\x89h\x0B)Rq\x16tq\x17Rq\x18u."s;
  const std::string payload = Write(dict);
  EXPECT_EQ(PickleOf(payload), expected);
  EXPECT_EQ(ExpectReadsBack(dict, payload).storages.size(), 1u);
}

TEST(TorchSaveWriter, ReadsBackEveryDType) {
  SavedDict dict;
  for (const DType dtype : {DType::kUInt8,          DType::kInt8,
                            DType::kInt16,          DType::kInt32,
                            DType::kInt64,          DType::kFloat16,
                            DType::kFloat32,        DType::kFloat64,
                            DType::kComplex32,      DType::kComplex64,
                            DType::kComplex128,     DType::kBool,
                            DType::kBFloat16,       DType::kUInt16,
                            DType::kUInt32,         DType::kUInt64,
                            DType::kFloat8E4M3FN,   DType::kFloat8E5M2,
                            DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2FNUZ,
                            DType::kFloat8E8M0FNU}) {
    dict.tensors.emplace_back(Name(dtype),
                              Vector(dtype, 2, dict.storages.size()));
    dict.storages.push_back({Bytes(kZeros, 2 * SizeBytes(dtype)), nullptr});
  }
  ExpectReadsBack(dict, Write(dict));
}

TEST(TorchSaveWriter, ReadsBackShapesDevicesAndEmptyTensors) {
  SavedDict dict;
  dict.storages = {{Bytes(kZeros, 64), nullptr}, {Bytes(), nullptr}};
  SavedTensor matrix = Vector(DType::kFloat32, 2, 0);
  matrix.sizes = {2, 0, 70'000, 5'000'000'000};
  matrix.strides = {1, 300, 1, 1};
  matrix.device = "cuda:1";
  SavedTensor scalar = Vector(DType::kFloat64, 1, 0);
  scalar.sizes = {};
  scalar.strides = {};
  scalar.requires_grad = true;
  scalar.dtype = DType::kFloat32;
  dict.tensors = {{"matrix", matrix},
                  {"scalar", scalar},
                  {"empty", Vector(DType::kInt64, 0, 1)}};
  ExpectReadsBack(dict, Write(dict));
}

// A tied weight is one tensor with two names, in the file too.
TEST(TorchSaveWriter, WritesEqualEntriesOnce) {
  SavedDict dict;
  dict.storages = {{Bytes(kZeros, 8), nullptr}};
  dict.tensors = {{"a", Vector(DType::kFloat32, 2, 0)}};
  const std::string one = PickleOf(Write(dict));
  dict.tensors.push_back({"b", dict.tensors[0].second});
  dict.tensors.push_back({"half", Vector(DType::kFloat32, 1, 0)});
  const std::string payload = Write(dict);
  const std::string three = PickleOf(payload);
  // "b", and the slot of a's call.
  EXPECT_NE(three.find("X\1\0\0\0bq\x0Eh\x0D"s), std::string::npos);
  EXPECT_LT(three.size(), 2 * one.size());
  EXPECT_EQ(ExpectReadsBack(dict, payload).storages.size(), 1u);
}

TEST(TorchSaveWriter, ReadsBackManyEntries) {
  SavedDict dict;
  dict.storages = {{Bytes(kZeros, 4), nullptr}};
  for (int i = 0; i < 2001; ++i) {
    dict.tensors.emplace_back("layer." + std::to_string(i),
                              Vector(DType::kFloat32, 1, 0));
  }
  ExpectReadsBack(dict, Write(dict));
}

TEST(TorchSaveWriter, ReadsBackSparseTensorsOfAllLayouts) {
  SavedDict dict;
  dict.storages = {{Bytes(kZeros, 16), nullptr}, {Bytes(kZeros, 8), nullptr}};
  SavedTensor coo;
  coo.layout = Layout::kSparseCoo;
  coo.dtype = DType::kFloat32;
  coo.sizes = {3, 3};
  coo.parts = {Vector(DType::kInt64, 2, 0), Vector(DType::kFloat32, 2, 1)};
  dict.tensors.emplace_back("older", coo);  // that says nothing of coalescing
  coo.is_coalesced = false;
  dict.tensors.emplace_back("newer", coo);
  coo.requires_grad = coo.is_parameter = true;
  dict.tensors.emplace_back("parameter", coo);
  for (const Layout layout : {Layout::kSparseCsr, Layout::kSparseCsc,
                              Layout::kSparseBsr, Layout::kSparseBsc}) {
    SavedTensor compressed;
    compressed.layout = layout;
    compressed.dtype = DType::kFloat32;
    compressed.sizes = {1, 2};
    compressed.parts = {Vector(DType::kInt64, 2, 0),
                        Vector(DType::kInt64, 2, 0),
                        Vector(DType::kFloat32, 2, 1)};
    dict.tensors.emplace_back(Name(layout), compressed);
  }
  const std::string payload = Write(dict);
  EXPECT_EQ(Write(ExpectReadsBack(dict, payload)), payload);
}

TEST(TorchSaveWriter, ReadsBackABareTensor) {
  SavedDict dict;
  dict.storages = {{Bytes(kZeros, 8), nullptr}};
  dict.tensors = {{"", Vector(DType::kFloat32, 2, 0)}};
  const std::string payload = Write(dict, /*is_dict=*/false);
  Diagnostics diags;
  const auto read = ReadSavedTensor(AsBytes(payload), nullptr, "w", diags);
  ASSERT_TRUE(read) << diags.ToString();
  ExpectEqual(read->tensors[0].second, dict.tensors[0].second);
  EXPECT_FALSE(ReadTorchSave(AsBytes(payload), nullptr, "w", diags));
}

TEST(SavedTensorReader, V_FILE_07_NamesAnUnknownSparseLayout) {
  SavedDict dict;
  dict.storages = {{Bytes(kZeros, 16), nullptr}};
  SavedTensor coo;
  coo.layout = Layout::kMkldnn;
  coo.sizes = {3};
  coo.parts = {Vector(DType::kInt64, 2, 0), Vector(DType::kInt64, 2, 0)};
  dict.tensors = {{"s", coo}};
  const std::string payload = Write(dict);
  Diagnostics diags;
  EXPECT_FALSE(ReadTorchSave(AsBytes(payload), nullptr, "w.pt", diags));
  EXPECT_EQ(diags.all()[0].rule, Rule::kFile07);
  EXPECT_EQ(diags.FirstError(), "tensor 's' is sparse of an unknown layout");
}

TEST(PickleWriter, WritesIntegersInTheFewestBytes) {
  const std::pair<int64_t, std::string> kCases[] = {
      {0, "K\0"s},
      {255, "K\xFF"s},
      {256, "M\0\1"s},
      {65536, "J\0\0\1\0"s},
      {-1, "J\xFF\xFF\xFF\xFF"s},
      {int64_t{1} << 31, "\x8A\5\0\0\0\x80\0"s},
      {-(int64_t{1} << 31) - 1, "\x8A\5\xFF\xFF\xFF\x7F\xFF"s},
      {(int64_t{1} << 39) - 1, "\x8A\5\xFF\xFF\xFF\xFF\x7F"s},
      {std::numeric_limits<int64_t>::min(), "\x8A\x08\0\0\0\0\0\0\0\x80"s},
  };
  for (const auto& [value, text] : kCases) {
    PickleWriter writer;
    writer.Int(value);
    const std::string pickle = writer.Finish();
    EXPECT_EQ(pickle, "\x80\2" + text + ".") << value;
    Diagnostics diags;
    const auto tree = PickleTree::Parse(AsBytes(pickle), "p", diags);
    ASSERT_TRUE(tree) << diags.ToString();
    EXPECT_EQ(tree->root().i, value);
  }
}

}  // namespace
}  // namespace tenon
