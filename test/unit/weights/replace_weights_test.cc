#include "weights/replace_weights.h"

#include "../../scratch.h"
#include "formats/tensor/safetensors.h"
#include "programs.h"
#include "weights/strip_weights.h"
#include "weights/write_weights.h"

namespace tenon {
namespace {

using Stripped = ReplaceWeightsReport::Stripped;

Tensor Bytes8(std::vector<uint8_t> values, Sizes sizes = {}) {
  if (sizes.empty()) sizes = {static_cast<int64_t>(values.size())};
  Tensor tensor = Tensor::Zeros(DType::kUInt8, sizes);
  std::copy(values.begin(), values.end(), tensor.mutable_data<uint8_t>());
  return tensor;
}

using Metadata = std::vector<std::pair<std::string, std::string>>;

WeightsFile FileOf(std::vector<NamedTensor> tensors, Metadata metadata = {}) {
  static int number = 0;
  const std::string path =
      ScratchPath("from" + std::to_string(number++) + ".safetensors");
  Diagnostics diags;
  EXPECT_TRUE(
      WriteSafetensors(path, {std::move(tensors), std::move(metadata)}, diags))
      << diags.ToString();
  auto file = WeightsFile::Open(path, diags);
  EXPECT_TRUE(file.ok()) << diags.ToString();
  return std::move(*file);
}

ReplaceWeightsOptions Allow(bool missing, bool unknown) {
  ReplaceWeightsOptions options;
  options.allow_missing = missing;
  options.allow_unknown = unknown;
  options.scratch_folder = ::testing::TempDir();
  return options;
}

// The errors, "" where there are none; then the program must be changed, and
// else as it was.
std::string Replace(const WeightsFile& file, Program* program,
                    const ReplaceWeightsOptions& options = Allow(false, false),
                    ReplaceWeightsReport* report = nullptr) {
  const std::string before = TextOf(*program);
  Diagnostics diags;
  const auto result = ReplaceWeights(file, options, program, diags);
  EXPECT_EQ(result.ok(), !diags.has_errors()) << diags.ToString();
  if (!result) {
    EXPECT_EQ(TextOf(*program), before);
  }
  if (result && report != nullptr) *report = *result;
  return diags.ToString();
}

using Values = std::vector<uint8_t>;

TEST(ReplaceWeightsTest, ReplacesValuesAndNothingElse) {
  Program program = ProgramWith(R"(
storage @0 = 4 bytes hex"01020304"
storage @1 = 2 bytes hex"0506"
parameter "w" : u8[2, 2] requires_grad = @0
buffer "b" : u8[2] = @1
)");
  ReplaceWeightsReport report;
  EXPECT_EQ(Replace(FileOf({{"b", Bytes8({9, 8})},
                            {"w", Bytes8({4, 3, 2, 1}, {2, 2})}}),
                    &program, Allow(false, false), &report),
            "");
  EXPECT_EQ(report.num_replaced, 2u);
  EXPECT_EQ(report.bytes, 6u);
  EXPECT_EQ(report.stripped, Stripped::kNo);
  const std::string text = TextOf(program);
  EXPECT_NE(text.find(R"(@0 = 4 bytes hex"04030201")"), std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("w" : u8[2, 2] requires_grad = @0)"),
            std::string::npos);
  EXPECT_EQ(ValuesOf<uint8_t>(program.state.storages[1]), (Values{9, 8}));
}

// A storage that one tensor fills is the file's own bytes.
TEST(ReplaceWeightsTest, CopiesNothingWhereItNeedNot) {
  Program program = ProgramWith(R"(
storage @0 = 4 bytes zeros
parameter "w" : u8[4] = @0
)");
  const WeightsFile file = FileOf({{"w", Bytes8({1, 2, 3, 4})}});
  EXPECT_EQ(Replace(file, &program), "");
  EXPECT_EQ(program.state.storages[0].bytes.data(),
            file.Find("w")->tensor.bytes.data());
}

TEST(ReplaceWeightsTest, KeepsStridesAndWhatNoTensorReaches) {
  Program program = ProgramWith(R"(
storage @0 = 8 bytes hex"f0f1f2f3f4f5f6f7"
parameter "w" : u8[2, 2] strides [1, 3] offset (2) = @0
)");
  EXPECT_EQ(Replace(FileOf({{"w", Bytes8({1, 2, 3, 4}, {2, 2})}}), &program),
            "");
  EXPECT_EQ(ValuesOf<uint8_t>(program.state.storages[0]),
            (Values{0xf0, 0xf1, 1, 3, 0xf4, 2, 4, 0xf7}));
}

TEST(ReplaceWeightsTest, WGT_01_NamesAreTheProgramsAndAllOfThem) {
  Program program = ProgramWith(R"(
storage @0 = 1 bytes zeros
storage @1 = 1 bytes zeros
storage @2 = 1 bytes zeros
parameter "a" : u8[1] = @0
parameter "b" : u8[1] = @1
constant "c" : u8[1] = @2
)");
  const WeightsFile file = FileOf({{"a", Bytes8({1})}, {"bb", Bytes8({2})}});
  const std::string errors = Replace(file, &program);
  EXPECT_NE(errors.find("tensor 'bb' is none of the program's [WGT-01]"),
            std::string::npos)
      << errors;
  EXPECT_NE(errors.find("b: the file has no tensor of this name [WGT-01]"),
            std::string::npos);
  EXPECT_NE(Replace(file, &program, Allow(true, false)), "");
  EXPECT_NE(Replace(file, &program, Allow(false, true)), "");
  ReplaceWeightsReport report;
  EXPECT_EQ(Replace(file, &program, Allow(true, true), &report), "");
  EXPECT_EQ(report.num_missing, 1u);
  EXPECT_EQ(report.num_unknown, 1u);
  EXPECT_EQ(ValuesOf<uint8_t>(program.state.storages[0]), Values{1});
  EXPECT_EQ(ValuesOf<uint8_t>(program.state.storages[1]), Values{0});
}

TEST(ReplaceWeightsTest, ConstantsMayBeGiven) {
  Program program = ProgramWith(R"(
storage @0 = 1 bytes zeros
constant "c" : u8[1] = @0
)");
  EXPECT_EQ(Replace(FileOf({{"c", Bytes8({7})}}), &program), "");
  EXPECT_EQ(ValuesOf<uint8_t>(program.state.storages[0]), Values{7});
}

TEST(ReplaceWeightsTest, WGT_02_DtypeAndSizesAreTheProgramsOwn) {
  Program program = ProgramWith(R"(
storage @0 = 4 bytes zeros
storage @1 = 4 bytes zeros
parameter "shape" : u8[2, 2] = @0
parameter "dtype" : i8[4] = @1
)");
  const std::string errors = Replace(FileOf({{"shape", Bytes8({1, 2, 3, 4})},
                                             {"dtype", Bytes8({1, 2, 3, 4})}}),
                                     &program);
  EXPECT_NE(
      errors.find("shape: the file has u8[4], the program u8[2, 2] [WGT-02]"),
      std::string::npos)
      << errors;
  EXPECT_NE(errors.find("dtype: the file has u8[4], the program i8[4]"),
            std::string::npos);
}

const char* const kTied = R"(
storage @0 = 4 bytes hex"01020304"
parameter "all" : u8[4] = @0
parameter "tied" : u8[4] = @0
buffer "tail" : u8[2] offset (2) = @0
)";

TEST(ReplaceWeightsTest, WGT_03_WhatOverlapsIsEqual) {
  Program program = ProgramWith(kTied);
  const Tensor all = Bytes8({9, 8, 7, 6});
  EXPECT_EQ(
      Replace(FileOf({{"all", all}, {"tied", all}, {"tail", Bytes8({7, 6})}}),
              &program),
      "");
  for (const auto& [tied, tail] :
       {std::pair{Bytes8({9, 8, 7, 5}), Bytes8({7, 6})},
        std::pair{all, Bytes8({7, 5})}}) {
    const std::string errors = Replace(
        FileOf({{"all", all}, {"tied", tied}, {"tail", tail}}), &program);
    EXPECT_NE(errors.find("the file gives other elements than for what "
                          "overlaps it in the program's storage: 'all', "),
              std::string::npos)
        << errors;
  }
}

TEST(ReplaceWeightsTest, WGT_03_ElementsInOnePlaceAreEqual) {
  Program program = ProgramWith(R"(
storage @0 = 2 bytes zeros
buffer "e" : u8[3, 2] strides [0, 1] = @0
)");
  EXPECT_EQ(
      Replace(FileOf({{"e", Bytes8({1, 2, 1, 2, 1, 2}, {3, 2})}}), &program),
      "");
  EXPECT_EQ(ValuesOf<uint8_t>(program.state.storages[0]), (Values{1, 2}));
  EXPECT_NE(
      Replace(FileOf({{"e", Bytes8({1, 2, 1, 2, 1, 3}, {3, 2})}}), &program),
      "");
}

TEST(ReplaceWeightsTest, ViewsOfGivenBytesNeedntBeThere) {
  Program program = ProgramWith(kTied);
  ReplaceWeightsReport report;
  EXPECT_EQ(Replace(FileOf({{"tied", Bytes8({9, 8, 7, 6})}}), &program,
                    Allow(false, false), &report),
            "");
  EXPECT_EQ(report.notes,
            (std::vector<std::string>{
                "'all' isn't in the file: it changes with 'tied', whose "
                "storage it shares",
                "'tail' isn't in the file: it changes with 'tied', whose "
                "storage it shares"}));
  EXPECT_EQ(ValuesOf<uint8_t>(program.state.storages[0]), (Values{9, 8, 7, 6}));
  // A part isn't the whole.
  EXPECT_NE(Replace(FileOf({{"tail", Bytes8({1, 1})}}), &program), "");
}

TEST(ReplaceWeightsTest, TheMetadataNamesTensorsThatAreWrittenOnce) {
  Program program = ProgramWith(R"(
storage @0 = 1 bytes zeros
storage @1 = 1 bytes zeros
parameter "a" : u8[1] = @0
parameter "b" : u8[1] = @1
)");
  ReplaceWeightsReport report;
  EXPECT_EQ(Replace(FileOf({{"a", Bytes8({5})}}, {{"b", "a"}}), &program,
                    Allow(false, false), &report),
            "");
  EXPECT_EQ(report.num_replaced, 2u);
  EXPECT_EQ(ValuesOf<uint8_t>(program.state.storages[1]), Values{5});
  EXPECT_NE(Replace(FileOf({{"a", Bytes8({5})}}, {{"b", "nothing"}}), &program),
            "");
}

TEST(ReplaceWeightsTest, SaysWhereTheProgramDoesntShare) {
  Program tied = ProgramWith(R"(
storage @0 = 1 bytes zeros
parameter "a" : u8[1] = @0
parameter "b" : u8[1] = @0
)");
  Program apart = ProgramWith(R"(
storage @0 = 1 bytes zeros
storage @1 = 1 bytes zeros
parameter "a" : u8[1] = @0
parameter "b" : u8[1] = @1
)");
  const std::string path = ScratchPath("tied.safetensors");
  Diagnostics diags;
  ASSERT_TRUE(WriteWeights(tied, path, {}, diags)) << diags.ToString();
  const auto file = WeightsFile::Open(path, diags);
  ASSERT_TRUE(file) << diags.ToString();
  ReplaceWeightsReport report;
  EXPECT_EQ(Replace(*file, &tied, Allow(false, false), &report), "");
  EXPECT_TRUE(report.notes.empty());
  EXPECT_EQ(Replace(*file, &apart, Allow(false, false), &report), "");
  EXPECT_EQ(report.notes,
            std::vector<std::string>{"'a' and 'b' shared a storage where the "
                                     "file was made; the program keeps them "
                                     "apart"});
}

TEST(ReplaceWeightsTest, RefusesADamagedRecordOfStorages) {
  Program program = ProgramWith(kTied);
  for (const char* record :
       {"", "{}", "[17]", R"([{"bytes": 4}])", R"([{"bytes":4,"views":3}])"}) {
    EXPECT_NE(Replace(FileOf({{"all", Bytes8({1, 2, 3, 4})}},
                             {{"tenon.storages", record}}),
                      &program),
              "")
        << record;
  }
}

TEST(ReplaceWeightsTest, FillsWeightlessStorages) {
  Program program = ProgramWith(R"(
storage @0 = weightless
storage @1 = weightless
parameter "t" : u8[2, 2] strides [1, 2] = @0
constant "c" : u8[1] = @1
)");
  const Tensor t = Bytes8({1, 2, 3, 4}, {2, 2});
  // What has no values needs them, constants too.
  EXPECT_NE(Replace(FileOf({{"t", t}}), &program), "");
  EXPECT_EQ(Replace(FileOf({{"t", t}, {"c", Bytes8({5})}}), &program), "");
  EXPECT_EQ(ValuesOf<uint8_t>(program.state.storages[0]), (Values{1, 3, 2, 4}));
  EXPECT_FALSE(program.state.storages[0].is_weightless);
}

TEST(ReplaceWeightsTest, HalfAWeightlessStorageIsNone) {
  Program program = ProgramWith(R"(
storage @0 = weightless
parameter "a" : u8[2] = @0
parameter "b" : u8[2] offset (2) = @0
)");
  const std::string errors =
      Replace(FileOf({{"a", Bytes8({1, 2})}}), &program, Allow(true, false));
  EXPECT_NE(errors.find("b: the file has no tensor of this name, but others "
                        "of its storage, which has no bytes for it [WGT-01]"),
            std::string::npos)
      << errors;
}

TEST(ReplaceWeightsTest, HugeStoragesOfFewElementsAreRefused) {
  for (const char* stride : {"4611686018427387904", "9223372036854775807"}) {
    Program program = ProgramWith(
        "storage @0 = weightless\nparameter \"a\" : u8[2] strides [" +
        std::string(stride) + "] = @0\n");
    const std::string errors =
        Replace(FileOf({{"a", Bytes8({1, 2})}}), &program);
    EXPECT_NE(errors.find("can't be restored from 2 bytes [T-UNSUPPORTED]"),
              std::string::npos)
        << errors;
  }
}

// Large storages are assembled in a file.
TEST(ReplaceWeightsTest, AssemblesLargeStorages) {
  constexpr int64_t kRows = 1500;
  const std::string n = std::to_string(kRows);
  Program program =
      ProgramWith("storage @0 = weightless\nparameter \"t\" : u8[" + n + ", " +
                  n + "] strides [1, " + n + "] = @0\n");
  Tensor t = Tensor::Zeros(DType::kUInt8, {kRows, kRows});
  for (int64_t i = 0; i < t.numel(); ++i) {
    t.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(i * 7 >> 3);
  }
  EXPECT_EQ(Replace(FileOf({{"t", t}}), &program), "");
  const auto values = ValuesOf<uint8_t>(program.state.storages[0]);
  ASSERT_EQ(values.size(), static_cast<size_t>(kRows * kRows));
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t k = 0; k < kRows; ++k) {
      ASSERT_EQ(values[i + k * kRows], t.data<uint8_t>()[i * kRows + k]);
    }
  }
  // Where no file can be made, it is an error.
  ReplaceWeightsOptions nowhere;
  nowhere.scratch_folder = "/nowhere";
  EXPECT_NE(Replace(FileOf({{"t", t}}), &program, nowhere), "");
}

}  // namespace
}  // namespace tenon
