// Norms over groups, upsampling, transposed convolutions, recurrent networks,
// embedding bags and safe softmax of backend cpu are the reference kernels'.
#include <gtest/gtest.h>

#include <limits>

#include "region_builder.h"
#include "region_comparison.h"
#include "special_samples.h"

namespace tenon {
namespace {

using Ints = std::vector<int64_t>;

class CpuNeuralTest : public testing::TestWithParam<DType> {
 protected:
  CpuNeuralTest() : random_(GetParam()) {}
  RandomTensors random_;
};

// The same elements, channels last.
Tensor ChannelsLast(const Tensor& t) {
  return ContiguousIn(t, MemoryFormat::kChannelsLast);
}

TEST_P(CpuNeuralTest, GroupNorms) {
  const Tensor x = random_.Floats({2, 6, 5, 7});
  for (const Tensor& t : {x, ChannelsLast(x), random_.Floats({3, 6}),
                          random_.Floats({2, 6, 300})}) {
    for (const int64_t groups : {1, 2, 6}) {
      for (const bool has_weight : {false, true}) {
        CheckOperator("group_norm", [&](RegionBuilder& b) {
          std::vector<TestArg> args = {
              {"input", b.Input(t)}, {"num_groups", groups}, {"eps", 1e-3}};
          if (has_weight) {
            args.emplace_back("weight", b.Input(random_.Floats({6})));
            args.emplace_back("bias", b.Input(random_.Floats({6})));
          }
          return b.Ops("aten.group_norm.default", std::move(args));
        });
      }
    }
  }
  CheckOperator("native_group_norm", [&](RegionBuilder& b) {
    return b.Ops("aten.native_group_norm.default",
                 {{"input", b.Input(x)},
                  {"weight", b.Input(random_.Floats({6}))},
                  {"bias", b.Input(random_.Floats({6}))},
                  {"N", 2},
                  {"C", 6},
                  {"HxW", 35},
                  {"group", 3},
                  {"eps", 1e-5}});
  });
  CheckOperator("instance_norm", [&](RegionBuilder& b) {
    return b.Ops("aten.instance_norm.default",
                 {{"input", b.Input(x)},
                  {"weight", b.Input(random_.Floats({6}))},
                  {"bias", RuntimeValue()},
                  {"running_mean", RuntimeValue()},
                  {"running_var", RuntimeValue()},
                  {"use_input_stats", true},
                  {"momentum", 0.1},
                  {"eps", 1e-5},
                  {"cudnn_enabled", false}});
  });
}

TEST_P(CpuNeuralTest, WeightNorms) {
  for (const int64_t dim : {0, 1, 2}) {
    const Tensor v = random_.Floats({4, 3, 5});
    Sizes sizes = {1, 1, 1};
    sizes[dim] = v.size(dim);
    CheckOperator("weight norm", [&](RegionBuilder& b) {
      return b.Ops("aten._weight_norm.default",
                   {{"v", b.Input(v)},
                    {"g", b.Input(random_.Floats(sizes))},
                    {"dim", dim}});
    });
  }
}

TEST_P(CpuNeuralTest, Upsamples2d) {
  const Tensor x = random_.Floats({2, 3, 5, 4});
  for (const Tensor& t : {x, ChannelsLast(x)}) {
    for (const char* op : {"upsample_nearest2d", "_upsample_nearest_exact2d",
                           "upsample_bilinear2d", "upsample_bicubic2d",
                           "_upsample_bilinear2d_aa"}) {
      for (const Ints& size : {Ints{10, 8}, Ints{3, 9}, Ints{1, 1}}) {
        for (const bool align : {false, true}) {
          const bool has_align =
              std::string(op).find("nearest") == std::string::npos;
          if (align && !has_align) continue;
          CheckOperator(op, [&](RegionBuilder& b) {
            std::vector<TestArg> args = {{"self", b.Input(t)},
                                         {"output_size", size}};
            if (has_align) args.emplace_back("align_corners", align);
            return b.Ops("aten." + std::string(op) + ".default",
                         std::move(args));
          });
        }
      }
    }
  }
}

TEST_P(CpuNeuralTest, UpsamplesOneAndThreeDimensions) {
  CheckOperator("linear1d", [&](RegionBuilder& b) {
    return b.Ops("aten.upsample_linear1d.default",
                 {{"self", b.Input(random_.Floats({2, 3, 7}))},
                  {"output_size", Ints{11}},
                  {"align_corners", false}});
  });
  CheckOperator("trilinear3d", [&](RegionBuilder& b) {
    return b.Ops("aten.upsample_trilinear3d.default",
                 {{"self", b.Input(random_.Floats({1, 2, 3, 4, 5}))},
                  {"output_size", Ints{5, 4, 7}},
                  {"align_corners", true}});
  });
  CheckOperator("nearest3d", [&](RegionBuilder& b) {
    return b.Ops("aten.upsample_nearest3d.default",
                 {{"self", b.Input(random_.Floats({1, 2, 3, 4, 5}))},
                  {"output_size", Ints{6, 4, 7}}});
  });
}

struct TransposedCase {
  Ints stride, padding, output_padding, dilation;
  int64_t groups;
};

TEST_P(CpuNeuralTest, TransposedConvolutions) {
  const Tensor x = random_.Floats({2, 4, 5, 6});
  for (const TransposedCase& c :
       {TransposedCase{{1, 1}, {0, 0}, {0, 0}, {1, 1}, 1},
        TransposedCase{{2, 2}, {1, 0}, {1, 0}, {1, 1}, 1},
        TransposedCase{{3, 2}, {2, 1}, {0, 1}, {2, 1}, 2},
        TransposedCase{{2, 1}, {1, 1}, {0, 0}, {1, 3}, 4}}) {
    for (const Tensor& t : {x, ChannelsLast(x)}) {
      CheckOperator("conv_transpose2d", [&](RegionBuilder& b) {
        return b.Ops("aten.conv_transpose2d.input",
                     {{"input", b.Input(t)},
                      {"weight", b.Input(random_.Floats({4, 3, 3, 2}))},
                      {"bias", b.Input(random_.Floats({3 * c.groups}))},
                      {"stride", c.stride},
                      {"padding", c.padding},
                      {"output_padding", c.output_padding},
                      {"groups", c.groups},
                      {"dilation", c.dilation}});
      });
    }
  }
  CheckOperator("conv_transpose1d", [&](RegionBuilder& b) {
    return b.Ops("aten.conv_transpose1d.default",
                 {{"input", b.Input(random_.Floats({2, 4, 9}))},
                  {"weight", b.Input(random_.Floats({4, 5, 3}))},
                  {"stride", Ints{2}}});
  });
  CheckOperator("conv_transpose3d", [&](RegionBuilder& b) {
    return b.Ops("aten.conv_transpose3d.input",
                 {{"input", b.Input(random_.Floats({1, 2, 3, 4, 2}))},
                  {"weight", b.Input(random_.Floats({2, 3, 2, 1, 3}))},
                  {"stride", Ints{2, 1, 2}}});
  });
}

TEST_P(CpuNeuralTest, RecurrentNetworks) {
  constexpr int64_t kHidden = 5, kWidth = 4, kBatch = 3, kTime = 6;
  for (const auto& [op, gates] : std::vector<std::pair<std::string, int64_t>>{
           {"lstm", 4}, {"gru", 3}, {"rnn_tanh", 1}, {"rnn_relu", 1}}) {
    for (const bool both : {false, true}) {
      for (const bool batch_first : {false, true}) {
        CheckOperator(op, [&, &op = op, &gates = gates](RegionBuilder& b) {
          const int64_t directions = both ? 2 : 1;
          std::vector<ValueId> params;
          for (int64_t layer = 0; layer < 2; ++layer) {
            const int64_t width = layer == 0 ? kWidth : kHidden * directions;
            for (int64_t d = 0; d < directions; ++d) {
              for (const Sizes& sizes :
                   {Sizes{gates * kHidden, width},
                    Sizes{gates * kHidden, kHidden}, Sizes{gates * kHidden},
                    Sizes{gates * kHidden}}) {
                params.push_back(b.Input(random_.Floats(sizes, -0.5f, 0.5f)));
              }
            }
          }
          const Sizes state = {2 * directions, kBatch, kHidden};
          std::vector<TestArg> args = {
              {"input", b.Input(random_.Floats(
                            batch_first ? Sizes{kBatch, kTime, kWidth}
                                        : Sizes{kTime, kBatch, kWidth}))},
              {"params", params},
              {"has_biases", true},
              {"num_layers", 2},
              {"dropout", 0.0},
              {"train", false},
              {"bidirectional", both},
              {"batch_first", batch_first}};
          if (op == "lstm") {
            args.emplace_back(
                "hx", std::vector<ValueId>{b.Input(random_.Floats(state)),
                                           b.Input(random_.Floats(state))});
          } else {
            args.emplace_back("hx", b.Input(random_.Floats(state)));
          }
          return b.Ops("aten." + op + ".input", std::move(args));
        });
      }
    }
  }
}

TEST_P(CpuNeuralTest, EmbeddingBags) {
  Tensor offsets = Tensor::Empty(DType::kInt64, {4});
  WriteAll(&offsets, std::vector<int64_t>{0, 2, 2, 7});
  for (const int64_t mode : {0, 1, 2}) {
    if (mode == 2 && GetParam() != DType::kFloat32) continue;
    for (const bool last : {false, true}) {
      CheckOperator("embedding_bag", [&](RegionBuilder& b) {
        return b.Ops("aten._embedding_bag.default",
                     {{"weight", b.Input(random_.Floats({9, 5}))},
                      {"indices", b.Input(random_.Ints({7}, 0, 8))},
                      {"offsets", b.Input(offsets)},
                      {"mode", mode},
                      {"include_last_offset", last}});
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, CpuNeuralTest,
                         testing::Values(DType::kFloat32, DType::kBFloat16,
                                         DType::kFloat16),
                         [](const auto& test) {
                           return std::string(Name(test.param));
                         });

TEST(CpuNeuralTest, SafeSoftmaxOfLinesThatAreMinusInfinity) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    for (const int64_t dim : {0, 1, -1}) {
      CheckOperator("_safe_softmax", [&](RegionBuilder& b) {
        RandomTensors random;
        Tensor x = random.Floats({3, 3, 4});
        for (int64_t i = 0; i < 20; ++i) x.mutable_data<float>()[i] = -inf;
        for (const int64_t i : {3, 7, 11, 24, 25, 26, 27}) {
          x.mutable_data<float>()[i] = -inf;
        }
        return std::vector<ValueId>{
            b.Op("aten._safe_softmax.default",
                 {{"self", b.Input(Cast(x, dtype))}, {"dim", dim}})};
      });
    }
  }
}

}  // namespace
}  // namespace tenon
