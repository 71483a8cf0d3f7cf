// Quantisation by blocks as plain operators: the same integers and numbers as
// the reference kernels give, which PyTorch's and torchao's records judge.
#include <gtest/gtest.h>

#include <string>

#include "lowered.h"

namespace tenon {
namespace {

std::string ThereAndBack(const std::string& mapping, const std::string& block,
                         const std::string& scales, const std::string& range) {
  return "\ngraph @main(%x : f32[4, 6]) {\n  %s : f32[" + scales +
         "], %z : i8[" + scales +
         "] = torchao.choose_qparams_affine.default(%x, \"" + mapping + "\", " +
         block + ", torch.int8, " + range +
         ", None, None, torch.int8)\n"
         "  %q : i8[4, 6] = torchao.quantize_affine.default(%x, " +
         block + ", %s, %z, torch.int8, " + range +
         ")\n  %d : f32[4, 6] = torchao.dequantize_affine.default(%q, " +
         block + ", %s, %z, torch.int8, " + range +
         ")\n  return (%s, %z, %q, %d)\n}\n";
}

TEST(LowerAffine, RowsAreBlocks) {
  ExpectLowers(ThereAndBack("ASYMMETRIC", "[1, 6]", "4", "-128, 127"));
}

TEST(LowerAffine, ATensorIsABlock) {
  ExpectLowers(
      ThereAndBack("SYMMETRIC_NO_CLIPPING_ERR", "[4, 6]", "", "-8, 7"));
}

TEST(LowerAffine, BlocksCutADimension) {
  ExpectLowers(ThereAndBack("SYMMETRIC", "[1, 3]", "4, 2", "-8, 7"));
  ExpectLowers(ThereAndBack("ASYMMETRIC", "[2, 3]", "2, 2", "-128, 127"));
}

TEST(LowerAffine, GroupsOfColumnsHaveScales) {
  ExpectLowers(R"(
graph @main(%x : f32[2, 3], %f : f32[2, 6]) {
  %q : i8[2, 6] = aten._to_copy.default(%f, dtype=torch.int8)
  %d : f32[2, 6] = quantized_decomposed.dequantize_per_channel_group.default(%q, %x, None, -8, 7, torch.int8, 2, torch.float32)
  return (%d)
}
)");
}

TEST(LowerAffine, SymmetricRowsHaveTheDtypesThatTheProgramStates) {
  const Program program = Lowered(R"(
graph @main(%x : f32[3, 5]) {
  %s : f64[3, 1], %z : i64[3, 1] = quantized_decomposed.choose_qparams_per_token.default(%x, torch.int8)
  %q : i8[3, 5] = quantized_decomposed.quantize_per_token.default(%x, %s, %z, -128, 127, torch.int8)
  return (%q)
}
)");
  ExpectHas(program, "dtype=torch.float64");
  ExpectHas(program, "dtype=torch.int64");
}

}  // namespace
}  // namespace tenon
