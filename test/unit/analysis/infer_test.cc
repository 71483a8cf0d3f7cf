#include "analysis/infer.h"

#include "analysis/promote.h"
#include "infer_fixture.h"

namespace tenon {
namespace {

TEST_F(InferTest, PromotesLikePyTorch) {
  const ValueId f = Input(F32({2, 3}), "f");
  const ValueId i = Input(Literals(DType::kInt64, {3}), "i");
  const ValueId u = Input(Literals(DType::kUInt8, {3}), "u");
  const ValueId c = Input(Literals(DType::kInt8, {3}), "c");
  const ValueId h = Input(Literals(DType::kBFloat16, {2, 1}), "h");
  const ValueId hs = Input(Literals(DType::kFloat16, {1}), "hs");
  const ValueId d0 = Input(Literals(DType::kFloat64, {}), "d0");
  EXPECT_EQ(Of("aten.add.Tensor", {f, i}), "f32[2, 3]");
  EXPECT_EQ(Of("aten.add.Tensor", {h, d0}), "bf16[2, 1]");
  EXPECT_EQ(Of("aten.add.Tensor", {i, d0}), "f64[3]");
  EXPECT_EQ(Of("aten.add.Tensor", {h, hs}), "f32[2, 1]");
  EXPECT_EQ(Of("aten.add.Tensor", {u, c}), "i16[3]");
  EXPECT_EQ(Of("aten.mul.Tensor", {i, 1.5}), "f32[3]");
  EXPECT_EQ(Of("aten.mul.Tensor", {u, 300}), "u8[3]");
  EXPECT_EQ(Of("aten.div.Tensor", {i, 2}), "f32[3]");
  EXPECT_EQ(Of("aten.lt.Scalar", {f, 0.5}), "bool[2, 3]");
  EXPECT_EQ(Of("aten.sum.default", {u}), "i64[]");
}

// A dtype that only the default decides is marked: a program may have been
// exported under another one.
TEST_F(InferTest, MarksTheDefaultDtype) {
  const ValueId i = Input(Literals(DType::kInt64, {3}), "i");
  const ValueId f = Input(F32({3}), "f");
  const NodeId by_number = Op("aten.mul.Tensor", {i, 1.5}, {F32({3})});
  const NodeId by_division = Op("aten.div.Tensor", {i, i}, {F32({3})});
  const NodeId by_tensor = Op("aten.mul.Tensor", {i, f}, {F32({3})});
  const NodeId zeros =
      Op("aten.zeros.default", std::vector<Item>{Item(List{2})}, {F32({2})});
  EXPECT_TRUE(InferTypes(program, by_number)[0].is_default_dtype);
  EXPECT_TRUE(InferTypes(program, by_division)[0].is_default_dtype);
  EXPECT_FALSE(InferTypes(program, by_tensor)[0].is_default_dtype);
  EXPECT_TRUE(InferTypes(program, zeros)[0].is_default_dtype);
}

TEST_F(InferTest, KeepsSymbolsAndAdmitsWhatDepends) {
  const ValueId x =
      Input(Tensor(DType::kFloat32, {Sym("s0"), Lit(4), Sym("s1")}), "x");
  const ValueId y =
      Input(Tensor(DType::kFloat32, {Lit(1), Lit(4), Sym("s1")}), "y");
  const ValueId z =
      Input(Tensor(DType::kFloat32, {Lit(5), Lit(4), Sym("s1")}), "z");
  EXPECT_EQ(Of("aten.add.Tensor", {x, y}), "f32[s0, 4, s1]");
  EXPECT_EQ(Of("aten.add.Tensor", {x, z}), "f32[?, 4, s1]");
  EXPECT_EQ(Of("aten.view.default", {x, List{4, -1}}), "f32[4, ?]");
  EXPECT_EQ(Of("aten.cat.default", {List{x, z}, 1}), "f32[5, 8, s1]");
  EXPECT_EQ(Of("aten.squeeze.dim", {x, 0}), "f32[...]");
  EXPECT_EQ(Of("aten.slice.Tensor", {x, 1, 1, 3}), "f32[s0, 2, s1]");
  EXPECT_EQ(Of("aten.slice.Tensor", {x, 0, 1}), "f32[?, 4, s1]");
}

TEST_F(InferTest, ComputesSizes) {
  const ValueId x = Input(F32({2, 3, 8, 8}), "x");
  const ValueId w = Input(F32({6, 3, 3, 3}), "w");
  const ValueId m = Input(F32({4, 5}), "m");
  const ValueId n = Input(F32({5, 7}), "n");
  EXPECT_EQ(Of("aten.conv2d.default", {x, w, Arg::None(), List{2, 2}, 1}),
            "f32[2, 6, 4, 4]");
  EXPECT_EQ(Of("aten.max_pool2d.default", {x, List{3, 3}, List{2, 2}}),
            "f32[2, 3, 3, 3]");
  EXPECT_EQ(Of("aten.mm.default", {m, n}), "f32[4, 7]");
  EXPECT_EQ(Of("aten.permute.default", {x, List{0, 2, 3, 1}}),
            "f32[2, 8, 8, 3]");
  EXPECT_EQ(Of("aten.sum.dim_IntList", {x, List{-1, 1}, true}),
            "f32[2, 1, 8, 1]");
  EXPECT_EQ(Of("aten.sum.dim_IntList", {x, List{}}), "f32[]");
  // Several dims of any: none are none, and None is all or none.
  EXPECT_EQ(Of("aten.any.dims", {x, List{}}), "bool[2, 3, 8, 8]");
  EXPECT_EQ(Of("aten.any.dims", {x, Arg::None()}), "bool[...]");
  EXPECT_EQ(Of("aten.topk.default", {m, 2}, 2, 1), "i64[4, 2]");
  EXPECT_EQ(Of("aten.chunk.default", {m, 3, 1}, 3, 2), "f32[4, 1]");
  EXPECT_EQ(Of("aten.arange.start_step", {1, 10, 4}), "i64[3]");
  EXPECT_EQ(Of("aten.nonzero.default", {x}), "i64[?, 4]");
}

TEST_F(InferTest, IndexPutsSeparatedDimensionsFirst) {
  const ValueId x = Input(F32({5, 2, 3, 4}), "x");
  const ValueId i = Input(Literals(DType::kInt64, {7}), "i");
  const ValueId mask = Input(Literals(DType::kBool, {5}), "mask");
  const Item none = Arg::None();
  EXPECT_EQ(Of("aten.index.Tensor", {x, List{none, i, i}}), "f32[5, 7, 4]");
  EXPECT_EQ(Of("aten.index.Tensor", {x, List{none, i, none, i}}),
            "f32[7, 5, 3]");
  // A mask gives as many as it has true elements, and takes its dimensions.
  EXPECT_EQ(Of("aten.index.Tensor", {x, List{mask}}), "f32[?, 2, 3, 4]");
  const ValueId plane = Input(Literals(DType::kBool, {2, 3}), "plane");
  EXPECT_EQ(Of("aten.index.Tensor", {x, List{none, plane}}), "f32[5, ?, 4]");
}

TEST_F(InferTest, ScalarsByTheirKinds) {
  const ValueId n = Input(Scalar(TypeKind::kSymInt), "n");
  const ValueId f = Input(Scalar(TypeKind::kSymFloat), "f");
  const ValueId i = Input(Literals(DType::kInt32, {}), "i");
  EXPECT_EQ(Of("_operator.add", {n, 1}), "symint");
  EXPECT_EQ(Of("_operator.add", {n, f}), "symfloat");
  EXPECT_EQ(Of("_operator.truediv", {n, 2}), "symfloat");
  EXPECT_EQ(Of("_operator.le", {n, 2}), "symbool");
  EXPECT_EQ(Of("_operator.pow", {n, 2}), "?");
  EXPECT_EQ(Of("aten.item.default", {i}), "symint");
}

TEST_F(InferTest, InPlaceGivesTheWrittenTensor) {
  const ValueId i = Input(Literals(DType::kInt64, {3}), "i");
  const ValueId f = Input(F32({3}), "f");
  EXPECT_EQ(Of("aten.add_.Tensor", {f, i}), "f32[3]");
  EXPECT_EQ(Of("aten.copy_.default", {i, f}), "i64[3]");
  // A tensor passed as `out` is resized to what it gets.
  const ValueId out = Input(Literals(DType::kFloat64, {0}), "out");
  EXPECT_EQ(Of("aten.atan2.out", {f, f, out}), "f64[...]");
}

// matmul of float32 inside autocast computes in bfloat16.
// What such an operator returns has another shape than what it was given.
TEST_F(InferTest, InPlaceViewsHaveTheirNewShape) {
  const ValueId x = Input(F32({2, 1, 3}), "x");
  EXPECT_EQ(Of("aten.unsqueeze_.default", {x, 0}), "f32[1, 2, 1, 3]");
  EXPECT_EQ(Of("aten.squeeze_.dim", {x, 1}), "f32[2, 3]");
  EXPECT_EQ(Of("aten.transpose_.default", {x, 0, 2}), "f32[3, 1, 2]");
  EXPECT_EQ(Of("aten.resize_.default", {x, List{2, 2}}), "f32[2, 2]");
  EXPECT_EQ(Of("aten.set_.source_Tensor", {x, x}), "?");
  const ValueId y = Input(F32({4, 5}), "y");
  EXPECT_EQ(Of("aten.resize_as_.default", {x, y}), "f32[4, 5]");
}

TEST_F(InferTest, MasksBroadcast) {
  const ValueId x = Input(F32({3}), "x");
  const ValueId mask = Input(Literals(DType::kBool, {2, 1}), "mask");
  EXPECT_EQ(Of("aten.masked_scatter.default", {x, mask, x}), "f32[2, 3]");
}

TEST_F(InferTest, SaysNothingInsideAutocast) {
  const ValueId x = Input(F32({2, 2}), "x");
  const GraphId body = program.AddGraph("body");
  const ValueId p = Input(F32({2, 2}), "p", body);
  const NodeId mm = Op("aten.mm.default", {p, p}, {F32({2, 2})}, body);
  Return({program.node(mm).results[0]}, body);
  Op("higher_order.wrap_with_autocast",
     {Arg::String(context->Intern("cpu")), DType::kBFloat16, true, false,
      Arg::OfGraph(body), x},
     {F32({2, 2})});
  EXPECT_TRUE(InferTypes(program, mm).empty());
}

TEST(Promotion, HasNoAnswerForFloat8) {
  EXPECT_EQ(PromoteDTypes(DType::kFloat8E5M2, DType::kFloat32),
            DType::kUnknown);
  EXPECT_EQ(PromoteDTypes(DType::kUInt32, DType::kInt8), DType::kUnknown);
  EXPECT_EQ(PromoteDTypes(DType::kComplex64, DType::kFloat64),
            DType::kComplex128);
}

// From one release of PyTorch to the next.
TEST(Promotion, LeavesOpenWhichComplexGoesWithBFloat16) {
  Promotion promotion;
  promotion.AddTensor(DType::kBFloat16, true);
  promotion.AddNumber(DType::kComplex64);
  EXPECT_EQ(promotion.Result(), DType::kUnknown);
  EXPECT_EQ(ToComplex(DType::kBFloat16), DType::kUnknown);
  EXPECT_EQ(PromoteDTypes(DType::kBFloat16, DType::kComplex64),
            DType::kComplex64);
}

}  // namespace
}  // namespace tenon
