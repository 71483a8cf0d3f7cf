// Products, distances, factors, systems of equations, Fourier transforms.
#include "infer_fixture.h"

namespace tenon {
namespace {

class InferLinalgTest : public InferTest {};

TEST_F(InferLinalgTest, Products) {
  const ValueId v = Input(F32({3}), "v");
  const ValueId w = Input(Tensor(DType::kFloat32, {Sym("s0")}), "w");
  const ValueId m = Input(F32({4, 3}), "m");
  EXPECT_EQ(Of("aten.outer.default", {v, w}), "f32[3, s0]");
  EXPECT_EQ(Of("aten.inner.default", {m, m}), "f32[4, 4]");
  EXPECT_EQ(Of("aten.linear.default", {m, v}), "f32[4]");
  const ValueId a = Input(F32({2, 3, 4}), "a");
  const ValueId b = Input(F32({4, 3, 5}), "b");
  EXPECT_EQ(Of("aten.tensordot.default", {a, b, List{2, 1}, List{0, 1}}),
            "f32[2, 5]");
  const ValueId sum = Input(F32({}), "sum");
  const ValueId c = Input(F32({2, 4, 7}), "c");
  EXPECT_EQ(Of("aten.addbmm.default", {sum, a, c}), "f32[3, 7]");
  // self takes the sizes of the sum.
  EXPECT_EQ(Of("aten.addbmm_.default", {sum, a, c}), "f32[3, 7]");
}

TEST_F(InferLinalgTest, EinsumByItsEquation) {
  const ValueId a =
      Input(Tensor(DType::kFloat32, {Sym("s0"), Lit(2), Lit(3)}), "a");
  const ValueId b = Input(F32({3, 5}), "b");
  EXPECT_EQ(Of("aten.einsum.default", {Text("bij,jk->bik"), List{a, b}}),
            "f32[s0, 2, 5]");
  EXPECT_EQ(Of("aten.einsum.default", {Text("...j, jk"), List{a, b}}),
            "f32[s0, 2, 5]");
  EXPECT_EQ(Of("aten.einsum.default", {Text("zba"), List{a}}), "f32[3, 2, s0]");
  EXPECT_EQ(Of("aten.einsum.default", {Text("ij,j->i"), List{b, b}}), "?");
  // Sums over one operand's integers are int64, products keep their dtype.
  const ValueId i = Input(Literals(DType::kInt8, {2, 3}), "i");
  EXPECT_EQ(Of("aten.einsum.default", {Text("ij->i"), List{i}}), "i64[2]");
  EXPECT_EQ(Of("aten.einsum.default", {Text("ij->ji"), List{i}}), "i8[3, 2]");
  EXPECT_EQ(Of("aten.einsum.default", {Text("ij,kj->ik"), List{i, i}}),
            "i8[2, 2]");
  EXPECT_EQ(Of("aten.einsum.default", {Text("ij,kl->ik"), List{i, i}}),
            "?[2, 2]");
}

TEST_F(InferLinalgTest, Distances) {
  const ValueId a = Input(Tensor(DType::kFloat32, {Sym("s0"), Lit(3)}), "a");
  const ValueId b = Input(F32({2, 5, 3}), "b");
  EXPECT_EQ(Of("aten.cdist.default", {a, b}), "f32[2, s0, 5]");
  EXPECT_EQ(Of("aten.pdist.default", {a}), "f32[?]");
  const ValueId m = Input(F32({4, 3}), "m");
  EXPECT_EQ(Of("aten.pdist.default", {m}), "f32[6]");
  EXPECT_EQ(Of("aten.cosine_similarity.default", {b, b}), "f32[2, 3]");
  const ValueId i = Input(Literals(DType::kInt64, {4, 3}), "i");
  EXPECT_EQ(Of("aten.pairwise_distance.default", {i, i}), "f32[4]");
}

TEST_F(InferLinalgTest, Factors) {
  const ValueId a =
      Input(Tensor(DType::kComplex64, {Sym("s0"), Lit(4), Lit(3)}), "a");
  EXPECT_EQ(All("aten.linalg_svd.default", {a}, 3),
            "c64[s0, 4, 4] f32[s0, 3] c64[s0, 3, 3]");
  EXPECT_EQ(All("aten._linalg_svd.default", {a, false, false}, 3),
            "c64[0] f32[s0, 3] c64[0]");
  EXPECT_EQ(All("aten.svd.default", {a}, 3),
            "c64[s0, 4, 3] f32[s0, 3] c64[s0, 3, 3]");
  EXPECT_EQ(All("aten.linalg_qr.default", {a}, 2),
            "c64[s0, 4, 3] c64[s0, 3, 3]");
  EXPECT_EQ(All("aten.linalg_qr.default", {a, Text("r")}, 2),
            "c64[0] c64[s0, 3, 3]");
  EXPECT_EQ(All("aten.linalg_lu_factor_ex.default", {a}, 3),
            "c64[s0, 4, 3] i32[s0, 3] i32[s0]");
  const ValueId open =
      Input(Tensor(DType::kFloat32, {Sym("s1"), Lit(3)}), "open");
  EXPECT_EQ(All("aten.linalg_qr.default", {open}, 2), "f32[s1, ?] f32[?, 3]");
}

TEST_F(InferLinalgTest, Systems) {
  const ValueId a = Input(F32({2, 3, 3}), "a");
  const ValueId vectors = Input(F32({2, 3}), "vectors");
  const ValueId matrix = Input(F32({3, 5}), "matrix");
  const ValueId open =
      Input(Tensor(DType::kFloat32, {Sym("s0"), Lit(3)}), "open");
  EXPECT_EQ(Of("aten._linalg_solve_ex.default", {a, vectors}, 4), "f32[2, 3]");
  EXPECT_EQ(Of("aten._linalg_solve_ex.default", {a, matrix}, 4),
            "f32[2, 3, 5]");
  // Two vectors, or a matrix of s0 rows.
  EXPECT_EQ(Of("aten._linalg_solve_ex.default", {a, open}, 4), "f32[...]");
  EXPECT_EQ(All("aten.triangular_solve.default", {matrix, a}, 2),
            "f32[2, 3, 5] f32[2, 3, 3]");
}

TEST_F(InferLinalgTest, FourierTransforms) {
  const ValueId x = Input(Tensor(DType::kFloat64, {Sym("s0"), Lit(7)}), "x");
  const ValueId i = Input(Literals(DType::kInt64, {8}), "i");
  const Item none = Arg::None();
  EXPECT_EQ(Of("aten.fft_fft.default", {x}), "c128[s0, 7]");
  EXPECT_EQ(Of("aten.fft_rfft.default", {x}), "c128[s0, 4]");
  EXPECT_EQ(Of("aten.fft_rfft.default", {x, none, 0}), "c128[?, 7]");
  EXPECT_EQ(Of("aten.fft_rfft.default", {x, 10}), "c128[s0, 6]");
  EXPECT_EQ(Of("aten.fft_irfft.default", {x}), "f64[s0, 12]");
  EXPECT_EQ(Of("aten.fft_irfft.default", {x, 5}), "f64[s0, 5]");
  EXPECT_EQ(Of("aten.fft_fft.default", {i}), "c64[8]");
  EXPECT_EQ(Of("aten._fft_r2c.default", {x, List{0, 1}, 0, true}),
            "c128[s0, 4]");
  const ValueId z = Input(Tensor(DType::kComplex64, {Lit(5), Sym("s0")}), "z");
  EXPECT_EQ(Of("aten._fft_c2r.default", {z, List{0}, 0, 9}), "f32[9, s0]");
  const NodeId by_default = Op("aten.fft_fft.default", {i}, {F32({8})});
  EXPECT_TRUE(InferTypes(program, by_default)[0].is_default_dtype);
}

}  // namespace
}  // namespace tenon
