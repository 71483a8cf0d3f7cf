#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "../../limit_boundary.h"
#include "text/text.h"

namespace tenon {
namespace {

LimitedRead Parsing(const std::string& text) {
  return [text](const ReadLimits& limits, Diagnostics& diags) {
    return ParseProgram(text, "x.tenon", std::make_shared<Context>(), {}, diags,
                        limits)
        .ok();
  };
}

TEST(TextLimits, Nodes) {
  // The output node, too, is one.
  ExpectBoundary(&ReadLimits::max_nodes, 3, Parsing(R"(tenon 1
graph @main(%x : f32[2] = user) {
  %a : f32[2] = aten.neg.default(%x)
  %b : f32[2] = aten.neg.default(%a)
  return (%b)
}
)"));
}

TEST(TextLimits, Depth) {
  // The highest, so that the stack is known to suffice for it.
  constexpr int kDepth = 2000;
  const std::string nested =
      std::string(kDepth, '[') + std::string(kDepth, ']');
  ExpectBoundary(&ReadLimits::max_depth, kDepth,
                 Parsing("tenon 1\nin_spec " + nested +
                         "\ngraph @main() {\n  return ()\n}\n"));
}

TEST(TextLimits, ZeroBytes) {
  ExpectBoundary(&ReadLimits::max_zero_bytes, 30, Parsing(R"(tenon 1
storage @0 = 10 bytes zeros
storage @1 = 20 bytes zeros
graph @main() {
  return ()
}
)"));
}

TEST(TextLimits, ExpressionBytes) {
  ExpectBoundary(&ReadLimits::max_expression_bytes, 8, Parsing(R"(tenon 1
symbol s0 (positive=True, integer=True) hint 4
graph @main(%x : f32[2*s0 + 1] = user) {
  return ()
}
)"));
}

}  // namespace
}  // namespace tenon
