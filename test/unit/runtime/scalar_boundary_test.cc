#include "runtime/scalar_boundary.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace tenon {
namespace {

TEST(ScalarBoundary, D5ScalarsAreZeroDimTensorsAndBack) {
  const std::vector<RuntimeValue> values = {
      RuntimeValue(int64_t{-3}), RuntimeValue(0.5), RuntimeValue(true),
      RuntimeValue(Tensor::Zeros(DType::kFloat32, {2})), RuntimeValue()};
  std::vector<RuntimeValue> tensors = ScalarsAsTensors(values);
  const DType expected[] = {DType::kInt64, DType::kFloat64, DType::kBool};
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(tensors[i].is_tensor());
    EXPECT_EQ(tensors[i].tensor().dim(), 0);
    EXPECT_EQ(tensors[i].tensor().dtype(), expected[i]);
  }
  EXPECT_EQ(tensors[3].tensor().sizes(), Sizes{2});
  EXPECT_TRUE(tensors[4].is_none());

  Program program(std::make_shared<Context>());
  std::vector<TypeId> types;
  for (const TypeKind kind :
       {TypeKind::kSymInt, TypeKind::kSymFloat, TypeKind::kSymBool,
        TypeKind::kTensor, TypeKind::kNone}) {
    Type type;
    type.kind = kind;
    if (kind == TypeKind::kTensor) type.dtype = DType::kFloat32;
    types.push_back(program.context().types.Intern(type));
  }
  TensorsAsScalars(program, types, &tensors);
  EXPECT_EQ(tensors[0].int_value(), -3);
  EXPECT_EQ(tensors[1].float_value(), 0.5);
  EXPECT_EQ(tensors[2].bool_value(), true);
  EXPECT_TRUE(tensors[3].is_tensor());
  EXPECT_TRUE(tensors[4].is_none());
}

}  // namespace
}  // namespace tenon
