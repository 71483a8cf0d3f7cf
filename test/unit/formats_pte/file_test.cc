// Files: read and written back, damaged, of odd layouts.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "formats/pte/ptd.h"
#include "formats/pte/pte.h"
#include "sample_program.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

class PteFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("tenon-pte-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ / name; }

  static std::string Load(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string WriteToText(const PteProgram& program,
                          const PteWriteOptions& options = {},
                          PteWriteReport* report = nullptr) {
    Diagnostics diags;
    const auto written = WritePte(program, Path("w.pte"), options, diags);
    EXPECT_TRUE(written) << diags.ToString();
    if (written && report != nullptr) *report = *written;
    return Load(Path("w.pte"));
  }

  static Expected<PteProgram> ReadText(const std::string& text,
                                       Diagnostics& diags) {
    return ReadPte(AsBytes(text), nullptr, "x.pte", diags);
  }

  // Reading `text` fails by this rule.
  static void ExpectError(Rule rule, const std::string& text) {
    Diagnostics diags;
    EXPECT_FALSE(ReadText(text, diags));
    ASSERT_EQ(diags.num_errors(), 1u) << diags.ToString();
    EXPECT_EQ(RuleId(diags.all()[0].rule), RuleId(rule)) << diags.ToString();
  }

  // The sample as a file, with a number put at `offset`.
  template <typename T>
  std::string Patched(size_t offset, T number) {
    std::string text = WriteToText(SampleProgram().program);
    std::memcpy(text.data() + offset, &number, sizeof number);
    return text;
  }

  fs::path folder_;
};

template <typename T>
T NumberAt(const std::string& text, size_t offset) {
  T number;
  std::memcpy(&number, text.data() + offset, sizeof number);
  return number;
}

constexpr size_t kLengthAt = 12, kProgramSizeAt = 16, kBaseAt = 24,
                 kDataSizeAt = 32;

TEST_F(PteFile, ReadWriteReadIsTheIdentity) {
  size_t num_files = 0;
  for (const auto& entry : fs::directory_iterator("test/data/pte")) {
    if (entry.path().extension() != ".pte") continue;
    ++num_files;
    Diagnostics diags;
    const auto first = ReadPte(entry.path(), diags);
    ASSERT_TRUE(first) << diags.ToString();
    const std::string text = WriteToText(*first);
    const auto second = ReadText(text, diags);
    ASSERT_TRUE(second) << diags.ToString();
    EXPECT_TRUE(*first == *second) << entry.path();
    EXPECT_EQ(WriteToText(*second), text) << entry.path();
  }
  EXPECT_GE(num_files, 10u);
}

TEST_F(PteFile, EveryFieldSurvives) {
  SampleProgram sample;
  PtePlan& plan = sample.plan();
  plan.convention = PteConvention{"T1#1($)", "$"};
  plan.arena_devices = {{1, PteDevice::kCuda, -1}};
  PteTensor& t = sample.tensor(SampleProgram::kX);
  t.storage_offset = -5;
  t.requires_grad = true;
  t.layout = 1;
  t.shape = PteShape::kBounded;
  t.allocation = PteAllocation{7, (uint64_t{3} << 32) + 9};
  t.extra =
      PteTensorExtra{11, "a.b", PteTensorPlace::kExternal, PteDevice::kCuda, 2};
  sample.Add(PteContent(PteNull()));
  sample.Add(PteDouble{-0.0});
  sample.Add(PteDouble{std::numeric_limits<double>::quiet_NaN()});
  sample.Add(PteString{std::string("a\0b", 3)});
  sample.Add(PteDoubleList{{1.5, -0.0}});
  sample.Add(PteBoolList{{true, false, true}});
  sample.Add(PteOptionalTensorList{{-1, 0}});
  sample.Add(PteFreeCall{3});
  plan.chains[0].inputs = {1};
  plan.chains[0].outputs = {2, 3};
  plan.chains[0].stack_traces = {{{{"f.py", 12, "forward", "x + 1"}}}};
  sample.program.inline_constants = {{BlobOf("c")}};
  sample.program.inline_payloads = {{BlobOf("")}, {BlobOf("payload")}};
  sample.program.plans.emplace_back();
  Diagnostics diags;
  const std::string text = WriteToText(sample.program);
  const auto read = ReadText(text, diags);
  ASSERT_TRUE(read) << diags.ToString();
  EXPECT_TRUE(*read == sample.program);
}

TEST_F(PteFile, SegmentsLieWhereTheyAreAligned) {
  SampleProgram sample;
  sample.program.segments[1].alignment = 4096;
  sample.program.segments.insert(sample.program.segments.begin() + 1,
                                 PteSegment());
  PteWriteReport report;
  const std::string text = WriteToText(sample.program, {}, &report);
  const uint64_t base = NumberAt<uint64_t>(text, kBaseAt);
  EXPECT_EQ(base % 4096, 0u);
  EXPECT_GE(base, NumberAt<uint64_t>(text, kProgramSizeAt));
  EXPECT_EQ(text.size(), base + NumberAt<uint64_t>(text, kDataSizeAt));
  EXPECT_EQ(report.file_bytes, text.size());
  // 24 bytes; nothing; 4 bytes on the next page; 7 bytes 128 behind them.
  EXPECT_EQ(report.segment_bytes, 4096u + 128 + 7);
  EXPECT_EQ(text.substr(base + 4096 + 128), "payload");
  Diagnostics diags;
  const auto read = ReadText(text, diags);
  ASSERT_TRUE(read) << diags.ToString();
  EXPECT_EQ(WriteToText(*read), text);
}

TEST_F(PteFile, WithoutSegmentDataThereIsNoHeader) {
  SampleProgram sample;
  sample.program.segments.assign(3, PteSegment());
  const std::string text = WriteToText(sample.program);
  EXPECT_NE(text.substr(8, 4), "eh00");
  Diagnostics diags;
  const auto read = ReadText(text, diags);
  ASSERT_TRUE(read) << diags.ToString();
  EXPECT_EQ(read->segments.size(), 3u);
}

// K6-15: a payload above the limit moves out of the tables.
TEST_F(PteFile, LargePayloadsBecomeSegments) {
  SampleProgram sample;
  const std::string large(5 << 20, 'L');
  sample.program.inline_payloads = {
      {BlobOf("small")}, {BlobOf(large)}, {BlobOf("after")}};
  PtePlan& plan = sample.plan();
  plan.delegates.resize(3, plan.delegates[0]);
  for (uint32_t i = 0; i < 3; ++i) {
    plan.delegates[i].payload = {PtePayloadPlace::kInline, i};
  }
  PteWriteOptions options;
  options.inline_limit_bytes = 1 << 20;
  PteWriteReport report;
  std::string text = WriteToText(sample.program, options, &report);
  EXPECT_EQ(report.num_moved_payloads, 1u);
  EXPECT_LT(report.table_bytes, uint64_t{1} << 20);
  Diagnostics diags;
  auto read = ReadText(text, diags);
  ASSERT_TRUE(read) << diags.ToString();
  ASSERT_EQ(read->segments.size(), 4u);
  EXPECT_EQ(AsText(read->segments[3].bytes), large);
  EXPECT_EQ((AsText(read->segments[3].bytes).data() - text.data()) % 128, 0);
  const auto& delegates = read->plans[0].delegates;
  EXPECT_EQ(delegates[0].payload, (PtePayloadRef{PtePayloadPlace::kInline, 0}));
  EXPECT_EQ(delegates[1].payload,
            (PtePayloadRef{PtePayloadPlace::kSegment, 3}));
  EXPECT_EQ(delegates[2].payload, (PtePayloadRef{PtePayloadPlace::kInline, 1}));
  EXPECT_EQ(AsText(read->inline_payloads[1].data.bytes), "after");

  // Below the limit it may stay, aligned.
  options.inline_limit_bytes = 8 << 20;
  text = WriteToText(sample.program, options, &report);
  EXPECT_EQ(report.num_moved_payloads, 0u);
  read = ReadText(text, diags);
  ASSERT_TRUE(read) << diags.ToString();
  EXPECT_TRUE(*read == sample.program);
  EXPECT_EQ(
      (AsText(read->inline_payloads[1].data.bytes).data() - text.data()) % 16,
      0);
}

TEST_F(PteFile, NothingAppearsWhenTheCheckFails) {
  PteWriteOptions options;
  options.check = [](const std::string& path, const std::string&) {
    EXPECT_TRUE(fs::exists(path));
    return Status(Failure{});
  };
  Diagnostics diags;
  EXPECT_FALSE(
      WritePte(SampleProgram().program, Path("n.pte"), options, diags));
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_FALSE(
      WritePte(SampleProgram().program, Path("no/where.pte"), {}, diags));
  EXPECT_EQ(diags.all()[0].rule, Rule::kIo);
}

TEST_F(PteFile, V_PTE_01_IdentifierAndLength) {
  ExpectError(Rule::kPte01, "");
  ExpectError(Rule::kPte01, std::string(63, '\0'));
  ExpectError(Rule::kPte01, Patched<char>(7, '3'));
}

TEST_F(PteFile, V_PTE_02_ExtendedHeader) {
  ExpectError(Rule::kPte02, Patched<uint32_t>(kLengthAt, 23));
  ExpectError(Rule::kPte02, Patched<uint64_t>(kProgramSizeAt, 1 << 20));
  ExpectError(Rule::kPte02, Patched<uint64_t>(kBaseAt, 64));
  ExpectError(Rule::kPte02, Patched<uint64_t>(kBaseAt, ~uint64_t{127}));
  ExpectError(Rule::kPte02, Patched<uint64_t>(kDataSizeAt, 1 << 20));
  ExpectError(Rule::kPte02, Patched<uint64_t>(kDataSizeAt, ~uint64_t{0}));
  // The first version of the header had no size of the segment data.
  Diagnostics diags;
  std::string text = Patched<uint32_t>(kLengthAt, 24);
  std::memset(text.data() + kDataSizeAt, 0xff, 8);
  EXPECT_TRUE(ReadText(text, diags)) << diags.ToString();
}

TEST_F(PteFile, V_PTE_03_TablesInsideTheProgram) {
  const std::string text = WriteToText(SampleProgram().program);
  const uint32_t root = NumberAt<uint32_t>(text, 0);
  ExpectError(Rule::kPte03, Patched<uint32_t>(0, 1 << 30));
  ExpectError(Rule::kPte03, Patched<uint32_t>(0, 0));
  ExpectError(Rule::kPte03, Patched<uint32_t>(0, root + 1));
  ExpectError(Rule::kPte03, Patched<int32_t>(root, -(1 << 30)));
  ExpectError(Rule::kPte03, Patched<uint32_t>(root + 4, 1 << 30));
  const uint32_t vtable = root - NumberAt<int32_t>(text, root);
  ExpectError(Rule::kPte03, Patched<uint16_t>(vtable, 3));
  ExpectError(Rule::kPte03, Patched<uint16_t>(vtable, 0xfffe));
  ExpectError(Rule::kPte03, Patched<uint16_t>(vtable + 2, 0xffff));
  ExpectError(Rule::kPte03, Patched<uint16_t>(vtable + 6, 0x7fff));
  const size_t name = text.find("forward");
  ExpectError(Rule::kPte03, Patched<char>(name + 7, 'x'));
  ExpectError(Rule::kPte03, Patched<uint32_t>(name - 4, ~uint32_t{0}));
}

// Every other byte of a small file: an error or a program, never a crash.
TEST_F(PteFile, V_PTE_03_DamageIsNeverACrash) {
  const std::string text = WriteToText(SampleProgram().program);
  size_t num_refused = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      Diagnostics diags;
      num_refused += !ReadText(damaged, diags);
    }
  }
  EXPECT_GT(num_refused, 100u);
  for (size_t size = 0; size < text.size(); size += 3) {
    Diagnostics diags;
    EXPECT_FALSE(ReadText(text.substr(0, size), diags));
  }
}

