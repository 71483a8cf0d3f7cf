// W-PTE-08, and segments that lie in pieces.
#include <gtest/gtest.h>

#include <string>

#include "formats/pte/verify_pte.h"
#include "sample_program.h"

namespace tenon {
namespace {

PteTensor State(std::string name, std::vector<int32_t> sizes, uint64_t offset) {
  PteTensor t = PlannedTensor(std::move(sizes), offset);
  PteTensorExtra extra;
  extra.name = std::move(name);
  t.extra = std::move(extra);
  return t;
}

// Two methods that keep what `a` and `b` are.
size_t NumFindings(const PteTensor& a, const PteTensor& b) {
  PteProgram program;
  program.constants = PteSubsegments{0, {0}};
  for (const PteTensor& state : {a, b}) {
    PtePlan plan;
    plan.name = "m" + std::to_string(program.plans.size());
    plan.values.push_back({state});
    plan.chains.emplace_back();
    plan.arena_bytes = {0, 64};
    program.plans.push_back(std::move(plan));
  }
  PteVerifyOptions options;
  options.lint = true;
  Diagnostics diags;
  EXPECT_TRUE(VerifyPte(program, options, diags)) << diags.ToString();
  size_t count = 0;
  for (const Diagnostic& d : diags.all()) count += d.rule == Rule::kLintPte08;
  return count;
}

TEST(VerifyPte, W_PTE_08_StateOfTwoMethodsIsOneBufferOrApart) {
  EXPECT_EQ(NumFindings(State("k", {2}, 0), State("k", {2}, 0)), 0u);
  EXPECT_EQ(NumFindings(State("k", {2}, 0), State("m", {2}, 8)), 0u);
  EXPECT_EQ(NumFindings(State("k", {2}, 0), State("m", {2}, 0)), 1u);
  EXPECT_EQ(NumFindings(State("k", {4}, 0), State("m", {2}, 8)), 1u);
  EXPECT_EQ(NumFindings(State("k", {2}, 0), State("k", {1}, 0)), 1u);
  EXPECT_EQ(NumFindings(State("k", {2}, 0), State("k", {2}, 4)), 1u);
  PteTensor other = State("k", {2}, 0);
  other.type = PteScalarType::kInt;
  EXPECT_EQ(NumFindings(State("k", {2}, 0), other), 1u);
}

TEST(PteSegment, PiecesAreTheBytesThatTheyMake) {
  const FlatBlob ab = BlobOf("ab"), cd = BlobOf("cd");
  PteSegment pieces;
  pieces.more.push_back({0, ab.bytes, ab.owner});
  pieces.more.push_back({4, cd.bytes, cd.owner});
  EXPECT_EQ(pieces.size_bytes(), 6u);
  EXPECT_EQ(pieces.Joined(), std::string("ab\0\0cd", 6));
  EXPECT_TRUE(pieces == PteSegment(BlobOf(std::string("ab\0\0cd", 6))));
  EXPECT_FALSE(pieces == PteSegment(BlobOf("ab  cd")));
  EXPECT_FALSE(pieces == PteSegment(BlobOf("ab")));
}

}  // namespace
}  // namespace tenon
