// Copies of a context, and of programs with one of their own.
#include "ir/context.h"

#include <gtest/gtest.h>

#include "ir/program.h"

namespace tenon {
namespace {

TEST(Context, ACloneHasAllByTheSameIds) {
  Context context;
  const ExprId symbol = context.exprs.Symbol("s0", "positive=True");
  const ExprId sum =
      context.exprs.Call("Add", {symbol, context.exprs.Integer(1)});
  Type type;
  type.kind = TypeKind::kTensor;
  type.dtype = DType::kFloat32;
  type.sizes = {SymInt::Symbolic(sum, 3)};
  type.strides = {SymInt::Literal(1)};
  const TypeId tensor = context.types.Intern(type);
  const OpId op = context.InternOp("aten.add.Tensor");
  FormItem list;
  list.kind = FormItem::Kind::kList;
  list.list_size = 2;
  const FormId form = context.InternForm({list});
  const MetadataId metadata =
      context.InternMetadata({{context.Intern("key"), context.Intern("text")}});

  const auto copy = context.Clone();
  EXPECT_EQ(copy->exprs.PrintInfix(sum), context.exprs.PrintInfix(sum));
  EXPECT_TRUE(copy->types.get(tensor) == context.types.get(tensor));
  EXPECT_EQ(copy->op_name(op), "aten.add.Tensor");
  EXPECT_EQ(copy->op(op).schema, context.op(op).schema);
  EXPECT_TRUE(copy->form(form) == context.form(form));
  EXPECT_EQ(copy->view(copy->metadata(metadata)[0].second), "text");
  EXPECT_EQ(copy->none_type(), context.none_type());
  // What was there is found again, not added.
  const size_t num_strings = copy->strings.size();
  EXPECT_EQ(copy->InternOp("aten.add.Tensor"), op);
  EXPECT_EQ(copy->types.Intern(type), tensor);
  EXPECT_EQ(copy->exprs.Call("Add", {symbol, copy->exprs.Integer(1)}), sum);
  EXPECT_EQ(copy->InternForm({list}), form);
  EXPECT_EQ(copy->strings.size(), num_strings);
  // New names are the copy's alone, those of expressions, too.
  copy->exprs.Symbol("s1", "");
  EXPECT_TRUE(copy->strings.Find("s1").valid());
  EXPECT_FALSE(context.strings.Find("s1").valid());
  EXPECT_EQ(context.exprs.size() + 1, copy->exprs.size());
}

TEST(Context, ProgramsApartShareNoContext) {
  Program program(std::make_shared<Context>());
  program.name = "there";
  const Program together = program.Clone();
  const Program apart = program.CloneApart();
  EXPECT_EQ(&together.context(), &program.context());
  EXPECT_NE(&apart.context(), &program.context());
  EXPECT_EQ(apart.name, "there");
  EXPECT_EQ(apart.num_graphs(), program.num_graphs());
}

}  // namespace
}  // namespace tenon
