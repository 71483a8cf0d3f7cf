// Properties of passes over random programs.
#include <gtest/gtest.h>

#include "../export/property.h"
#include "analysis/digest.h"
#include "passes/remove_dead_code.h"
#include "passes/rewrite.h"

namespace tenon {
namespace {

// Results, and the state dict; constants come and go.
Outcome RunBoth(const Program& program, uint64_t seed) {
  Outcome out = RunTwice(program, seed);
  std::vector<Tensor> kept;
  size_t next = 0;
  for (const StateEntry& entry : program.state.entries) {
    if (entry.kind == StateKind::kObject || next == out.state.size()) continue;
    if (entry.kind != StateKind::kConstant) kept.push_back(out.state[next]);
    ++next;
  }
  out.state = std::move(kept);
  return out;
}

uint64_t StateBytes(const Program& program) {
  uint64_t bytes = 0;
  for (const StorageRecord& s : program.state.storages) bytes += s.bytes.size();
  return bytes;
}

FoldConstantsOptions AllConstants() {
  FoldConstantsOptions options;
  options.weights = true;
  options.max_growth_bytes = uint64_t{1} << 40;
  return options;
}

TEST(Passes, T3FoldedProgramsGiveTheSameResults) {
  uint32_t num_folded = 0;
  ForRandomPrograms(150, true, [&](const Program& source, uint64_t seed) {
    for (const bool weights : {false, true}) {
      Program program = source.Clone();
      Diagnostics diags;
      FoldConstantsOptions options = AllConstants();
      options.weights = weights;
      const auto report = FoldConstants(&program, options, diags);
      if (!report) return diags.ToString();
      num_folded += report->num_nodes;
      std::string why = WhyRefused(program);
      if (why.empty()) {
        why = Difference(RunBoth(source, seed), RunBoth(program, seed));
      }
      if (!why.empty()) return why;
      const auto again = FoldConstants(&program, options, diags);
      if (!again || again->num_nodes > 0) return std::string("not all at once");
    }
    return std::string();
  });
  EXPECT_GT(num_folded, 100u);
}

TEST(Passes, GrowthStaysInsideItsLimit) {
  ForRandomPrograms(60, false, [](const Program& source, uint64_t seed) {
    Program program = source.Clone();
    Diagnostics diags;
    FoldConstantsOptions options = AllConstants();
    options.max_growth_bytes = seed % 3 * 40;
    const auto report = FoldConstants(&program, options, diags);
    if (!report) return diags.ToString();
    return StateBytes(program) <= StateBytes(source) + options.max_growth_bytes
               ? std::string()
               : "grew from " + std::to_string(StateBytes(source)) + " to " +
                     std::to_string(StateBytes(program));
  });
}

TEST(Passes, J5CleanProgramsAreTheSamePrograms) {
  uint32_t num_removed = 0;
  ForRandomPrograms(150, true, [&](const Program& source, uint64_t seed) {
    Program program = source.Clone();
    num_removed += RemoveDeadCode(&program).num_nodes;
    std::string why = WhyRefused(program);
    if (!why.empty()) return why;
    if (WiringDigest(program) != WiringDigest(source)) {
      return std::string("another digest");
    }
    if (RemoveDeadCode(&program).num_nodes > 0) {
      return std::string("not all at once");
    }
    return Difference(RunTwice(source, seed), RunTwice(program, seed));
  });
  EXPECT_GT(num_removed, 100u);
}

TEST(Passes, MovedThereAndBackIsTheSameProgram) {
  ForRandomPrograms(100, true, [](const Program& source, uint64_t) {
    Program program = source.Clone();
    Diagnostics diags;
    for (const char* device : {"cuda:0", "cpu"}) {
      MoveDeviceOptions options;
      options.to = *ParseDevice(device, &program.context());
      if (!MoveDevice(&program, options, diags)) return diags.ToString();
      const std::string why = WhyRefused(program);
      if (!why.empty()) return why;
    }
    return TextOf(program) == TextOf(source) ? std::string()
                                             : "another text than before";
  });
}

TEST(Passes, RewriteDoesAllOrNothing) {
  Program program = RandomProgram(1);
  const std::string before = TextOf(program);
  RewriteOptions options;
  options.fold_constants = options.remove_dead_code = true;
  options.output_names = {"no", "such",    "number",
                          "of", "outputs", "not a name"};
  Diagnostics diags;
  EXPECT_FALSE(Rewrite(&program, options, diags));
  EXPECT_EQ(TextOf(program), before);
}

}  // namespace
}  // namespace tenon
