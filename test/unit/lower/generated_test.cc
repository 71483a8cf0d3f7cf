// Programs that nobody wrote: lowered, they compute the same (T-3), and odd
// numbers in the place of their literals end in an error at worst.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "../export/property.h"
#include "formats/pt2/pt2.h"
#include "lower/lower.h"

namespace tenon {
namespace {

constexpr int64_t kOdd[] = {-1, 0, 1, 7, -9, 1000, INT64_MAX, INT64_MIN};

// All places of int literals among the arguments of the root's nodes.
std::vector<ArgId> IntPlaces(const Program& program) {
  std::vector<ArgId> places;
  for (const NodeId n : program.nodes(Program::kRoot)) {
    if (program.node(n).kind != NodeKind::kOp) continue;
    program.ForEachArg(program.node(n).args, [&](const Arg& a, ArgId id) {
      if (a.kind == ArgKind::kInt) places.push_back(id);
    });
  }
  return places;
}

// "" when both hold the same, floating-point numbers up to rounding.
std::string WhyNotClose(const RuntimeValue& a, const RuntimeValue& b) {
  if (!a.is_tensor() || !b.is_tensor() ||
      a.tensor().dtype() != DType::kFloat32 ||
      b.tensor().dtype() != DType::kFloat32 ||
      a.tensor().sizes() != b.tensor().sizes()) {
    return Difference(a, b);
  }
  const Tensor x = a.tensor().Contiguous(), y = b.tensor().Contiguous();
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double p = x.data<float>()[i], q = y.data<float>()[i];
    if (p == q || (std::isnan(p) && std::isnan(q))) continue;
    if (std::abs(p - q) > 1e-4 + 1e-3 * std::abs(q)) {
      return std::to_string(p) + " and " + std::to_string(q);
    }
  }
  return "";
}

TEST(LowerGenerated, T_3_RandomProgramsComputeTheSame) {
  uint32_t num_rewritten = 0;
  ForRandomPrograms(150, true, [&](const Program& source, uint64_t seed) {
    Program program = source.Clone();
    Diagnostics diags;
    const auto report = LowerProgram(&program, diags);
    if (!report) return diags.has_errors() ? "" : std::string("says nothing");
    num_rewritten += report->num_rewritten;
    const Outcome want = RunTwice(source, seed), got = RunTwice(program, seed);
    if (!want.ok) return std::string();
    if (!got.ok) return "doesn't run: " + got.why;
    if (want.results.size() != got.results.size()) {
      return std::string("another number of results");
    }
    for (size_t i = 0; i < want.results.size(); ++i) {
      const std::string why = WhyNotClose(got.results[i], want.results[i]);
      if (!why.empty()) return "result " + std::to_string(i) + ": " + why;
    }
    return std::string();
  });
  EXPECT_GT(num_rewritten, 100u);
}

TEST(LowerGenerated, OddLiteralsNeverCrash) {
  const char* folder = std::getenv("TENON_ODD_LITERALS");
  size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(
           folder == nullptr ? "test/data/pt2" : folder)) {
    if (file.path().extension() != ".pt2") continue;
    Diagnostics diags;
    const auto source = ReadPt2(file.path(), std::make_shared<Context>(),
                                Pt2ReadOptions(), diags);
    if (!source) continue;
    const std::vector<ArgId> places = IntPlaces(*source);
    for (size_t i = 0; i < places.size() && i < 60; ++i) {
      Program program = source->CloneApart();
      program.SetArg(places[i], Arg::Int(kOdd[(i + count) % std::size(kOdd)]),
                     /*keep_label=*/true);
      Diagnostics said;
      const bool is_lowered = bool(LowerProgram(&program, said));
      EXPECT_TRUE(is_lowered || said.has_errors()) << file.path();
      ++count;
    }
  }
  EXPECT_GT(count, 0u);
}

}  // namespace
}  // namespace tenon
