#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "../../limit_boundary.h"
#include "formats/pt2/pt2.h"

namespace tenon {
namespace {

LimitedRead Reading(const std::string& path) {
  return [path](const ReadLimits& limits, Diagnostics& diags) {
    Pt2ReadOptions options;
    options.limits = limits;
    return ReadPt2(path, std::make_shared<Context>(), options, diags).ok();
  };
}

TEST(Pt2Limits, Nodes) {
  const std::string path = "test/data/pt2/kwargs_order.pt2";
  Diagnostics diags;
  const auto program =
      ReadPt2(path, std::make_shared<Context>(), Pt2ReadOptions(), diags);
  ASSERT_TRUE(program) << diags.ToString();
  // The output node, too, is one.
  ExpectBoundary(&ReadLimits::max_nodes, program->num_nodes(), Reading(path));
}

TEST(Pt2Limits, ExpressionBytes) {
  // Its longest expression: Symbol('s77', integer=True, ...) and the like.
  const std::string path = "test/data/pt2/dyn_derived.pt2";
  ExpectBoundaryBetween(&ReadLimits::max_expression_bytes, 10, 200,
                        Reading(path));
}

TEST(Pt2Limits, Members) {
  const std::string path = "test/data/pt2/kwargs_order.pt2";
  ReadLimits limits;
  limits.max_members = 1;
  Diagnostics diags;
  EXPECT_FALSE(Reading(path)(limits, diags));
  EXPECT_NE(diags.FirstError().find("members=1 (--read-limit)"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon
