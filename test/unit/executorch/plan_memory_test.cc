// Lifetimes over instructions, and where blocks lie.
#include "executorch/plan_memory.h"

#include <gtest/gtest.h>

namespace tenon::executorch {
namespace {

int32_t AddTensor(PlanDraft* draft, uint64_t bytes) {
  PteTensor tensor;
  tensor.type = PteScalarType::kByte;
  tensor.sizes = {static_cast<int32_t>(bytes)};
  tensor.dim_order = {0};
  MemoryBlock block;
  block.size_bytes = bytes;
  return draft->AddTensor(tensor, draft->AddBlock(block));
}

// x -> a -> b -> c: x is free when b is made.
TEST(PlanMemory, AChainNeedsTwoPlaces) {
  PlanDraft draft;
  std::vector<int32_t> v;
  for (int i = 0; i < 4; ++i) v.push_back(AddTensor(&draft, 64));
  for (size_t i = 0; i + 1 < v.size(); ++i) {
    draft.CallKernel("aten::relu.out", {v[i], v[i + 1], v[i + 1]});
  }
  draft.plan.inputs = {v[0]};
  draft.plan.outputs = {v[3]};
  const auto lifetimes = FindLifetimes(draft);
  EXPECT_EQ(lifetimes[0].last, 0u);
  EXPECT_EQ(lifetimes[1].first, 0u);
  EXPECT_EQ(lifetimes[1].last, 1u);
  EXPECT_EQ(lifetimes[3].last, 3u);
  Diagnostics diags;
  ASSERT_TRUE(PlaceBlocks(&draft, std::nullopt, diags));
  EXPECT_EQ(draft.plan.arena_bytes, (std::vector<int64_t>{0, 128}));
}

TEST(PlanMemory, WhatALoopReadsLivesToItsEnd) {
  PlanDraft draft;
  const int32_t x = AddTensor(&draft, 16), a = AddTensor(&draft, 16),
                b = AddTensor(&draft, 16), stop = draft.AddBool(false);
  draft.plan.inputs = {x};
  draft.CallKernel("aten::relu.out", {x, a, a});
  draft.CallKernel("aten::relu.out", {x, b, b});
  const uint32_t back = draft.JumpIfFalse(stop);
  draft.JumpTo(back, 0);
  draft.loops.push_back({1, back});
  const auto lifetimes = FindLifetimes(draft);
  EXPECT_EQ(lifetimes[0].last, 2u);
  EXPECT_EQ(lifetimes[2].first, 1u);
}

TEST(PlanMemory, StateLivesAllTheTime) {
  PlanDraft draft;
  const int32_t x = AddTensor(&draft, 16), state = AddTensor(&draft, 16);
  draft.block(state).is_state = true;
  draft.plan.inputs = {x};
  draft.CallKernel("aten::relu.out", {x, state, state});
  draft.CallKernel("aten::relu.out", {x, x, x});
  const auto lifetimes = FindLifetimes(draft);
  EXPECT_EQ(lifetimes[1].first, 0u);
  EXPECT_EQ(lifetimes[1].last, 2u);
}

}  // namespace
}  // namespace tenon::executorch
