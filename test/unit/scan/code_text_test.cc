#include "scan/code_text.h"

#include <gtest/gtest.h>

#include <utility>

namespace tenon {
namespace {

using Level = CodeFound::Level;

TEST(CodeText, X_EXPR_01_TakesSizesOnly) {
  for (const char* text :
       {"s0", "2*s77 + 1", "-s0", "s0 // 2", "(s0 + 1)**2",
        "Symbol('s0', positive=True, integer=True)",
        "Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(1))",
        "FloorDiv(s0, 2)", "Max(1, u0)", "Float('1.5', precision=53)",
        "Rational(1, 2)", "Eq(u0, 3)", "true",
        "OpaqueUnaryFn_sqrt(ToFloat(s0))", "Piecewise((1, s0 > 2), (0, True))",
        "Not (s0 > 1)", "", "2 +", "s0 ** ("}) {
    EXPECT_EQ(FindCodeInExpression(text).level, Level::kNothing) << text;
  }
  // What PyTorch 2.15 runs when it loads such a size.
  for (const char* text : {"__import__('os').mkdir('x')",
                           "Max('__import__(\"os\").mkdir(\"x\")')",
                           "floor('eval(1)')",
                           "S('eval(1)')",
                           "FloorDiv('eval(1)', 2)",
                           "exec('1')",
                           "open('x')",
                           "sympify('1')",
                           "lambdify(s0, s0)",
                           "Integer('eval(1)')",
                           "s0.subs",
                           "s0.__class__",
                           "__builtins__",
                           "(lambda: 1)()",
                           "[print][0](1)",
                           "f'{s0}'",
                           "Symbol('a')('b')",
                           "eval(1) # '",
                           "'a' + eval('1') + '\n'",
                           "''' ' ''' + eval('1')"}) {
    EXPECT_EQ(FindCodeInExpression(text).level, Level::kCode) << text;
  }
  for (const char* text : {"NewFunction(s0)", "OpaqueUnaryFn_eval(s0)"}) {
    EXPECT_EQ(FindCodeInExpression(text).level, Level::kUnknown) << text;
  }
}

TEST(CodeText, LooksWhetherAFixedTextEndsItsQuotes) {
  for (const char* text : {"a' or eval('1') or 'b", "' and f() #"}) {
    EXPECT_EQ(FindCodeInFixedText(text).level, Level::kCode) << text;
  }
  for (const char* text : {"eval(1)", "don't (ever)", "\"eval(1)\"", "a\nb(1)",
                           "a \"b\" 'c' \\ \n", "f(x) \\"}) {
    EXPECT_EQ(FindCodeInFixedText(text).level, Level::kNothing) << text;
  }
}

TEST(CodeText, X_GUARD_01_TakesComparisonsOnly) {
  for (const char* text :
       {"L['x'].size()[0] == L['y'].size()[1]", "3*L['x'].size()[0] <= 20",
        "L['x'].size()[0] == ((1 + L['y'].size()[0]) // 2)",
        "L['d']['k'][0].stride()[1] != 0", "L['x'].storage_offset() == 0",
        "not (L['n'] > 3) and (L['m'] < 2)", "Mod(L['n'], 4) == 0",
        "math.floor(L['n'] / 2) == 3", "torch.sym_max(L['n'], 1) < 4",
        "L['s'] == 'eval(1)'", "L['p'].field.size()[0] >= 2",
        "math.isnan(L['f'])", "max(L['a'], L['b']) == 1"}) {
    EXPECT_EQ(FindCodeInGuard(text).level, Level::kNothing) << text;
  }
  for (const char* text :
       {"__import__('os').mkdir('x') is None", "L['x'].__class__ == 1",
        "exec('1') is None", "L['x'].apply_(print) is None",
        "L['x'].size().__len__() == 1", "math.exec('1')", "os.system('id')",
        "(lambda: 0)() == 0", "[f for f in (1,)]", "torch.load('x') == 1",
        "L['x'](1)", "f'{1}' == '1'"}) {
    EXPECT_EQ(FindCodeInGuard(text).level, Level::kCode) << text;
  }
}

TEST(CodeText, X_TARGET_01_TakesOperatorsOnly) {
  for (const char* target :
       {"torch.ops.aten.add.Tensor", "torch.ops.aten.__and__.Tensor",
        "torch.ops.mylib.thing.default", "torch.ops.higher_order.cond",
        "torch.ops.tenon.call_delegate.default", "_operator.mul", "math.trunc",
        "torch.sym_max", "torch._sym_sqrt", "#namespace:op",
        "torch._functorch.predispatch._add_batch_dim"}) {
    EXPECT_EQ(FindCodeInTarget(target).level, Level::kNothing) << target;
  }
  for (const char* target :
       {"os.system", "torch.load", "torch.ops.load_library", "builtins.eval",
        "_operator.methodcaller", "_operator.attrgetter", "math.__loader__",
        "torch.ops.aten.__class__", "torch.ops.a.b.c.d", "torch.hub.load",
        "torch._C._functorch.__loader__", "", "a b", "subprocess.run"}) {
    EXPECT_EQ(FindCodeInTarget(target).level, Level::kCode) << target;
  }
}

TEST(CodeText, X_TARGET_02_KnowsOperatorsThatTouchFiles) {
  EXPECT_FALSE(FileAccessOf("torch.ops.aten.from_file.default").empty());
  EXPECT_FALSE(FileAccessOf("torch.ops.image.write_file.default").empty());
  EXPECT_TRUE(FileAccessOf("torch.ops.aten.from_filer.default").empty());
  EXPECT_TRUE(FileAccessOf("torch.ops.aten.add.Tensor").empty());
}

TEST(CodeText, KnowsIdentifiers) {
  for (const char* name : {"x", "_1", "caf\xC3\xA9", "args_0"}) {
    EXPECT_TRUE(LooksLikeIdentifier(name)) << name;
  }
  for (const char* name : {"", "1x", "a b", "a;b", "a.b", "x=1", "a\n"}) {
    EXPECT_FALSE(LooksLikeIdentifier(name)) << name;
  }
}

}  // namespace
}  // namespace tenon
