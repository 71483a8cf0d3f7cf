// M-2: a cache that an engine updates in place stays where it is, call by call,
// while the signature declares the mutation.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "export/export.h"
#include "export/join_program.h"
#include "formats/hybrid/hybrid.h"
#include "runtime/session.h"
#include "text/text.h"

namespace tenon {
namespace {

// One token's keys, all `value`, and the position that they go to.
std::vector<RuntimeValue> Step(float value, int64_t position) {
  Tensor keys = Tensor::Empty(DType::kFloat32, {1, 2, 1, 3});
  for (int64_t i = 0; i < keys.numel(); ++i) {
    keys.mutable_data<float>()[i] = value;
  }
  Tensor at = Tensor::Empty(DType::kInt64, {1});
  *at.mutable_data<int64_t>() = position;
  return {std::move(keys), std::move(at)};
}

TEST(Cache, M2StaysInPlaceAndIsDeclared) {
  Diagnostics diags;
  auto program =
      ReadHybrid("test/data/hybrid/kv_engine_alias.json",
                 std::make_shared<Context>(), HybridReadOptions(), diags);
  ASSERT_TRUE(program) << diags.ToString();
  ASSERT_TRUE(JoinProgram(&*program, JoinProgramOptions(), diags))
      << diags.ToString();
  ASSERT_FALSE(program->signature.outputs.empty());
  EXPECT_EQ(program->signature.outputs[0].kind, OutputKind::kBufferMutation);
  ASSERT_EQ(program->delegates.size(), 1u);
  EXPECT_EQ(program->delegates[0].writes.size(), 1u);

  auto session =
      Session::Load(std::make_shared<const Program>(std::move(*program)),
                    SessionOptions(), diags);
  ASSERT_TRUE(session) << diags.ToString();
  // Mapped bytes are copied by the first write to them, once.
  const void* place = nullptr;
  for (int64_t position = 0; position < 6; ++position) {
    const auto value = static_cast<float>(10 + position);
    ASSERT_TRUE((*session)->RunFlat(Step(value, position), diags))
        << diags.ToString();
    const Tensor cache = (*session)->State("k_cache");
    if (position == 0) place = cache.raw();
    EXPECT_EQ(cache.raw(), place);
    EXPECT_EQ(cache.data<float>()[position * 3], value);
  }
}

// A node that writes state in place is no part of a region, so that between
// regions it writes where the state lies, and regions see what it wrote: one
// read the cache before it, the other behind it.
TEST(Cache, M2ARegionWritesStateInPlace) {
  Diagnostics diags;
  auto program =
      ParseProgram(R"(tenon 1
storage @0 = 8 bytes hex"0000000000000000"
buffer "cache" : f32[2] = @0
in_spec ((*,), {})
out_spec (*, *)
graph @main(%c : f32[2] = buffer "cache", %x : f32[2]) {
  %before : f32[2] = aten.mul.Tensor(%c, 10)
  %w : f32[2] = aten.add_.Tensor(%c, %x)
  %after : f32[2] = aten.mul.Tensor(%c, 100)
  return (%before, %after)
}
)",
                   "test", std::make_shared<Context>(), PayloadSource(), diags);
  ASSERT_TRUE(program) << diags.ToString();
  ExportOptions options;
  options.backends.emplace_back().backend = FindBackend("cpu");
  const auto report = ExportProgram(&*program, options, diags);
  ASSERT_TRUE(report) << diags.ToString();
  EXPECT_EQ(report->regions.size(), 1u);
  EXPECT_TRUE(report->refusals.empty());
  ASSERT_EQ(report->mutations.size(), 1u);
  EXPECT_EQ(report->mutations[0].target, "cache");
  EXPECT_EQ(report->mutations[0].owner, "region_0");

  auto session =
      Session::Load(std::make_shared<const Program>(std::move(*program)),
                    SessionOptions(), diags);
  ASSERT_TRUE(session) << diags.ToString();
  const void* place = nullptr;
  for (int call = 0; call < 4; ++call) {
    Tensor x = Tensor::Empty(DType::kFloat32, {2});
    x.mutable_data<float>()[0] = x.mutable_data<float>()[1] = 1;
    const auto results = (*session)->RunFlat({x}, diags);
    ASSERT_TRUE(results) << diags.ToString();
    EXPECT_EQ((*results)[0].tensor().data<float>()[1], 10.0f * call);
    EXPECT_EQ((*results)[1].tensor().data<float>()[1], 100.0f * (call + 1));
    const Tensor cache = (*session)->State("cache");
    if (call == 0) place = cache.raw();
    EXPECT_EQ(cache.raw(), place);
  }
}

}  // namespace
}  // namespace tenon
