// Layers, losses, gradients.
#include "infer_fixture.h"

namespace tenon {
namespace {

class InferNeuralTest : public InferTest {
 protected:
  // f32[s0, 4, 6, 6]
  ValueId Image() {
    return Input(Tensor(DType::kFloat32, {Sym("s0"), Lit(4), Lit(6), Lit(6)}),
                 "x");
  }
  TypeId OnDevice(std::string_view device, DType dtype,
                  std::initializer_list<int64_t> sizes) {
    Type t = context->types.get(Literals(dtype, sizes));
    t.device.type = context->Intern(device);
    return context->types.Intern(std::move(t));
  }
};

TEST_F(InferNeuralTest, Resampling) {
  const ValueId x = Image();
  const Item none = Arg::None();
  EXPECT_EQ(Of("aten.upsample_bicubic2d.default", {x, List{3, 9}, false}),
            "f32[s0, 4, 3, 9]");
  EXPECT_EQ(Of("aten.upsample_nearest2d.vec", {x, none, List{2.0, 0.4}}),
            "f32[s0, 4, 12, 2]");
  const ValueId open = Input(
      Tensor(DType::kFloat32, {Lit(1), Lit(4), Sym("s1"), Lit(6)}), "open");
  EXPECT_EQ(Of("aten.upsample_nearest2d.vec", {open, none, List{2.0, 2.0}}),
            "f32[1, 4, ?, 12]");
  EXPECT_EQ(All("aten.adaptive_max_pool2d.default", {x, List{2, 3}}, 2),
            "f32[s0, 4, 2, 3] i64[s0, 4, 2, 3]");
}

TEST_F(InferNeuralTest, ConvolutionsPaddedByAWord) {
  const ValueId x = Image();
  const ValueId w = Input(F32({8, 4, 3, 3}), "w");
  const Item none = Arg::None();
  EXPECT_EQ(Of("aten.conv2d.padding", {x, w, none, 1, Text("same")}),
            "f32[s0, 8, 6, 6]");
  EXPECT_EQ(Of("aten.conv2d.padding", {x, w, none, 1, Text("valid")}),
            "f32[s0, 8, 4, 4]");
  // A window that only the rounding lets in.
  const ValueId small = Input(F32({1, 1, 2, 2}), "small");
  EXPECT_EQ(Of("aten.max_pool2d.default",
               {small, List{3, 3}, List{2, 2}, List{0, 0}, List{1, 1}, true}),
            "f32[1, 1, 1, 1]");
}

TEST_F(InferNeuralTest, StatisticsByDeviceAndDtype) {
  const ValueId x = Image();
  const ValueId w = Input(F32({4}), "w");
  const Item none = Arg::None();
  EXPECT_EQ(All("aten.native_batch_norm.default",
                {x, w, w, w, w, true, 0.1, 1e-5}, 3),
            "f32[s0, 4, 6, 6] f32[4] f32[4]");
  EXPECT_EQ(All("aten.native_batch_norm.default",
                {x, w, w, w, w, false, 0.1, 1e-5}, 3),
            "f32[s0, 4, 6, 6] f32[0] f32[0]");
  const ValueId far = Input(OnDevice("cuda", DType::kFloat32, {2, 4}), "far");
  EXPECT_EQ(All("aten.native_batch_norm.default",
                {far, none, none, none, none, false, 0.1, 1e-5}, 3),
            "f32[2, 4] f32[?] f32[?]");
  const ValueId h = Input(Literals(DType::kBFloat16, {2, 4}), "h");
  const ValueId hw = Input(Literals(DType::kBFloat16, {4}), "hw");
  EXPECT_EQ(
      All("aten.native_layer_norm.default", {h, List{4}, hw, hw, 1e-5}, 3),
      "bf16[2, 4] bf16[2, 1] bf16[2, 1]");
  EXPECT_EQ(All("aten.native_layer_norm.default", {h, List{4}, w, w, 1e-5}, 3),
            "bf16[2, 4] ?[2, 1] ?[2, 1]");
  const ValueId far_half =
      Input(OnDevice("cuda", DType::kBFloat16, {2, 4}), "far_half");
  EXPECT_EQ(All("aten.native_layer_norm.default",
                {far_half, List{4}, none, none, 1e-5}, 3),
            "bf16[2, 4] ?[2, 1] ?[2, 1]");
}

TEST_F(InferNeuralTest, AttentionBroadcastsItsBatch) {
  const auto shape = [this](SymInt batch, int64_t heads, int64_t length) {
    return Input(
        Tensor(DType::kFloat32, {batch, Lit(heads), Lit(length), Lit(16)}),
        "t");
  };
  const ValueId q = shape(Sym("s0"), 8, 5), k = shape(Sym("s0"), 8, 7);
  const ValueId grouped = shape(Sym("s0"), 2, 7);
  const ValueId one = shape(Lit(1), 8, 7), other = shape(Sym("s1"), 8, 7);
  constexpr char kOp[] = "aten.scaled_dot_product_attention.default";
  EXPECT_EQ(Of(kOp, {q, k, k}), "f32[s0, 8, 5, 16]");
  EXPECT_EQ(Of(kOp, {q, one, one}), "f32[s0, 8, 5, 16]");
  EXPECT_EQ(Of(kOp, {q, other, other}), "f32[?, 8, 5, 16]");
  EXPECT_EQ(Of(kOp, {q, grouped, grouped}), "f32[s0, ?, 5, 16]");
  const ValueId mask = Input(Literals(DType::kBool, {1, 8, 5, 7}), "mask");
  EXPECT_EQ(Of(kOp, {q, k, k, mask}), "f32[s0, 8, 5, 16]");
  EXPECT_EQ(All("aten._scaled_dot_product_flash_attention_for_cpu.default",
                {q, k, k}, 2),
            "f32[s0, 8, 5, 16] f32[s0, 8, 5]");
}

// Of an lstm's states releases disagree.
TEST_F(InferNeuralTest, RecurrentStatesStayAsTheyCame) {
  const ValueId x =
      Input(Tensor(DType::kFloat32, {Sym("s0"), Lit(3), Lit(10)}), "x");
  const ValueId h = Input(F32({4, 3, 20}), "h");
  const ValueId c = Input(F32({4, 3, 25}), "c");
  EXPECT_EQ(All("aten.lstm.input",
                {x, List{h, c}, List{}, true, 2, 0.0, false, true, false}, 3),
            "f32[s0, 3, 40] f32[...] f32[...]");
  EXPECT_EQ(All("aten.gru.input",
                {x, h, List{}, true, 4, 0.0, false, false, false}, 2),
            "f32[s0, 3, 20] f32[4, 3, 20]");
}

TEST_F(InferNeuralTest, BagsOfEmbeddings) {
  const ValueId w = Input(F32({9, 3}), "w");
  const ValueId i = Input(Literals(DType::kInt64, {6}), "i");
  const ValueId offsets = Input(Tensor(DType::kInt64, {Sym("s0")}), "offsets");
  EXPECT_EQ(All("aten._embedding_bag.default", {w, i, offsets}, 4),
            "f32[s0, 3] i64[0] i64[s0] i64[s0]");
  EXPECT_EQ(All("aten._embedding_bag.default", {w, i, offsets, false, 2}, 4),
            "f32[s0, 3] i64[6] i64[s0] i64[s0, 3]");
}

TEST_F(InferNeuralTest, LossesByTheirReduction) {
  const ValueId x = Input(Tensor(DType::kFloat32, {Sym("s0"), Lit(5)}), "x");
  const ValueId y = Input(F32({1, 5}), "y");
  const ValueId classes = Input(Tensor(DType::kInt64, {Sym("s0")}), "classes");
  const Item none = Arg::None();
  EXPECT_EQ(Of("aten.mse_loss.default", {x, y, 0}), "f32[s0, 5]");
  EXPECT_EQ(Of("aten.mse_loss.default", {x, y}), "f32[]");
  EXPECT_EQ(Of("aten.cross_entropy_loss.default", {x, classes, none, 0}),
            "f32[s0]");
  EXPECT_EQ(
      All("aten.nll_loss_forward.default", {x, classes, none, 0, -100}, 2),
      "f32[s0] f32[]");
  EXPECT_EQ(Of("aten.triplet_margin_loss.default",
               {x, x, x, 1.0, 2.0, 1e-6, false, 0}),
            "f32[s0]");
  const ValueId i = Input(Literals(DType::kInt32, {5}), "i");
  EXPECT_EQ(Of("aten.margin_ranking_loss.default", {i, i, i}), "f32[]");
  const ValueId complex = Input(Literals(DType::kComplex64, {5}), "complex");
  EXPECT_EQ(Of("aten.l1_loss.default", {complex, complex, 0}), "f32[5]");
  const ValueId n = Input(F32({}), "n");
  const ValueId of_n = Input(Literals(DType::kInt64, {}), "of_n");
  EXPECT_EQ(Of("aten.multi_margin_loss.default", {n, of_n, 1, 1, none, 0}),
            "f32[...]");
}

TEST_F(InferNeuralTest, GradientsAreLikeWhatTheyAreOf) {
  const ValueId x = Image();
  const ValueId w = Input(F32({8, 4, 3, 3}), "w");
  const ValueId g =
      Input(Tensor(DType::kFloat32, {Sym("s0"), Lit(8), Lit(4), Lit(4)}), "g");
  const auto mask = [](bool a, bool b, bool c) { return List{a, b, c}; };
  const auto convolution = [&](const List& wanted) {
    return All("aten.convolution_backward.default",
               {g, x, w, List{8}, List{1, 1}, List{0, 0}, List{1, 1}, false,
                List{0, 0}, 1, wanted},
               3);
  };
  EXPECT_EQ(convolution(mask(true, true, true)),
            "f32[s0, 4, 6, 6] f32[8, 4, 3, 3] f32[8]");
  EXPECT_EQ(convolution(mask(false, true, false)), "none f32[8, 4, 3, 3] none");
  EXPECT_EQ(Of("aten.slice_backward.default", {g, List{2, 9}, 1, 0, 4, 1}),
            "f32[2, 9]");
  EXPECT_EQ(Of("aten.gelu_backward.default", {g, g}), "f32[s0, 8, 4, 4]");
  EXPECT_EQ(Of("aten.embedding_dense_backward.default", {g, x, 10, -1, false}),
            "f32[10, 4]");
  EXPECT_EQ(
      Of("aten.max_pool2d_with_indices_backward.default",
         {g, x, List{3, 3}, List{1, 1}, List{0, 0}, List{1, 1}, false, g}),
      "f32[s0, 4, 6, 6]");
}

}  // namespace
}  // namespace tenon
