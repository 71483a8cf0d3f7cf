// T-1: digests are stable over versions of Tenon. A change of these numbers
// makes every digest that was ever noted down worthless.
#include "analysis/digest.h"

#include <gtest/gtest.h>

#include "text/text.h"

namespace tenon {
namespace {

std::string DigestOf(std::string_view text) {
  Diagnostics diags;
  const auto program = ParseProgram(text, "test", std::make_shared<Context>(),
                                    PayloadSource(), diags);
  EXPECT_TRUE(program) << diags.ToString();
  return program ? WiringDigest(*program).ToHex() : "";
}

TEST(WiringDigest, T1IsStableForAFunctionalProgram) {
  EXPECT_EQ(DigestOf(R"(tenon 1
symbol s0 (positive=True, integer=True)
range s0 in [2, 4]
storage @0 = 8 bytes hex"0000803f00000040"
parameter "w" : f32[2] requires_grad = @0
in_spec ((*,), {first: *})
out_spec (*, [*])
graph @main(%w : f32[2] requires_grad = parameter "w", %x : f32[s0, 2],
            %first : f32[s0, 2]) {
  %sub : f32[s0, 2] = aten.sub.Tensor(%x, %first, alpha=2)
  %mul : f32[s0, 2] requires_grad = aten.mul.Tensor(%sub, %w)
  %cat : f32[2*s0, 2] requires_grad = aten.cat.default([%mul, %sub])
  return (%cat, %x)
}
)"),
            "6aa2e360fd5e4a1879b72da896c4d011");
}

TEST(WiringDigest, T1IsStableForWritesInPlace) {
  EXPECT_EQ(DigestOf(R"(tenon 1
storage @0 = 4 bytes hex"00000000"
buffer "n" : f32[] = @0
in_spec ((*,), {})
out_spec *
graph @main(%n : f32[] = buffer "n", %x : f32[3]) {
  %add_ : f32[] = aten.add_.Tensor(%n, 1)
  %mul : f32[3] = aten.mul.Tensor(%x, %n)
  return (%mul)
}
)"),
            "b4e74d1abfd9f0c5686ac25cd5f18e08");
}

}  // namespace
}  // namespace tenon
