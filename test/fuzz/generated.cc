// Any bytes are a valid program: printed and parsed it is the same, and cut at
// any place and joined again it has the same digest.
#include <algorithm>
#include <array>

#include "analysis/digest.h"
#include "fuzz/program_checks.h"
#include "fuzz/target.h"
#include "link/join.h"
#include "link/outline.h"
#include "testing/choices.h"
#include "testing/generator.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon::fuzz {
namespace {

constexpr size_t kCutBytes = 16;
// Larger programs take longer and show no more.
constexpr size_t kMaxBytes = 1024;
constexpr uint32_t kNumRegions = 3;

void ExpectRules(const Program& program, std::string_view sentence) {
  Diagnostics diags;
  const bool holds = Verify(program, VerifyOptions(), diags).ok();
  Expect(holds, sentence, diags.ToString() + PrintProgram(program, {}));
}

// Each node in one of some regions, or in none.
std::vector<RegionNodes> DrawRegions(const Program& program, Bytes choices) {
  testing::Choices draw(choices);
  std::array<RegionNodes, kNumRegions> regions;
  uint32_t region = draw.Below(kNumRegions + 1);
  for (const NodeId node : program.nodes(Program::kRoot)) {
    if (program.node(node).kind == NodeKind::kOutput) break;
    if (draw.OneIn(4)) region = draw.Below(kNumRegions + 1);
    if (region < kNumRegions) regions[region].nodes.push_back(node);
  }
  std::vector<RegionNodes> out;
  for (RegionNodes& r : regions) {
    if (r.nodes.empty()) continue;
    r.name = "r" + std::to_string(out.size());
    out.push_back(std::move(r));
  }
  return out;
}

void CheckCuts(Program program, Bytes choices) {
  const Digest digest = WiringDigest(program);
  const std::string text = PrintProgram(program, {});
  Diagnostics diags;
  const auto regions = DrawRegions(program, choices);
  if (!OutlineRegions(&program, Program::kRoot, regions, diags)) {
    Expect(PrintProgram(program, {}) == text,
           "a cut that fails changes nothing");
    return;
  }
  ExpectRules(program, "a cut program holds the rules");
  Expect(WiringDigest(program) == digest, "cutting keeps the digest");
  Expect(JoinAll(&program, diags).ok(), "what was cut can be joined",
         diags.ToString());
  ExpectRules(program, "a joined program holds the rules");
  Expect(WiringDigest(program) == digest, "joining keeps the digest");
}

}  // namespace

void FuzzGenerated(Bytes bytes) {
  bytes = bytes.first(std::min(bytes.size(), kMaxBytes));
  const Bytes cuts = bytes.first(std::min(bytes.size(), kCutBytes));
  testing::GeneratorOptions options;
  options.shape = testing::ProgramShape::kRandom;
  options.num_nodes = 1 + bytes.size() / 8;
  options.with_child_calls =
      !cuts.empty() && (cuts[0] & std::byte{1}) != std::byte{0};
  const Program program = testing::GenerateProgram(
      options, bytes.subspan(cuts.size()), std::make_shared<Context>());
  ExpectRules(program, "a generated program holds the rules");
  CheckProgram(program);
  CheckCuts(program.Clone(), cuts);
}

}  // namespace tenon::fuzz
