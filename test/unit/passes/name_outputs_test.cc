// Names of outputs, whatever the outputs are.
#include "passes/name_outputs.h"

#include "ir/naming.h"
#include "programs.h"

namespace tenon {
namespace {

constexpr std::string_view kProgram = R"(
storage @0 = 4 bytes zeros
buffer "n" : f32[] = @0
graph @main(%n : f32[] = buffer "n", %x : f32[], %k : SymInt(s0)) {
  %out : f32[] = aten.neg.default(%x)
  %out_1 : f32[] = aten.exp.default(%out)
  %y : f32[] = aten.mul.Tensor(%out_1, %n)
  %k2 : SymInt(2*s0) = _operator.mul(%k, 2)
  return (%y as buffer_mutation "n", %y, %x, %y, %k2, 3, %k)
}
)";

Program Source() {
  return Parse("symbol s0 (integer=True)\nrange s0 in [0, 9]" +
               std::string(kProgram));
}

TEST(NameOutputs, EachIsCalledSoAndInputsAsBefore) {
  Program program = Source();
  Diagnostics diags;
  ASSERT_TRUE(
      NameOutputs({"out", "same", "again", "twice", "", ""}, &program, diags))
      << diags.ToString();
  ExpectValid(program);
  ExpectHas(program, R"(return (%out as buffer_mutation "n", %out, %same, )"
                     "%again, %twice, 3, %k)");
  ExpectHas(program, "%same : f32[] = aten.alias.default(%x)");
  ExpectHas(program, "%again : f32[] = aten.alias.default(%out)");
  const NameTable names(program, NameTable::Rule::kPythonIdentifier);
  EXPECT_EQ(names.value(program.root().inputs[1]), "x");
}

TEST(NameOutputs, WhatIsNoNameIsRefused) {
  using Names = std::vector<std::string>;
  const auto fails = [](const Names& names) {
    Program program = Source();
    const std::string before = Print(program);
    Diagnostics diags;
    EXPECT_FALSE(NameOutputs(names, &program, diags));
    EXPECT_EQ(diags.all().at(0).rule, Rule::kUsage);
    EXPECT_EQ(Print(program), before);
    return diags.FirstError();
  };
  fails({"a"});
  fails({"a", "b", "c", "d", "e"});           // a literal
  fails({"", "", "", "", "", "e"});           // an input that is a number
  fails({"a", "a", "", "", "", ""});          // twice
  fails({"x", "", "", "", "", ""});           // an input's
  fails({"not a name", "", "", "", "", ""});  // Python's
  fails({"class", "", "", "", "", ""});
}

}  // namespace
}  // namespace tenon
