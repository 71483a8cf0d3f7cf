// Views, parts, joins, pads and diagonals.
#include "infer_fixture.h"

namespace tenon {
namespace {

class InferShapesTest : public InferTest {
 protected:
  // f32[s0, 4, s1]
  ValueId Symbolic() {
    return Input(Tensor(DType::kFloat32, {Sym("s0"), Lit(4), Sym("s1")}), "x");
  }
};

TEST_F(InferShapesTest, DimensionsAreTakenApart) {
  const ValueId x = Symbolic();
  EXPECT_EQ(Of("aten.unflatten.int", {x, 1, List{2, -1}}), "f32[s0, 2, 2, s1]");
  EXPECT_EQ(Of("aten.unflatten.int", {x, 2, List{-1, 2}}), "f32[s0, 4, ?, 2]");
  EXPECT_EQ(Of("aten.unflatten.int", {x, 2, List{1, -1}}), "f32[s0, 4, 1, s1]");
  EXPECT_EQ(Of("aten.ravel.default", {x}), "f32[?]");
  EXPECT_EQ(Of("aten.unfold.default", {x, 1, 2, 1}), "f32[s0, 3, s1, 2]");
  EXPECT_EQ(Of("aten.unfold.default", {x, 2, 2, 1}), "f32[s0, 4, ?, 2]");
}

TEST_F(InferShapesTest, DimensionsAreMoved) {
  const ValueId x = Symbolic();
  EXPECT_EQ(Of("aten.numpy_T.default", {x}), "f32[s1, 4, s0]");
  EXPECT_EQ(Of("aten.mH.default", {x}), "f32[s0, s1, 4]");
  EXPECT_EQ(Of("aten.movedim.intlist", {x, List{0, 1}, List{-1, 0}}),
            "f32[4, s1, s0]");
  EXPECT_EQ(Of("aten.rot90.default", {x, 1, List{0, 2}}), "f32[s1, 4, s0]");
  EXPECT_EQ(Of("aten.rot90.default", {x, 2, List{0, 2}}), "f32[s0, 4, s1]");
}

TEST_F(InferShapesTest, MissingDimensionsAreOne) {
  const ValueId v = Input(Tensor(DType::kFloat32, {Sym("s0")}), "v");
  const ValueId n = Input(F32({}), "n");
  EXPECT_EQ(Of("aten.atleast_1d.default", {n}), "f32[1]");
  EXPECT_EQ(Of("aten.atleast_2d.default", {v}), "f32[1, s0]");
  EXPECT_EQ(Of("aten.atleast_3d.default", {v}), "f32[1, s0, 1]");
  EXPECT_EQ(All("aten.atleast_2d.Sequence", One({v, n}), 2),
            "f32[1, s0] f32[1, 1]");
  EXPECT_EQ(All("aten.broadcast_tensors.default", One({v, n}), 2),
            "f32[s0] f32[s0]");
}

TEST_F(InferShapesTest, SumToSizeOfIntegersDependsOnWhetherItSums) {
  const ValueId i = Input(Literals(DType::kInt32, {5, 3}), "i");
  const ValueId s = Input(Tensor(DType::kInt32, {Sym("s0"), Lit(3)}), "s");
  EXPECT_EQ(Of("aten.sum_to_size.default", {i, List{1, 3}}), "i64[1, 3]");
  EXPECT_EQ(Of("aten.sum_to_size.default", {i, List{5, 3}}), "i32[5, 3]");
  EXPECT_EQ(Of("aten.sum_to_size.default", {s, List{1, 3}}), "?[1, 3]");
  EXPECT_EQ(Of("aten.sum_to_size.default", {s, List{3}}), "i64[3]");
}

TEST_F(InferShapesTest, SplitsIntoSections) {
  const ValueId x = Symbolic();
  const ValueId y = Input(F32({5, 4}), "y");
  EXPECT_EQ(All("aten.tensor_split.sections", {y, 3}, 3),
            "f32[2, 4] f32[2, 4] f32[1, 4]");
  EXPECT_EQ(All("aten.tensor_split.sections", {x, 2}, 2),
            "f32[?, 4, s1] f32[?, 4, s1]");
  EXPECT_EQ(All("aten.tensor_split.indices", {y, List{1, -1}}, 3),
            "f32[1, 4] f32[3, 4] f32[1, 4]");
  EXPECT_EQ(All("aten.hsplit.int", {y, 2}, 2), "f32[5, 2] f32[5, 2]");
  const ValueId at = Input(Literals(DType::kInt64, {2}), "at");
  EXPECT_EQ(All("aten.tensor_split.tensor_indices_or_sections", {y, at}, 3),
            "f32[?, 4] f32[?, 4] f32[?, 4]");
  const ValueId empty = Input(F32({0, 4}), "empty");
  EXPECT_EQ(All("aten.chunk.default", {empty, 2}, 2), "f32[0, 4] f32[0, 4]");
}

TEST_F(InferShapesTest, JoinsWhateverIsEmpty) {
  const ValueId x = Symbolic();
  const ValueId nothing = Input(F32({0}), "nothing");
  const ValueId v = Input(Tensor(DType::kFloat32, {Sym("s2")}), "v");
  EXPECT_EQ(Of("aten.cat.default", {List{x, nothing}, 1}), "f32[s0, 4, s1]");
  // It may turn out to be empty, too.
  EXPECT_EQ(Of("aten.cat.default", {List{x, v}, 1}), "f32[...]");
  EXPECT_EQ(Of("aten.cat.default", One({v, v})), "f32[?]");
  EXPECT_EQ(Of("aten.cat.default", One({nothing, nothing})), "f32[0]");
}

TEST_F(InferShapesTest, StacksWithAsManyDimensionsAsThatTakes) {
  const ValueId v = Input(F32({3}), "v");
  const ValueId m = Input(F32({3, 2}), "m");
  EXPECT_EQ(Of("aten.hstack.default", One({v, v})), "f32[6]");
  EXPECT_EQ(Of("aten.hstack.default", One({m, m})), "f32[3, 4]");
  EXPECT_EQ(Of("aten.vstack.default", One({v, v})), "f32[2, 3]");
  EXPECT_EQ(Of("aten.dstack.default", One({v, v})), "f32[1, 3, 2]");
  EXPECT_EQ(Of("aten.column_stack.default", One({v, m})), "f32[3, 3]");
  // Numbers become vectors before dtypes are promoted.
  const ValueId n = Input(Literals(DType::kInt16, {}), "n");
  const ValueId row = Input(Literals(DType::kUInt8, {1, 5}), "row");
  EXPECT_EQ(Of("aten.column_stack.default", One({n, row})), "i16[1, 6]");
  EXPECT_EQ(Of("aten.block_diag.default", One({v, m})), "f32[4, 5]");
  EXPECT_EQ(Of("aten.cartesian_prod.default", One({v, v})), "f32[9, 2]");
  EXPECT_EQ(Of("aten.combinations.default", {v, 2, false}), "f32[3, 2]");
  EXPECT_EQ(Of("aten.combinations.default", {v, 2, true}), "f32[6, 2]");
  EXPECT_EQ(Of("aten._chunk_cat.default", {List{m, m}, 0, 2}), "f32[2, 8]");
  const ValueId w = Input(F32({5}), "w");
  EXPECT_EQ(All("aten.meshgrid.indexing", {List{v, w}, Text("xy")}, 2),
            "f32[5, 3] f32[5, 3]");
}

TEST_F(InferShapesTest, RepeatsByNumbersAndByTensors) {
  const ValueId x = Symbolic();
  const ValueId r = Input(Literals(DType::kInt64, {4}), "r");
  const Item none = Arg::None();
  EXPECT_EQ(Of("aten.tile.default", {x, List{3}}), "f32[s0, 4, ?]");
  EXPECT_EQ(Of("aten.tile.default", {x, List{2, 1, 1, 1}}),
            "f32[2, s0, 4, s1]");
  EXPECT_EQ(Of("aten.repeat_interleave.self_Tensor", {x, r, 1}),
            "f32[s0, ?, s1]");
  EXPECT_EQ(Of("aten.repeat_interleave.self_Tensor", {x, r, 1, 9}),
            "f32[s0, 9, s1]");
  EXPECT_EQ(Of("aten.repeat_interleave.Tensor", {r}), "i64[?]");
  const ValueId m = Input(F32({2, 3}), "m");
  EXPECT_EQ(Of("aten.repeat_interleave.self_int", {m, 2, none}), "f32[12]");
  EXPECT_EQ(Of("aten.kron.default", {m, m}), "f32[4, 9]");
}

TEST_F(InferShapesTest, PadsAndBlocks) {
  const ValueId x =
      Input(Tensor(DType::kFloat32, {Sym("s0"), Lit(4), Lit(6), Lit(6)}), "x");
  EXPECT_EQ(Of("aten.reflection_pad2d.default", {x, List{1, 2, 0, 1}}),
            "f32[s0, 4, 7, 9]");
  EXPECT_EQ(Of("aten.pixel_shuffle.default", {x, 2}), "f32[s0, 1, 12, 12]");
  EXPECT_EQ(Of("aten.pixel_unshuffle.default", {x, 2}), "f32[s0, 16, 3, 3]");
  EXPECT_EQ(Of("aten.im2col.default",
               {x, List{2, 2}, List{1, 1}, List{0, 0}, List{2, 2}}),
            "f32[s0, 16, 9]");
  const ValueId columns = Input(F32({2, 16, 9}), "columns");
  EXPECT_EQ(Of("aten.col2im.default", {columns, List{6, 6}, List{2, 2},
                                       List{1, 1}, List{0, 0}, List{2, 2}}),
            "f32[2, 4, 6, 6]");
}

TEST_F(InferShapesTest, Diagonals) {
  const ValueId x = Symbolic();
  const ValueId m = Input(F32({3, 5}), "m");
  EXPECT_EQ(Of("aten.diagonal.default", {m, 3}), "f32[2]");
  EXPECT_EQ(Of("aten.diagonal.default", {m, -4}), "f32[0]");
  EXPECT_EQ(Of("aten.diagonal.default", {x, 0, 0, 2}), "f32[4, ?]");
  EXPECT_EQ(Of("aten.diag_embed.default", {m, 1}), "f32[3, 6, 6]");
  EXPECT_EQ(Of("aten.diag_embed.default", {x}), "f32[s0, 4, s1, s1]");
  EXPECT_EQ(Of("aten.diagflat.default", {m}), "f32[15, 15]");
  EXPECT_EQ(Of("aten.tril_indices.default", {3, 4, 1}), "i64[2, 9]");
  EXPECT_EQ(Of("aten.triu_indices.default", {3, 4, 1}), "i64[2, 6]");
}

TEST_F(InferShapesTest, DifferencesOfNeighbours) {
  const ValueId x = Symbolic();
  const ValueId i = Input(Literals(DType::kInt64, {2, 5}), "i");
  EXPECT_EQ(Of("aten.diff.default", {i, 2}), "i64[2, 3]");
  EXPECT_EQ(Of("aten.diff.default", {i, 1, 1, i}), "i64[2, 9]");
  EXPECT_EQ(Of("aten.diff.default", {x}), "f32[s0, 4, ?]");
  EXPECT_EQ(Of("aten.trapezoid.dx", {i}), "f32[2]");
  EXPECT_EQ(Of("aten.cumulative_trapezoid.dx", {x, 1, 1}), "f32[s0, 3, s1]");
  // Without a point along `dim` there is nothing to divide: the dtype stays.
  const ValueId s = Input(Tensor(DType::kInt64, {Lit(2), Sym("s0")}), "s");
  EXPECT_EQ(Of("aten.trapezoid.dx", {s}), "?[2]");
  EXPECT_EQ(All("aten.gradient.scalarint", {i}, 2), "f32[2, 5] f32[2, 5]");
}

}  // namespace
}  // namespace tenon
