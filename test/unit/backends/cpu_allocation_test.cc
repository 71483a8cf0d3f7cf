// Backend cpu allocates while it plans; a later run allocates its outputs and
// nothing else, whatever its steps call.
#include <dnnl.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "allocation_count.h"
#include "backends/backend.h"
#include "backends/cpu/executable.h"
#include "region_builder.h"

namespace tenon {
namespace {

TEST(AllocationCountTest, CountsNewAndMalloc) {
  const Allocations before = AllocationsSoFar();
  auto* volatile number = new int32_t(3);
  auto* volatile bytes = std::malloc(40);
  const Allocations after = AllocationsSoFar();
  EXPECT_EQ(after.count - before.count, 2);
  EXPECT_EQ(after.size_bytes - before.size_bytes, 44u);
  delete number;
  std::free(bytes);
}

struct Case {
  const char* name;
  // The output of the region; inputs come from `random`.
  std::function<ValueId(RegionBuilder&, RandomTensors&)> build;
  // A step that the plan must hold, so that the case tests what it says.
  const char* step;
};

// A weight as a program brings it: mapped, read only.
ValueId Weight(RegionBuilder& b, RandomTensors& random, Sizes sizes) {
  const Tensor t = random.Floats(sizes, -0.2f, 0.2f);
  const Bytes bytes(t.raw(), static_cast<size_t>(t.numel()) * sizeof(float));
  return b.Input(Tensor(Storage::BorrowConst(bytes, t.storage()), t.dtype(),
                        t.sizes(), t.strides(), 0));
}

ValueId Convolution(RegionBuilder& b, RandomTensors& random, int64_t channels,
                    int64_t groups) {
  const ValueId x = b.Input(random.Floats({1, channels, 24, 24}));
  const ValueId w = Weight(b, random, {channels, channels / groups, 3, 3});
  const ValueId bias = b.Input(random.Floats({channels}));
  return b.Op("aten.conv2d.default", {{"input", x},
                                      {"weight", w},
                                      {"bias", bias},
                                      {"padding", std::vector<int64_t>{1, 1}},
                                      {"groups", groups}});
}

ValueId Attention(RegionBuilder& b, RandomTensors& random, const Sizes& sizes,
                  bool is_causal) {
  const ValueId q = b.Input(random.Floats(sizes));
  const ValueId k = b.Input(random.Floats(sizes));
  const ValueId v = b.Input(random.Floats(sizes));
  return b.Op(
      "aten.scaled_dot_product_attention.default",
      {{"query", q}, {"key", k}, {"value", v}, {"is_causal", is_causal}});
}

const Case kCases[] = {
    {"layers",
     [](RegionBuilder& b, RandomTensors& random) {
       ValueId v = b.Input(random.Floats({8, 32}));
       for (int i = 0; i < 10; ++i) {
         const ValueId w = Weight(b, random, {32, 32});
         v = b.Op("aten.mm.default", {{"self", v}, {"mat2", w}});
         v = b.Op("aten.relu.default", {{"self", v}});
       }
       return v;
     },
     "matmul"},
    {"large_product",
     [](RegionBuilder& b, RandomTensors& random) {
       ValueId v = b.Input(random.Floats({96, 256}));
       for (int i = 0; i < 3; ++i) {
         const ValueId w = Weight(b, random, {256, 256});
         const ValueId bias = Weight(b, random, {256});
         v = b.Op("aten.linear.default",
                  {{"input", v}, {"weight", w}, {"bias", bias}});
       }
       return v;
     },
     "matmul"},
    {"batched_product",
     [](RegionBuilder& b, RandomTensors& random) {
       const ValueId x = b.Input(random.Floats({4, 64, 96}));
       const ValueId y = b.Input(random.Floats({4, 96, 80}));
       return b.Op("aten.bmm.default", {{"self", x}, {"mat2", y}});
     },
     "matmul"},
    {"convolution",
     [](RegionBuilder& b, RandomTensors& random) {
       return Convolution(b, random, 32, 1);
     },
     "convolution_dnnl"},
    {"own_convolution",
     [](RegionBuilder& b, RandomTensors& random) {
       return Convolution(b, random, 4, 1);
     },
     "convolution_direct\n"},
    {"depthwise_convolution",
     [](RegionBuilder& b, RandomTensors& random) {
       return Convolution(b, random, 32, 32);
     },
     "convolution"},
    {"fused_convolution",
     [](RegionBuilder& b, RandomTensors& random) {
       const ValueId x = Convolution(b, random, 32, 1);
       const ValueId mean = b.Input(random.Floats({32}));
       const ValueId var = b.Input(random.Floats({32}, 1, 2));
       ValueId v = b.Op("aten.conv2d.default",
                        {{"input", x},
                         {"weight", Weight(b, random, {32, 32, 3, 3})},
                         {"padding", std::vector<int64_t>{1, 1}}});
       v = b.Op("aten._native_batch_norm_legit_no_training.default",
                {{"input", v},
                 {"weight", var},
                 {"bias", mean},
                 {"running_mean", mean},
                 {"running_var", var},
                 {"momentum", 0.1},
                 {"eps", 1e-5}});
       v = b.Op("aten.relu.default", {{"self", v}});
       return b.Op("aten.add.Tensor", {{"self", v}, {"other", x}});
     },
     "convolution_dnnl++\n"},
    {"norms",
     [](RegionBuilder& b, RandomTensors& random) {
       const ValueId x = b.Input(random.Floats({16, 128}));
       const ValueId w = b.Input(random.Floats({128}));
       const ValueId v = b.Op("aten.layer_norm.default",
                              {{"input", x},
                               {"normalized_shape", std::vector<int64_t>{128}},
                               {"weight", w}});
       return b.Op("aten.softmax.int", {{"self", v}, {"dim", -1}});
     },
     "layer_norm"},
    {"pool",
     [](RegionBuilder& b, RandomTensors& random) {
       const ValueId x = b.Input(random.Floats({1, 8, 16, 16}));
       return b.Op("aten.max_pool2d.default",
                   {{"self", x}, {"kernel_size", std::vector<int64_t>{2, 2}}});
     },
     "pool"},
    {"attention",
     [](RegionBuilder& b, RandomTensors& random) {
       return Attention(b, random, {1, 4, 32, 16}, false);
     },
     "attention"},
    {"large_attention",
     [](RegionBuilder& b, RandomTensors& random) {
       return Attention(b, random, {1, 4, 128, 64}, false);
     },
     "attention"},
    {"causal_attention",
     [](RegionBuilder& b, RandomTensors& random) {
       return Attention(b, random, {2, 2, 150, 48}, true);
     },
     "attention"},
    {"group_norm",
     [](RegionBuilder& b, RandomTensors& random) {
       const ValueId x = Convolution(b, random, 32, 1);
       return b.Op("aten.group_norm.default",
                   {{"input", x}, {"num_groups", 4}, {"eps", 1e-5}});
     },
     "group_moments"},
    {"upsample",
     [](RegionBuilder& b, RandomTensors& random) {
       return b.Op("aten.upsample_bilinear2d.default",
                   {{"self", b.Input(random.Floats({1, 4, 8, 8}))},
                    {"output_size", std::vector<int64_t>{16, 20}},
                    {"align_corners", false}});
     },
     "resample"},
    {"transposed_convolution",
     [](RegionBuilder& b, RandomTensors& random) {
       return b.Op("aten.conv_transpose2d.input",
                   {{"input", b.Input(random.Floats({1, 16, 12, 12}))},
                    {"weight", Weight(b, random, {16, 8, 2, 2})},
                    {"stride", std::vector<int64_t>{2, 2}}});
     },
     "spread"},
    {"recurrent",
     [](RegionBuilder& b, RandomTensors& random) {
       const std::vector<ValueId> params = {Weight(b, random, {96, 16}),
                                            Weight(b, random, {96, 32})};
       return b.Op("aten.gru.input",
                   {{"input", b.Input(random.Floats({7, 2, 16}))},
                    {"hx", b.Input(random.Floats({1, 2, 32}))},
                    {"params", params},
                    {"has_biases", false},
                    {"num_layers", 1},
                    {"dropout", 0.0},
                    {"train", false},
                    {"bidirectional", false},
                    {"batch_first", false}});
     },
     "recurrent"},
    {"topk",
     [](RegionBuilder& b, RandomTensors& random) {
       return b.Op("aten.topk.default",
                   {{"self", b.Input(random.Floats({9, 64}))}, {"k", 5}});
     },
     "sort"},
    {"scatter",
     [](RegionBuilder& b, RandomTensors& random) {
       return b.Op("aten.scatter_add.default",
                   {{"self", b.Input(random.Floats({9, 6}))},
                    {"dim", 0},
                    {"index", b.Input(random.Ints({5, 6}, 0, 8))},
                    {"src", b.Input(random.Floats({5, 6}))}});
     },
     "scatter"},
};

void ExpectLaterRunsAllocateOnlyOutputs(const Case& test) {
  RandomTensors random;
  RegionBuilder b;
  const ValueId output = test.build(b, random);
  const Program region = b.Finish({output});
  Diagnostics diags;
  const Backend* cpu = FindBackend("cpu");
  auto compiled = cpu->Compile(region, {}, diags);
  ASSERT_TRUE(compiled) << diags.ToString();
  auto loaded = cpu->Load(compiled->payload, nullptr, {}, diags);
  ASSERT_TRUE(loaded) << diags.ToString();
  auto* executable = static_cast<cpu::CpuExecutable*>(loaded->get());
  ASSERT_TRUE(executable->Run(b.inputs, diags)) << diags.ToString();
  const std::string plan = executable->last_plan()->ToString();
  EXPECT_NE(plan.find(test.step), std::string::npos) << plan;
  const int plans = executable->num_allocations();
  const Allocations before = AllocationsSoFar();
  const auto results = executable->Run(b.inputs, diags);
  const Allocations after = AllocationsSoFar();
  ASSERT_TRUE(results) << diags.ToString();
  EXPECT_EQ(executable->num_allocations(), plans);
  // The list of outputs, a storage with its count and bytes, sizes and strides
  // of the one output. What oneDNN adds is its table of arguments.
  int num_dnnl = 0;
  for (size_t at = plan.find("dnnl"); at != std::string::npos;
       at = plan.find("dnnl", at + 1)) {
    ++num_dnnl;
  }
  const size_t output_bytes =
      static_cast<size_t>((*results)[0].tensor().numel()) * sizeof(float);
  EXPECT_LE(after.count - before.count, 6 + 24 * num_dnnl) << plan;
  EXPECT_LE(after.size_bytes - before.size_bytes,
            output_bytes + 512 + 1024 * static_cast<size_t>(num_dnnl))
      << plan;
}

class CpuAllocationTest : public testing::TestWithParam<Case> {};

TEST_P(CpuAllocationTest, LaterRunsAllocateOnlyOutputs) {
  ExpectLaterRunsAllocateOnlyOutputs(GetParam());
}

// Where oneDNN has no fast matrix product, own loops take its place.
TEST_P(CpuAllocationTest, LaterRunsAllocateOnlyOutputsWithAvx2) {
  static const bool is_limited =
      dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2) == dnnl_success;
  if (!is_limited) GTEST_SKIP() << "oneDNN has chosen its kernels already";
  ExpectLaterRunsAllocateOnlyOutputs(GetParam());
}

INSTANTIATE_TEST_SUITE_P(, CpuAllocationTest, testing::ValuesIn(kCases),
                         [](const auto& test) {
                           return std::string(test.param.name);
                         });

}  // namespace
}  // namespace tenon