// One plan, referred to many times: a small file that stands for a large one.
TEST_F(PteFile, V_PTE_03_SharedObjectsHaveABound) {
  SampleProgram sample;
  sample.program.plans.resize(64);
  std::string text = WriteToText(sample.program);
  const uint32_t root = NumberAt<uint32_t>(text, 0);
  const uint32_t vtable = root - NumberAt<int32_t>(text, root);
  const uint32_t field = root + NumberAt<uint16_t>(text, vtable + 6);
  const uint32_t plans = field + NumberAt<uint32_t>(text, field);
  ASSERT_EQ(NumberAt<uint32_t>(text, plans), 64u);
  const uint32_t first = plans + 4 + NumberAt<uint32_t>(text, plans + 4);
  for (uint32_t i = 0; i < 64; ++i) {
    const uint32_t at = plans + 4 + 4 * i;
    const uint32_t offset = first - at;
    std::memcpy(text.data() + at, &offset, sizeof offset);
  }
  ExpectError(Rule::kPte03, text);
}

TEST_F(PteFile, V_PTE_04_KnownKinds) {
  SampleProgram sample;
  sample.tensor(0).type = static_cast<PteScalarType>(77);
  ExpectError(Rule::kPte04, WriteToText(sample.program));
  sample.tensor(0).type = PteScalarType::kFloat;
  sample.plan().delegates[0].payload.place = static_cast<PtePayloadPlace>(2);
  ExpectError(Rule::kPte04, WriteToText(sample.program));
}

