// Programs with very many parts, and weights that memory wouldn't hold. What
// takes long runs only with TENON_LARGE_TESTS=1, as .ci/run does.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "../../scratch.h"
#include "made.h"
#include "support/mapped_file.h"
#include "testing/generator.h"
#include "text/text.h"

namespace tenon {
namespace {

double SecondsToMake(uint32_t num_nodes) {
  testing::GeneratorOptions options;
  options.num_nodes = num_nodes;
  const Program program =
      testing::GenerateProgram(options, std::make_shared<Context>());
  Diagnostics diags;
  PteExportReport report;
  const auto begin = std::chrono::steady_clock::now();
  const auto made = MakePte(program, PteExportOptions(), &report, diags);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  EXPECT_TRUE(made) << diags.ToString();
  EXPECT_EQ(report.methods[0].num_instructions, num_nodes);
  return took.count();
}

TEST(LargePte, AMillionInstructionsCostTenTimesAHundredThousand) {
  if (std::getenv("TENON_LARGE_TESTS") == nullptr) {
    GTEST_SKIP() << "takes long; set TENON_LARGE_TESTS=1";
  }
  const double small = SecondsToMake(100'000);
  // Twice as much as linear would be a square's tenth.
  EXPECT_LT(SecondsToMake(1'000'000), 20 * small);
}

constexpr std::string_view kWeight = R"(
storage @0 = 8 bytes hex"0000803f00000040"
parameter "w" : f32[2] = @0
graph @main(%w : f32[2] = parameter "w", %x : f32[2]) {
  %y : f32[2] = aten.mul.Tensor(%x, %w)
  return (%y)
}
)";

TEST(LargePte, AConstantIsWhereItsProgramHasIt) {
  const Program program = Parse(kWeight);
  Diagnostics diags;
  PteExportReport report;
  const auto made = MakePte(program, PteExportOptions(), &report, diags);
  ASSERT_TRUE(made) << diags.ToString();
  const PteSegment& constants = made->segments[made->constants->segment];
  ASSERT_EQ(constants.more.size(), 1u);
  EXPECT_EQ(constants.more[0].bytes.data(),
            program.state.storages[0].bytes.data());
}

// Bytes of memory that no file backs, and that of all pages.
struct Resident {
  size_t anonymous = 0, peak = 0;
};
Resident ResidentBytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  Resident out;
  while (status >> word) {
    if (word == "RssAnon:") status >> out.anonymous;
    if (word == "VmHWM:") status >> out.peak;
  }
  return {out.anonymous * 1024, out.peak * 1024};
}

TEST(LargePte, WeightsPassThroughNoMemory) {
  if (std::getenv("TENON_LARGE_TESTS") == nullptr) {
    GTEST_SKIP() << "writes 1 GiB; set TENON_LARGE_TESTS=1";
  }
  constexpr int64_t kRows = 256 << 10;
  constexpr size_t kBytes = size_t{kRows} * 4096;
  const std::string blob = ScratchPath("weights");
  {
    std::ofstream out(blob, std::ios::binary);
    const std::string row(4096, 'w');
    for (int64_t i = 0; i < kRows; ++i) {
      out << row.substr(8);
      out.write(reinterpret_cast<const char*>(&i), sizeof(i));
    }
  }
  std::string error;
  const auto file = MappedFile::Open(blob, &error);
  ASSERT_NE(file, nullptr) << error;
  Diagnostics diags;
  auto program =
      ParseProgram(R"(tenon 1
storage @0 = 0 bytes zeros
parameter "w" : f32[262144, 1024] = @0
graph @main(%w : f32[262144, 1024] = parameter "w", %x : f32[1, 1024]) {
  %y : f32[1, 262144] = aten.linear.default(%x, %w)
  return (%y)
}
)",
                   "test", std::make_shared<Context>(), PayloadSource(), diags);
  ASSERT_TRUE(program) << diags.ToString();
  ASSERT_EQ(file->bytes().size(), kBytes);
  program->state.storages[0].bytes = file->bytes();
  program->state.storages[0].owner = file;
  const Resident before = ResidentBytes();
  ASSERT_TRUE(
      ExportPte(*program, ScratchPath("large.pte"), PteExportOptions(), diags))
      << diags.ToString();
  const Resident after = ResidentBytes();
  EXPECT_LT(after.anonymous, before.anonymous + (size_t{64} << 20));
  EXPECT_LT(after.peak, before.peak + (size_t{128} << 20));
}

}  // namespace
}  // namespace tenon
