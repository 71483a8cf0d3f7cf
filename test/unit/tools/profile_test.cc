// What `tenon bench` counts and draws.
#include "profile.h"

#include <gtest/gtest.h>

#include "export/export.h"
#include "memory_picture.h"
#include "text/text.h"

namespace tenon::tools {
namespace {

constexpr std::string_view kProgram = R"(tenon 1
storage @0 = 8 bytes hex"000000400000803f"
parameter "w" : f32[2] = @0
in_spec ((*,), {})
out_spec *
graph @main(%w : f32[2] = parameter "w", %x : f32[8, 2]) {
  %mul : f32[8, 2] = aten.mul.Tensor(%x, %w)
  %softmax : f32[8, 2] = aten.softmax.int(%mul, 1)
  %permute : f32[2, 8] strides [1, 2] = aten.permute.default(%softmax, [1, 0])
  %clone : f32[2, 8] = aten.clone.default(%permute, memory_format=torch.contiguous_format)
  %add : f32[2, 8] = aten.add.Tensor(%clone, %clone)
  %sum : f32[2] = aten.sum.dim_IntList(%add, [1])
  return (%sum)
}
)";

Expected<Profile> ProfileOver(const char* backend, uint64_t num_calls,
                              Diagnostics& diags) {
  TENON_ASSIGN(Program program,
               ParseProgram(kProgram, "test", std::make_shared<Context>(),
                            PayloadSource(), diags));
  if (backend != nullptr) {
    ExportOptions options;
    options.backends.push_back({});
    options.backends[0].backend = FindBackend(backend);
    if (!ExportProgram(&program, options, diags)) return Failure{};
  }
  ProfileOptions options;
  options.num_warmup = 1;
  options.num_calls = num_calls;
  return ProfileCalls(std::make_shared<const Program>(std::move(program)),
                      {Tensor::Zeros(DType::kFloat32, {8, 2})}, options, diags);
}

TEST(Profile, PercentilesAreNearestRanks) {
  CallTimes times;
  for (int i = 1; i <= 100; ++i) times.sorted.push_back(i);
  EXPECT_EQ(times.Percentile(0), 1);
  EXPECT_EQ(times.Percentile(0.5), 50);
  EXPECT_EQ(times.Percentile(0.9), 90);
  EXPECT_EQ(times.Percentile(0.99), 99);
  EXPECT_EQ(times.Percentile(1), 100);
  EXPECT_EQ(times.mean(), 50.5);
  times.sorted = {7};
  EXPECT_EQ(times.Percentile(0.99), 7);
  EXPECT_EQ(CallTimes().Percentile(0.5), 0);
}

TEST(Profile, CountsWhatTheReferenceRuns) {
  Diagnostics diags;
  const auto profile = ProfileOver(nullptr, 5, diags);
  ASSERT_TRUE(profile) << diags.ToString();
  EXPECT_EQ(profile->calls.sorted.size(), 5u);
  EXPECT_TRUE(profile->regions.empty());
  EXPECT_EQ(profile->input_bytes, 64u);
  EXPECT_EQ(profile->output_bytes, 8u);
  EXPECT_EQ(profile->state_bytes, 8u);
  EXPECT_EQ(profile->own_state_bytes, 0u);
  EXPECT_EQ(profile->copied_bytes, 64u);
  EXPECT_EQ(profile->arena_bytes, 0u);
  ASSERT_EQ(profile->operators.size(), 6u);
  double sum = 0;
  for (const ProfileRow& row : profile->operators) {
    EXPECT_EQ(row.num_nodes, 1u) << row.name;
    EXPECT_GT(row.time_ns, 0);
    sum += row.time_ns;
    if (row.name == "aten.mul.Tensor") {
      EXPECT_EQ(row.bytes_read, 72u);
      EXPECT_EQ(row.bytes_written, 64u);
    }
    if (row.name == "aten.permute.default") {
      EXPECT_EQ(row.bytes_read + row.bytes_written, 0u) << "a view";
    }
  }
  EXPECT_LE(sum, profile->observed_ns);
}

TEST(Profile, LooksIntoRegions) {
  Diagnostics diags;
  const auto profile = ProfileOver("cpu", 5, diags);
  ASSERT_TRUE(profile) << diags.ToString();
  EXPECT_TRUE(profile->operators.empty());
  ASSERT_EQ(profile->regions.size(), 1u);
  const RegionProfile& region = profile->regions[0];
  EXPECT_EQ(region.backend, "cpu");
  EXPECT_EQ(region.num_nodes, 1u) << "calls per call";
  EXPECT_EQ(region.num_inputs, 2u);
  EXPECT_EQ(region.num_outputs, 1u);
  EXPECT_EQ(region.bytes_read, 72u);
  EXPECT_EQ(region.bytes_written, 8u);
  ASSERT_TRUE(region.listing);
  ASSERT_EQ(region.step_time_ns.size(), region.listing->steps.size());
  double sum = 0;
  for (const double time : region.step_time_ns) sum += time;
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, region.time_ns);
  EXPECT_LE(region.time_ns, profile->observed_ns);
  EXPECT_GT(profile->arena_bytes, 0u);
  EXPECT_LE(profile->arena_bytes, profile->unshared_bytes);
}

TEST(Profile, OtherBackendsHaveNoSteps) {
  Diagnostics diags;
  const auto profile = ProfileOver("echo", 2, diags);
  ASSERT_TRUE(profile) << diags.ToString();
  ASSERT_EQ(profile->regions.size(), 1u);
  EXPECT_FALSE(profile->regions[0].listing);
  EXPECT_GT(profile->regions[0].time_ns, 0);
}

size_t CountOf(std::string_view text, std::string_view word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

TEST(MemoryPicture, HasARectanglePerBuffer) {
  RegionProfile region;
  region.name = "a<b";
  region.backend = "cpu";
  region.listing.emplace();
  region.listing->arena_bytes = 1024;
  region.listing->steps.resize(20);
  for (ListedStep& step : region.listing->steps) {
    step.name = "pointwise";
    step.ops = {"aten.\"add\".Tensor"};
  }
  region.listing->buffers = {{0, 512, 0, 3}, {512, 512, 2, 19}};
  RegionProfile without;
  const std::string svg = MemoryAsSvg({region, without});
  // The background, and one for each buffer.
  EXPECT_EQ(CountOf(svg, "<rect "), 3u);
  // 20 steps are 240 wide; the lower half for steps 0 to 3 ...
  EXPECT_NE(svg.find("<rect x=\"80\" y=\"280\" width=\"48\" height=\"240\""),
            std::string::npos)
      << svg;
  // ... and the upper half from step 2 to the end.
  EXPECT_NE(svg.find("<rect x=\"104\" y=\"40\" width=\"216\" height=\"240\""),
            std::string::npos)
      << svg;
  EXPECT_NE(svg.find("a&lt;b (cpu): 20 steps, arena 1.0 KiB"),
            std::string::npos)
      << svg;
  EXPECT_NE(svg.find("512 B at 512, steps 2 to 19: pointwise "
                     "aten.&quot;add&quot;.Tensor"),
            std::string::npos)
      << svg;
}

TEST(MemoryPicture, OfNothingIsEmpty) {
  EXPECT_EQ(CountOf(MemoryAsSvg({}), "<rect "), 0u);
}

}  // namespace
}  // namespace tenon::tools