// Clears the entry of a root field in its vtable: the field is absent.
TEST_F(PteFile, V_PTE_05_RequiredFields) {
  const std::string text = WriteToText(SampleProgram().program);
  const uint32_t root = NumberAt<uint32_t>(text, 0);
  const uint32_t vtable = root - NumberAt<int32_t>(text, root);
  ExpectError(Rule::kPte05, Patched<uint16_t>(vtable + 6, 0));
  // Constants may be absent; the program is then without them.
  Diagnostics diags;
  const std::string without = Patched<uint16_t>(vtable + 14, 0);
  const auto read = ReadText(without, diags);
  ASSERT_TRUE(read) << diags.ToString();
  EXPECT_FALSE(read->constants);
}

TEST_F(PteFile, V_PTE_06_SchemaVersion) {
  SampleProgram sample;
  sample.program.version = 7;
  ExpectError(Rule::kPte06, WriteToText(sample.program));
}

TEST_F(PteFile, V_PTE_07_SegmentsInsideTheData) {
  ExpectError(Rule::kPte07, Patched<uint64_t>(kDataSizeAt, 130));
  ExpectError(Rule::kPte07, Patched<uint32_t>(8, 0));  // no header
}

TEST_F(PteFile, DataFilesReadWriteRead) {
  Diagnostics diags;
  const auto first = ReadPtd("test/data/pte/external.ptd", diags);
  ASSERT_TRUE(first) << diags.ToString();
  EXPECT_FALSE(first->entries.empty());
  ASSERT_TRUE(WritePtd(*first, Path("w.ptd"), diags)) << diags.ToString();
  const auto second = ReadPtd(Path("w.ptd"), diags);
  ASSERT_TRUE(second) << diags.ToString();
  EXPECT_TRUE(*first == *second);

  const std::string text = Load(Path("w.ptd"));
  const auto expect = [](Rule rule, std::string damaged, size_t at,
                         uint64_t number) {
    std::memcpy(damaged.data() + at, &number, sizeof number);
    Diagnostics found;
    EXPECT_FALSE(ReadPtd(AsBytes(damaged), nullptr, "x.ptd", found));
    ASSERT_EQ(found.num_errors(), 1u) << found.ToString();
    EXPECT_EQ(RuleId(found.all()[0].rule), RuleId(rule)) << found.ToString();
  };
  expect(Rule::kPte01, text, 4, 0);
  expect(Rule::kPte02, text, 8, 0);
  expect(Rule::kPte02, text, 24, ~uint64_t{0});
  expect(Rule::kPte02, text, 32, 48);
  expect(Rule::kPte02, text, 40, ~uint64_t{0});
  expect(Rule::kPte03, text, 24, 16);
  expect(Rule::kPte07, text, 40, 8);
  Diagnostics found;
  EXPECT_FALSE(ReadPtd(AsBytes(text.substr(0, 60)), nullptr, "x.ptd", found));
}

}  // namespace
}  // namespace tenon
