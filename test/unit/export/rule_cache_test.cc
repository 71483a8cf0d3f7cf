// M-2: a cache that an engine updates in place stays where it is, call by call,
// while the signature declares the mutation.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "export/join_program.h"
#include "formats/hybrid/hybrid.h"
#include "runtime/session.h"

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

}  // namespace
}  // namespace tenon
