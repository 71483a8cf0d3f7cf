// What must hold of every program's weights, on programs that the generator
// makes.
#include "../../scratch.h"
#include "analysis/digest.h"
#include "programs.h"
#include "testing/generator.h"
#include "weights/replace_weights.h"
#include "weights/state_digest.h"
#include "weights/strip_weights.h"
#include "weights/write_weights.h"

namespace tenon {
namespace {

using testing::ProgramShape;

Program Generate(ProgramShape shape, uint64_t seed) {
  testing::GeneratorOptions options;
  options.shape = shape;
  options.num_nodes = 40;
  options.seed = seed;
  return testing::GenerateProgram(options, std::make_shared<Context>());
}

WeightsFile Write(const Program& program, const WriteWeightsOptions& options) {
  const std::string path = ScratchPath("generated.safetensors");
  Diagnostics diags;
  EXPECT_TRUE(WriteWeights(program, path, options, diags)) << diags.ToString();
  auto file = WeightsFile::Open(path, diags);
  EXPECT_TRUE(file.ok()) << diags.ToString();
  return std::move(*file);
}

class GeneratedWeights : public ::testing::TestWithParam<ProgramShape> {};

TEST_P(GeneratedWeights, ToAndFromIsIdentity) {
  size_t num_tensors = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    for (const bool once : {false, true}) {
      const Program program = Generate(GetParam(), seed);
      WriteWeightsOptions options;
      options.with_constants = true;
      options.once = once;
      const WeightsFile file = Write(program, options);
      num_tensors += file.items().size();
      Program again = program.Clone();
      Diagnostics diags;
      ASSERT_TRUE(ReplaceWeights(file, {}, &again, diags)) << diags.ToString();
      EXPECT_EQ(TextOf(again), TextOf(program)) << "seed " << seed;
    }
  }
  const bool has_weights = GetParam() == ProgramShape::kLayers ||
                           GetParam() == ProgramShape::kRandom;
  EXPECT_EQ(num_tensors > 0, has_weights);
}

TEST_P(GeneratedWeights, WhatIsStrippedIsPutBack) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    for (const bool constants : {false, true}) {
      const Program program = Generate(GetParam(), seed);
      WriteWeightsOptions write;
      write.with_constants = constants;
      const WeightsFile file = Write(program, write);
      Program stripped = program.Clone();
      StripOptions strip;
      strip.with_constants = constants;
      Diagnostics diags;
      const auto report = StripWeights(strip, &stripped, diags);
      ASSERT_TRUE(report) << diags.ToString();
      EXPECT_EQ(WiringDigest(stripped), WiringDigest(program));
      const auto restored = ReplaceWeights(file, {}, &stripped, diags);
      ASSERT_TRUE(restored) << diags.ToString();
      EXPECT_EQ(restored->stripped, ReplaceWeightsReport::Stripped::kSame);
      EXPECT_EQ(StateDigest(stripped), StateDigest(program));
      // Also where no tensor reaches, if nothing was said.
      if (report->notes.empty()) {
        EXPECT_EQ(TextOf(stripped), TextOf(program));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, GeneratedWeights,
                         ::testing::Values(ProgramShape::kChain,
                                           ProgramShape::kDiamond,
                                           ProgramShape::kWide,
                                           ProgramShape::kLayers,
                                           ProgramShape::kRandom));

}  // namespace
}  // namespace tenon
