// Which parts of a program become calls of delegates, and what they pass.
#include "executorch/delegate_regions.h"

#include "made.h"

namespace tenon {
namespace {

constexpr char kNetwork[] = R"(
storage @0 = 24 bytes hex"0000803f000000400000404000008040000000400000803f"
storage @1 = 8 bytes hex"0000803f00000040"
parameter "w" : f32[2, 3] = @0
parameter "b" : f32[2] = @1
in_spec ((*,), {})
out_spec (*, *)
graph @main(%w : f32[2, 3] = parameter "w", %b : f32[2] = parameter "b",
    %x : f32[4, 3]) {
  %y : f32[4, 2] = aten.linear.default(%x, %w, %b)
  %r : f32[4, 2] = aten.relu.default(%y)
  %e : f32[4, 2] = aten.erf.default(%r)
  %z : f32[4, 2] = aten.mul.Tensor(%e, %b)
  return (%z, %w)
}
)";

PteExportOptions With(std::vector<std::string_view> names) {
  PteExportOptions options;
  for (const std::string_view name : names) {
    options.backends.push_back(executorch::FindDelegateBackend(name));
  }
  return options;
}

TEST(DelegateRegions, ConstantsAreNoArguments) {
  PteExportReport report;
  const std::string text = Made(kNetwork, &report, With({"xnnpack"}));
  ASSERT_EQ(report.methods[0].regions.size(), 2u);
  EXPECT_EQ(report.methods[0].regions[0].backend, "XnnpackBackend");
  EXPECT_EQ(report.methods[0].regions[0].num_nodes, 2u);
  EXPECT_EQ(report.named_bytes, 24u + 8u);
  ExpectHas(text, "aten::erf.out");
  ExpectLacks(text, "aten::linear");
  ExpectLacks(text, "aten::relu");
  // The weight is an output of the program, too; the bias isn't needed.
  EXPECT_EQ(report.constant_bytes, 24u);
}

TEST(DelegateRegions, TheFirstBackendIsPreferred) {
  PteExportReport report;
  Made(kNetwork, &report, With({"xnnpack", "tenon"}));
  ASSERT_EQ(report.methods[0].regions.size(), 3u);
  EXPECT_EQ(report.methods[0].regions[0].backend, "XnnpackBackend");
  EXPECT_EQ(report.methods[0].regions[1].backend, "TenonBackend");
  EXPECT_EQ(report.methods[0].regions[2].backend, "XnnpackBackend");
  report = PteExportReport();
  Made(kNetwork, &report, With({"tenon", "xnnpack"}));
  ASSERT_EQ(report.methods[0].regions.size(), 1u);
  EXPECT_EQ(report.methods[0].regions[0].backend, "TenonBackend");
  EXPECT_EQ(report.methods[0].regions[0].num_nodes, 4u);
}

TEST(DelegateRegions, StateThatIsWrittenIsPassedAndIsAResult) {
  PteExportReport report;
  const std::string text = Made(R"(
storage @0 = 16 bytes zeros
buffer "n" : f32[4] = @0
in_spec ((*,), {})
out_spec *
graph @main(%n : f32[4] = buffer "n", %x : f32[4]) {
  %more : f32[4] = aten.add.Tensor(%n, %x)
  %y : f32[4] = aten.mul.Tensor(%more, 2)
  return (%more as buffer_mutation "n", %y)
}
)",
                                &report, With({"tenon"}));
  EXPECT_EQ(report.named_bytes, 0u);
  EXPECT_EQ(report.methods[0].num_in_place, 1u);
  ExpectHas(text, "0: delegate 0 [%0, %1, %0, %2]");
}

TEST(DelegateRegions, SizesMayVary) {
  PteExportReport report;
  Made(R"(
symbol s0 (positive=True, integer=True) hint 4
range s0 in [2, 16]
in_spec ((*,), {})
out_spec *
graph @main(%x : f32[s0, 3]) {
  %a : f32[s0, 3] = aten.exp.default(%x)
  %b : f32[3*s0] = aten.view.default(%a, [-1])
  return (%b)
}
)",
       &report, With({"xnnpack"}));
  ASSERT_EQ(report.methods[0].regions.size(), 1u);
  EXPECT_EQ(report.methods[0].regions[0].num_nodes, 2u);
}

}  // namespace
}  // namespace tenon
