// Reductions and statistics, and sizes that depend on values.
#include "infer_fixture.h"

namespace tenon {
namespace {

class InferSearchTest : public InferTest {};

TEST_F(InferSearchTest, ReductionsByTheirDefaults) {
  const ValueId x =
      Input(Tensor(DType::kFloat32, {Sym("s0"), Lit(4), Lit(5)}), "x");
  EXPECT_EQ(All("aten.mode.default", {x}, 2), "f32[s0, 4] i64[s0, 4]");
  EXPECT_EQ(All("aten.kthvalue.default", {x, 2, 1, true}, 2),
            "f32[s0, 1, 5] i64[s0, 1, 5]");
  EXPECT_EQ(Of("aten.count_nonzero.default", {x}), "i64[]");
  EXPECT_EQ(Of("aten.count_nonzero.dim_IntList", {x, List{0}}), "i64[4, 5]");
  // None of the dimensions: all, or none, by release.
  EXPECT_EQ(Of("aten.nansum.default", {x, List{}}), "f32[...]");
  EXPECT_EQ(Of("aten.nansum.default", {x, Arg::None()}), "f32[]");
  const ValueId z = Input(Literals(DType::kComplex64, {2, 3}), "z");
  EXPECT_EQ(All("aten.var_mean.correction", {z, List{0}}, 2), "f32[3] c64[3]");
}

TEST_F(InferSearchTest, Statistics) {
  const ValueId x = Input(Tensor(DType::kFloat32, {Sym("s0"), Lit(4)}), "x");
  const ValueId q = Input(F32({3}), "q");
  EXPECT_EQ(Of("aten.quantile.default", {x, q, 0, true}), "f32[3, 1, 4]");
  EXPECT_EQ(Of("aten.quantile.scalar", {x, 0.5}), "f32[]");
  EXPECT_EQ(All("aten.histogram.bin_ct", {x, 10}, 2), "f32[10] f32[11]");
  EXPECT_EQ(All("aten.histogramdd.default", {x, List{2, 3}}, 3),
            "f32[2, 3] f32[3] f32[4]");
  // A single row gives a number.
  EXPECT_EQ(Of("aten.cov.default", {x}), "f32[...]");
  const ValueId i = Input(Literals(DType::kInt64, {3, 4}), "i");
  EXPECT_EQ(Of("aten.cov.default", {i}), "f32[3, 3]");
}

TEST_F(InferSearchTest, SizesThatDependOnValuesAreOpen) {
  const ValueId x = Input(Tensor(DType::kFloat32, {Sym("s0"), Lit(4)}), "x");
  const ValueId mask = Input(Literals(DType::kBool, {4}), "mask");
  const Item none = Arg::None();
  EXPECT_EQ(Of("aten.argwhere.default", {x}), "i64[?, 2]");
  EXPECT_EQ(All("aten.nonzero_numpy.default", {x}, 2), "i64[?] i64[?]");
  EXPECT_EQ(Of("aten.nonzero_static.default", {x, 7}), "i64[7, 2]");
  EXPECT_EQ(Of("aten.masked_select.default", {x, mask}), "f32[?]");
  EXPECT_EQ(Of("aten.index.Tensor", {x, List{none, mask}}), "f32[s0, ?]");
  // The mask of such an index is broadcast over the result.
  const ValueId rows = Input(Literals(DType::kInt64, {3, 1}), "rows");
  const ValueId taken = Input(Literals(DType::kBool, {3, 4}), "taken");
  const ValueId square = Input(F32({6}), "square");
  EXPECT_EQ(
      Of("aten._unsafe_masked_index.default", {square, taken, List{rows}, 0.0}),
      "f32[3, 4]");
  const ValueId i = Input(Tensor(DType::kInt64, {Sym("s0")}), "i");
  EXPECT_EQ(Of("aten.bincount.default", {i}), "i64[?]");
  EXPECT_EQ(Of("aten.one_hot.default", {i}), "i64[s0, ?]");
  EXPECT_EQ(Of("aten.one_hot.default", {i, 10}), "i64[s0, 10]");
}

// Older meta functions give indices the dtype of self; along a dimension the
// CPU gives them whether asked or not.
TEST_F(InferSearchTest, UniqueSaysWhatAllVersionsAgreeOn) {
  const ValueId i = Input(Tensor(DType::kInt64, {Sym("s0"), Lit(4)}), "i");
  const ValueId f = Input(F32({3, 4}), "f");
  EXPECT_EQ(All("aten._unique2.default", {i, true, true}, 3),
            "i64[?] i64[s0, 4] i64[0]");
  EXPECT_EQ(All("aten._unique2.default", {f, true, true, true}, 3),
            "f32[?] ?[3, 4] ?[?]");
  EXPECT_EQ(All("aten.unique_dim.default", {i, 1}, 3),
            "i64[s0, ?] i64[4] i64[?]");
  EXPECT_EQ(Of("aten.unique_dim.default", {i, -1}, 3), "i64[...]");
}

TEST_F(InferSearchTest, Ranges) {
  const ValueId n = Input(Scalar(TypeKind::kSymInt), "n");
  EXPECT_EQ(Of("aten.linspace.default", {0, 1, 5}), "f32[5]");
  EXPECT_EQ(Of("aten.linspace.default", {0, 1, n}), "f32[u0]");
  EXPECT_EQ(Of("aten.randperm.default", {n}), "i64[u0]");
  EXPECT_EQ(Of("aten.eye.m", {n, 3}), "f32[u0, 3]");
  EXPECT_EQ(Of("aten.arange.start_step", {0.9, 5.1, 1.5}), "f32[3]");
  // Meta functions of older releases truncate the bounds first.
  EXPECT_EQ(Of("aten.arange.start_step", {0.9, 5.1, 1.5, DType::kInt64}),
            "i64[?]");
}

TEST_F(InferSearchTest, QuantisedTensors) {
  const ValueId x = Input(Tensor(DType::kFloat32, {Sym("s0"), Lit(4)}), "x");
  const ValueId q = Input(Tensor(DType::kInt8, {Sym("s0"), Lit(4)}), "q");
  constexpr char kQuantize[] =
      "quantized_decomposed.quantize_per_tensor.default";
  constexpr char kDequantize[] =
      "quantized_decomposed.dequantize_per_tensor.default";
  EXPECT_EQ(Of(kQuantize, {x, 0.5, 0, -128, 127, DType::kInt8}), "i8[s0, 4]");
  EXPECT_EQ(Of(kDequantize, {q, 0.5, 0, -128, 127, DType::kInt8}),
            "f32[s0, 4]");
  EXPECT_EQ(
      Of(kDequantize, {q, 0.5, 0, -128, 127, DType::kInt8, DType::kBFloat16}),
      "bf16[s0, 4]");
}

TEST_F(InferSearchTest, PartsOfComplexNumbers) {
  const ValueId z = Input(Tensor(DType::kComplex64, {Sym("s0"), Lit(2)}), "z");
  const ValueId r = Input(Tensor(DType::kFloat32, {Sym("s0"), Lit(2)}), "r");
  const ValueId i = Input(Literals(DType::kInt64, {2}), "i");
  EXPECT_EQ(Of("aten.real.default", {z}), "f32[s0, 2]");
  EXPECT_EQ(Of("aten.angle.default", {z}), "f32[s0, 2]");
  EXPECT_EQ(Of("aten.angle.default", {i}), "f32[2]");
  EXPECT_EQ(Of("aten.view_as_complex.default", {r}), "c64[s0]");
  EXPECT_EQ(Of("aten.complex.default", {r, r}), "c64[s0, 2]");
  EXPECT_EQ(Of("aten.view.dtype", {r, DType::kInt16}), "i16[s0, 4]");
  EXPECT_EQ(Of("aten.view.dtype", {r, DType::kFloat64}), "f64[s0, 1]");
  EXPECT_EQ(Of("aten.float_power.Tensor_Scalar", {r, 2}), "f64[s0, 2]");
  EXPECT_EQ(Of("aten.special_ndtr.default", {i}), "f32[2]");
}

}  // namespace
}  // namespace tenon
