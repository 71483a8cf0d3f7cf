#include "weights/strip_weights.h"

#include <filesystem>

#include "../../scratch.h"
#include "analysis/digest.h"
#include "formats/pt2/pt2.h"
#include "formats/pt2/stripped.h"
#include "programs.h"
#include "weights/replace_weights.h"
#include "weights/write_weights.h"

namespace tenon {
namespace {

const char* const kState = R"(
storage @0 = 4 bytes hex"01020304"
storage @1 = 8 bytes hex"0100020003000400"
storage @2 = 4 bytes hex"00000040"
parameter "a" : u8[4] = @0
parameter "tied" : u8[4] = @0
buffer "t" : i16[2, 2] strides [1, 2] = @1
constant "c" : f32[] = @2
)";

StripReport Strip(const StripOptions& options, Program* program) {
  Diagnostics diags;
  auto report = StripWeights(options, program, diags);
  EXPECT_TRUE(report.ok()) << diags.ToString();
  return report ? std::move(*report) : StripReport();
}

std::string BytesOfFile(const std::string& path) {
  const auto size = std::filesystem::file_size(path);
  std::string text(size, '\0');
  FILE* const file = std::fopen(path.c_str(), "rb");
  EXPECT_EQ(std::fread(text.data(), 1, size, file), size);
  std::fclose(file);
  return text;
}

void WriteFile(const Program& program, const std::string& path) {
  Pt2WriteOptions options;
  options.root = "model";
  Diagnostics diags;
  ASSERT_TRUE(WritePt2(program, path, options, diags)) << diags.ToString();
}

Expected<Program> ReadFile(const std::string& path, Diagnostics& diags) {
  return ReadPt2(path, std::make_shared<Context>(), Pt2ReadOptions(), diags);
}

TEST(StripWeightsTest, EmptiesTheStoragesOfTheStateDict) {
  Program program = ProgramWith(kState);
  const Digest wiring = WiringDigest(program);
  const StripReport report = Strip({}, &program);
  EXPECT_EQ(report.num_tensors, 3u);
  EXPECT_EQ(report.bytes, 12u);
  EXPECT_TRUE(report.notes.empty());
  EXPECT_TRUE(IsStripped(program));
  EXPECT_TRUE(program.state.storages[0].is_weightless);
  EXPECT_TRUE(program.state.storages[1].is_weightless);
  EXPECT_FALSE(program.state.storages[2].is_weightless);
  EXPECT_EQ(program.state.entries[1].storage, StorageId(0u));
  EXPECT_EQ(WiringDigest(program), wiring);
}

TEST(StripWeightsTest, ConstantsOnDemandAlsoLater) {
  Program program = ProgramWith(kState);
  StripOptions all;
  all.with_constants = true;
  Strip({}, &program);
  const StripReport report = Strip(all, &program);
  EXPECT_EQ(report.num_tensors, 1u);
  EXPECT_TRUE(program.state.storages[2].is_weightless);
}

// The file opens without being asked for, says what it is, and gets the same
// bytes back.
TEST(StripWeightsTest, IsPutBackByteForByte) {
  for (const bool with_constants : {false, true}) {
    const std::string original = ScratchPath("original.pt2");
    const std::string weights = ScratchPath("weights.safetensors");
    const std::string stripped = ScratchPath("stripped.pt2");
    const std::string restored = ScratchPath("restored.pt2");
    Program program = ProgramWith(kState);
    WriteFile(program, original);
    Diagnostics diags;
    WriteWeightsOptions write;
    write.with_constants = with_constants;
    ASSERT_TRUE(WriteWeights(program, weights, write, diags));
    StripOptions strip;
    strip.with_constants = with_constants;
    Strip(strip, &program);
    WriteFile(program, stripped);
    auto back = ReadFile(stripped, diags);
    ASSERT_TRUE(back) << diags.ToString();
    EXPECT_TRUE(IsStripped(*back));
    const auto file = WeightsFile::Open(weights, diags);
    ASSERT_TRUE(file) << diags.ToString();
    const auto report = ReplaceWeights(*file, {}, &*back, diags);
    ASSERT_TRUE(report) << diags.ToString();
    EXPECT_EQ(report->stripped, ReplaceWeightsReport::Stripped::kSame);
    EXPECT_FALSE(IsStripped(*back));
    WriteFile(*back, restored);
    EXPECT_EQ(BytesOfFile(restored), BytesOfFile(original));
  }
}

TEST(StripWeightsTest, OtherWeightsAreToldApart) {
  Program program = ProgramWith(kState);
  const std::string weights = ScratchPath("other.safetensors");
  Program other = ProgramWith(kState);
  const auto changed = std::make_shared<std::vector<std::byte>>(4);
  other.state.storages[0].bytes = *changed;
  other.state.storages[0].owner = changed;
  Diagnostics diags;
  ASSERT_TRUE(WriteWeights(other, weights, {}, diags)) << diags.ToString();
  Strip({}, &program);
  const auto file = WeightsFile::Open(weights, diags);
  ASSERT_TRUE(file) << diags.ToString();
  const auto report = ReplaceWeights(*file, {}, &program, diags);
  ASSERT_TRUE(report) << diags.ToString();
  EXPECT_EQ(report->stripped, ReplaceWeightsReport::Stripped::kOther);
}

TEST(StripWeightsTest, StaysStrippedWithoutAllWeights) {
  Program program = ProgramWith(kState);
  const std::string weights = ScratchPath("dict.safetensors");
  Diagnostics diags;
  ASSERT_TRUE(WriteWeights(program, weights, {}, diags)) << diags.ToString();
  StripOptions all;
  all.with_constants = true;
  Strip(all, &program);
  const auto file = WeightsFile::Open(weights, diags);
  ReplaceWeightsOptions options;
  options.allow_missing = true;
  const auto report = ReplaceWeights(*file, options, &program, diags);
  ASSERT_TRUE(report) << diags.ToString();
  EXPECT_EQ(report->stripped, ReplaceWeightsReport::Stripped::kStillStripped);
  EXPECT_TRUE(IsStripped(program));
}

TEST(StripWeightsTest, SaysWhatCantBePutBack) {
  Program program = ProgramWith(R"(
storage @0 = 4 bytes hex"01020304"
storage @1 = 4 bytes hex"01020304"
parameter "a" : u8[2] offset (1) = @0
parameter "b" : u8[2] offset (2) = @1
parameter "b2" : u8[3] = @1
)");
  EXPECT_EQ(Strip({}, &program).notes,
            std::vector<std::string>{
                "the storage of 'a' isn't filled by gapless tensors: bytes "
                "that none of them reaches can't be put back"});
}

TEST(StripWeightsTest, DropsRecordsThatNothingRefersTo) {
  Program program = ProgramWith(kState);
  program.file.members.push_back({"data/weights/weight_9", {}, nullptr});
  program.file.members.push_back({"extra/note", {}, nullptr});
  EXPECT_EQ(Strip({}, &program).notes.size(), 1u);
  EXPECT_EQ(program.file.members.size(), 2u);  // the note and the mark
}

TEST(StripWeightsTest, RefusesByName) {
  Program pickled = ProgramWith(
      "storage @0 = 4 bytes zeros\nbuffer \"p\" : f32[1] = @0 pickled\n");
  Program shared = ProgramWith(
      "storage @0 = 4 bytes zeros\nbuffer \"w\" : f32[1] = @0\n"
      "constant \"c\" : f32[1] = @0\n");
  Program methods = ProgramWith(kState);
  methods.file.members.push_back({"models/other.json", {}, nullptr});
  const std::pair<Program*, const char*> cases[] = {
      {&pickled, "p: this tensor is a pickled object"},
      {&shared, "w: its storage is that of constant 'c', too"},
      {&methods, "models/other.json: the file holds this method, too"},
  };
  for (const auto& [program, message] : cases) {
    const std::string before = TextOf(*program);
    Diagnostics diags;
    EXPECT_FALSE(StripWeights({}, program, diags));
    EXPECT_NE(diags.ToString().find(message), std::string::npos)
        << diags.ToString();
    EXPECT_EQ(TextOf(*program), before);
  }
}

// Without the mark an empty record is damage, and the mark is checked.
TEST(StripWeightsTest, TheMarkIsRead) {
  const auto restore = [](const std::string& mark, Diagnostics& diags) {
    Program program =
        ProgramWith("storage @0 = weightless\nparameter \"a\" : u8[1] = @0\n");
    const auto text = std::make_shared<std::string>(mark);
    program.file.members.push_back(
        {std::string(kStrippedMember), AsBytes(*text), text});
    Safetensors content;
    content.tensors.push_back({"a", Tensor::Zeros(DType::kUInt8, {1})});
    const std::string path = ScratchPath("mark.safetensors");
    EXPECT_TRUE(WriteSafetensors(path, content, diags));
    const auto file = WeightsFile::Open(path, diags);
    const bool is_restored = ReplaceWeights(*file, {}, &program, diags).ok();
    EXPECT_EQ(program.state.storages[0].is_weightless, !is_restored);
    return is_restored;
  };
  const std::string digest(32, '0');
  Diagnostics diags;
  EXPECT_TRUE(
      restore(R"({"version": 1, "state_digest": ")" + digest + "\"}", diags))
      << diags.ToString();
  const std::string damaged[] = {
      "",
      "[]",
      "{}",
      R"({"version": 2, "state_digest": ")" + digest + "\"}",
      R"({"version": 1, "state_digest": "00"})",
      R"({"version": 1, "state_digest": 17})"};
  for (const std::string& mark : damaged) {
    Diagnostics errors;
    EXPECT_FALSE(restore(mark, errors)) << mark;
    EXPECT_EQ(errors.num_errors(), 1u) << mark;
  }
}

}  // namespace
}  // namespace tenon
