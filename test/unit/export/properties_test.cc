// Properties of the export pipeline over random programs.
#include <gtest/gtest.h>

#include "analysis/digest.h"
#include "backends/backend.h"
#include "export/export.h"
#include "link/join.h"
#include "link/lift.h"
#include "property.h"

namespace tenon {
namespace {

std::string CheckSame(const Program& program, const Program& source) {
  const std::string refusal = WhyRefused(program);
  if (!refusal.empty()) return refusal;
  return WiringDigest(program) == WiringDigest(source) ? "" : "another digest";
}

// Cut at random and joined or delegated.
std::string CheckExport(const Program& source, uint64_t seed,
                        const Backend* backend, Program* result) {
  ExportOptions options;
  if (backend != nullptr) {
    options.backends.emplace_back();
    options.backends.back().backend = backend;
  }
  options.num_random_colors = 1 + static_cast<uint32_t>(seed % 7);
  options.cut_seed = seed;
  Diagnostics diags;
  *result = source.Clone();
  if (!ExportProgram(result, options, diags)) return diags.ToString();
  return CheckSame(*result, source);
}

TEST(Properties, P7CuttingAndJoiningIsTheIdentity) {
  ForRandomPrograms(200, false, [](const Program& source, uint64_t seed) {
    Program program = source.Clone();
    const std::string why = CheckExport(source, seed, nullptr, &program);
    if (!why.empty()) return why;
    return TextOf(program) == TextOf(source) ? std::string()
                                             : "another text than before";
  });
}

TEST(Properties, T2DelegatingAnythingAnywhereKeepsDigestAndResults) {
  ForRandomPrograms(60, false, [](const Program& source, uint64_t seed) {
    Program program = source.Clone();
    const std::string why =
        CheckExport(source, seed, FindBackend("echo"), &program);
    if (!why.empty()) return why;
    return Difference(RunTwice(source, seed), RunTwice(program, seed));
  });
}

TEST(Properties, L9LiftAndUnliftAreInverse) {
  ForRandomPrograms(100, false, [](const Program& source, uint64_t) {
    Program program = source.Clone();
    Diagnostics diags;
    Unlift(&program);
    const std::string why = CheckSame(program, source);
    if (!why.empty()) return "unlifted: " + why;
    if (!Lift(&program, diags)) return diags.ToString();
    return CheckSame(program, source);
  });
}

TEST(Properties, J7JoiningChildrenKeepsDigestAndResults) {
  ForRandomPrograms(60, true, [](const Program& source, uint64_t seed) {
    Program program = source.Clone();
    Diagnostics diags;
    if (!JoinAll(&program, diags)) return diags.ToString();
    for (const NodeId n : program.nodes(Program::kRoot)) {
      if (program.node(n).kind == NodeKind::kChildCall) {
        return std::string("a call is left");
      }
    }
    const std::string why = CheckSame(program, source);
    if (!why.empty()) return why;
    return Difference(RunTwice(source, seed), RunTwice(program, seed));
  });
}

TEST(Properties, T2TextFormIsTheIdentity) {
  ForRandomPrograms(100, true, [](const Program& source, uint64_t) {
    const std::string text = TextOf(source);
    Diagnostics diags;
    auto parsed = ParseProgram(text, "random", std::make_shared<Context>(),
                               PayloadSource(), diags);
    if (!parsed) return diags.ToString();
    if (TextOf(*parsed) != text) return std::string("another text");
    return CheckSame(*parsed, source);
  });
}

// Two programs of one seed are one program, to the last byte.
TEST(Properties, P1TheSameCutTwice) {
  ForRandomPrograms(20, false, [](const Program& source, uint64_t seed) {
    Program first = source.Clone(), second = source.Clone();
    for (Program* program : {&first, &second}) {
      const std::string why =
          CheckExport(source, seed, FindBackend("echo"), program);
      if (!why.empty()) return why;
    }
    return TextOf(first) == TextOf(second) ? std::string() : "two results";
  });
}

}  // namespace
}  // namespace tenon
