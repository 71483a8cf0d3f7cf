// Programs beside each other that differ in what one rule is about: which are
// sound, and which rule the others break.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "text/text.h"
#include "verify/verify.h"

namespace tenon {
namespace {

Program Parse(const std::string& text) {
  Diagnostics diags;
  auto program =
      ParseProgram("tenon 1\n" + text, "test", std::make_shared<Context>(),
                   PayloadSource(), diags);
  EXPECT_TRUE(program) << diags.ToString() << text;
  return program ? std::move(*program) : Program(std::make_shared<Context>());
}

// The rules of all findings, each once, in order: "V-OP-05 W-INPUT-01".
std::string Rules(const Program& program, bool lint) {
  Diagnostics diags;
  VerifyOptions options;
  options.lint = lint;
  const bool holds = Verify(program, options, diags).ok();
  EXPECT_EQ(holds, !diags.has_errors());
  std::string out;
  for (const Diagnostic& d : diags.all()) {
    const std::string id(RuleId(d.rule));
    if (out.find(id) == std::string::npos) out += (out.empty() ? "" : " ") + id;
  }
  return out;
}

std::string RulesOf(const std::string& text) {
  return Rules(Parse(text), false);
}

// One node over inputs of many kinds.
std::string OfNode(const std::string& node) {
  return RulesOf(R"(symbol s0 (integer=True)
range s0 in [2, 9]
symbol u0 (integer=True)
range u0 in [0, 9]
graph @main(%x : f32[2], %y : f32[2, 3], %i : i64[2], %img : f32[1, 2, 4, 4],
            %w : f32[3, 2, 1, 1], %n : SymInt(s0), %f : SymFloat(ToFloat(s0)), %e : f32[0],
            %b : SymBool(s0 > 3), %t : str "text", %none : None, %r : f32[s0],
            %o : object "some.Class", %lit : float 0.5, %flag : bool True) {
  )" + node + R"(
  return ()
}
)");
}

struct Verdict {
  const char* node;
  const char* rules;
};

void Expect(std::initializer_list<Verdict> verdicts) {
  for (const Verdict& v : verdicts)
    EXPECT_EQ(OfNode(v.node), v.rules) << v.node;
}

// --- V-OP ---

TEST(Verdicts, VOp05KindsOfArguments) {
  Expect({
      // An int or bool where a float, Scalar or Tensor is meant.
      {"%a : f32[2] = aten.add.Tensor(%x, %n)", ""},
      {"%a : f32[2] = aten.add.Tensor(%x, %f)", ""},
      {"%a : f32[2] = aten.add.Tensor(%x, %lit)", ""},
      {"%a : f32[2] = aten.add.Tensor(%x, %flag)", ""},
      {"%a : f32[2] = aten.add.Tensor(%x, %b)", ""},
      {"%a : f32[2] = aten.add.Tensor(%x, %t)", "V-OP-05"},
      {"%a : f32[2] = aten.add.Tensor(%x, %o)", "V-OP-05"},
      {"%a : f32[2] = aten.add.Tensor(%x, \"text\")", "V-OP-05"},
      {"%a : c64[2] = aten.add.Tensor(%x, complex(1.0, 2.0))", ""},
      // Scalars may be tensors of no dimensions; an alpha can be one, too.
      {"%a : f32[2] = aten.add.Tensor(%x, %x, alpha=%x)", ""},
      {"%a : f32[2] = aten.add.Tensor(%x, None)", "V-OP-05"},
      {"%a : f32[2] = aten.add.Tensor(%x, %x, alpha=None)", "V-OP-05"},
      {"%a : f32[2] = aten.add.Tensor(%x, %none)", "V-OP-05"},
      // Numbers.
      {"%a : f32[2] = aten.elu.default(%x, 1, True, %f)", ""},
      {"%a : f32[2] = aten.dropout.default(%x, 1, True)", ""},
      {"%a : f32[2] = aten.dropout.default(%x, 0.5, %b)", ""},
      {"%a : f32[2] = aten.dropout.default(%x, 0.5, 0.5)", "V-OP-05"},
      {"%a : f32[2] = aten.dropout.default(%x, %t, True)", "V-OP-05"},
      {"%a : f32[2] = aten.dropout.default(%x, %x, True)", "V-OP-05"},
      {"%a : f32[3] = aten.select.int(%y, 0, %n)", ""},
      {"%a : f32[3] = aten.select.int(%y, 0, %f)", "V-OP-05"},
      // Lists; one item for a list of fixed size only.
      {"%a : f32[2] = aten.sum.dim_IntList(%y, 1)", ""},
      {"%a : f32[2] = aten.view.default(%x, 2)", "V-OP-05"},
      {"%a : f32[1, 2, 2, 2] = aten.max_pool2d.default(%img, 2)", ""},
      {"%a : f32[2] = aten.sum.dim_IntList(%y, [0.5])", "V-OP-05"},
      {"%a : f32[2] = aten.sum.dim_IntList(%y, [None])", "V-OP-05"},
      {"%a : f32[2, 2] = aten.index.Tensor(%y, [None, %i])", ""},
      {"%a : f32[2, 2] = aten.index.Tensor(%y, [%none, %i])", ""},
      {"%a : f32[4] = aten.cat.default([%x, %none])", "V-OP-05"},
      {"%a : f32[] = aten.sum.dim_IntList(%x, None)", ""},
      // None where it is the default, or optional.
      {"%a : f32[1, 3, 4, 4] = aten.conv2d.default(%img, %w, None)", ""},
      {"%a : f32[1, 3, 4, 4] = aten.conv2d.default(%img, %w, %none)", ""},
      {"%a : f32[2] = aten.clamp.default(%x, None, 1)", ""},
      // Words.
      {"%a : f32[2, 3] = aten.div.Tensor_mode(%y, 2, rounding_mode=\"floor\")",
       ""},
      {"%a : f32[2, 3] = aten.div.Tensor_mode(%y, 2, rounding_mode=%t)", ""},
      {"%a : f32[2, 3] = aten.div.Tensor_mode(%y, 2, rounding_mode=3)",
       "V-OP-05"},
      {"%a : f64[2] = aten.to.dtype(%x, torch.float64)", ""},
      {"%a : f32[2] = aten.to.dtype(%x, 7)", ""},
      {"%a : f32[2] = aten.to.dtype(%x, 0.5)", "V-OP-05"},
      {"%a : f32[2] = aten.rand.generator([2], generator=%o)", ""},
      {"%a : f32[2] = aten.rand.generator([2], generator=None)", ""},
      {"%a : f32[2] = aten.rand.generator([2], generator=3)", "V-OP-05"},
      {"%a : f32[2] = aten.rand.default([2], device=device(\"cpu\"))", ""},
      {"%a : f32[2] = aten.rand.default([2], device=\"cpu\")", ""},
      {"%a : f32[2] = aten.rand.default([2], device=3)", "V-OP-05"},
  });
}

TEST(Verdicts, VOp06PositionalArgumentsAreAPrefix) {
  Expect({
      // Once it is over, no other one comes; what is unstated opens no gap.
      {"%a : f32[2] = aten.dropout.default(%x, p=0.5, train=True)", ""},
      {"%a : f32[2] = aten.dropout.default(?%x, ?0.5, !True)", ""},
      {"%a : f32[2] = aten.dropout.default(?%x, !0.5, ?True)", ""},
      {"%a : f32[2] = aten.dropout.default(input=%x, ?0.5, !True)", "V-OP-06"},
      {"%a : f32[2] = aten.elu.default(input_scale: 1, self=%x)", "V-OP-06"},
  });
}

TEST(Verdicts, VOp07And08Results) {
  Expect({
      {"%a : SymInt(u0), %c : f32[2] = my_ops.two.default(%x)", ""},
      {"%a : SymInt(s0) = aten.sym_size.int(%r, 0)", ""},
      {"%a : int 2 = aten.sym_size.int(%x, 0)", ""},
      {"%a : float 2.0 = aten.sym_size.int(%x, 0)", "V-OP-08"},
      {"%a : f32[] = aten.sym_size.int(%x, 0)", "V-OP-08"},
      {"%a : bool True = aten.is_same_size.default(%x, %x)", ""},
      {"%a : SymBool(s0 > 2) = aten.is_same_size.default(%x, %r)", ""},
      {"%a : int 1 = aten.is_same_size.default(%x, %x)", "V-OP-08"},
      {"%a : SymFloat(ToFloat(s0)) = aten.q_scale.default(%x)", ""},
      {"%a : float 0.5 = aten.q_scale.default(%x)", ""},
      {"%a : int 1 = aten.q_scale.default(%x)", "V-OP-08"},
      // Forms.
      {"None = aten._assert_scalar.default(%n, \"text\")", ""},
      {"None, None = aten._assert_scalar.default(%n, \"text\")", ""},
      {"%a : f32[2], None = aten._assert_scalar.default(%n, \"text\")",
       "V-OP-07"},
      {"%a : f32[2], None = aten.sort.default(%x)", ""},
      {"%a : f32[2], [%c : i64[2]] = aten.sort.default(%x)", "V-OP-07"},
      {"%a : f32[2], None, None = aten.sort.default(%x)", "V-OP-07"},
      {"None, %a : SymInt(u0) = aten.sort.default(%x)", "V-OP-08"},
      {"%a : int 3, None = aten.sort.default(%x)", "V-OP-08"},
      {"[%a : f32[1], %c : int 3] = aten.split.Tensor(%x, 1)", "V-OP-08"},
      {"[%a : int 3, %c : f32[1]] = aten.split.Tensor(%x, 1)", "V-OP-08"},
      {"None = aten.split.Tensor(%x, 1)", ""},
      // Numbers among tensors, and None among both.
      {"%a : f32[1, 2, 4, 4], %c : f32[1, 2, 4], None, None, %d : int 4, "
       "%e0 : int 4, %g : i64[], %h : i64[], None = "
       "aten._scaled_dot_product_cudnn_attention.default(%img, %img, %img, "
       "None, True)",
       ""},
      {"%a : f32[1, 2, 4, 4], %c : f32[1, 2, 4], None, None, %d : int 4, "
       "%e0 : i64[], %g : i64[], %h : i64[], None = "
       "aten._scaled_dot_product_cudnn_attention.default(%img, %img, %img, "
       "None, True)",
       "V-OP-08"},
      // What isn't there isn't judged.
      {"[%a : f32[1]] = aten.split.Tensor(%x, 1)\n"
       "  %c : i64[2] = aten.neg.default(%i)",
       ""},
  });
}

// A form that speaks of other results than the node has.
TEST(Verdicts, VOp07AFormSaysHowManyResultsThereAre) {
  for (const uint32_t size : {1u, 2u, 3u}) {
    Program program = Parse(R"(
graph @main(%x : f32[2]) {
  [%a : f32[1], %c : f32[1] offset (1)] = aten.split.Tensor(%x, 1)
  return (%a, %c)
}
)");
    const NodeId n = program.root().first;
    Form form = program.context().form(program.node(n).form);
    form[0].list_size = size;
    program.mutable_node(n).form = program.context().InternForm(form);
    EXPECT_EQ(Rules(program, false), size == 2 ? "" : "V-OP-07") << size;
  }
}

// --- V-TYPE ---

TEST(Verdicts, VTypeWhatIsKnownOfResults) {
  Expect({
      // Where literals stand for a symbolic scalar, and where not.
      {"%a : int 4 = _operator.add(%n, 1)", ""},
      {"%a : f32[] = _operator.add(%n, 1)", "V-TYPE-06"},
      {"%a : f32[2] = aten.relu.default(%x)", ""},
      {"%a : int 4 = aten.relu.default(%x)", "V-OP-08"},
      // The default dtype is the program's, but a floating one.
      {"%a : f64[2] = aten.rand.default([2])", ""},
      {"%a : i64[2] = aten.rand.default([2])", "V-TYPE-02"},
      // So is the complex one that goes with it.
      {"%a : c128[2] = aten.fft_fft.default(%i)", ""},
      {"%a : f64[2] = aten.fft_fft.default(%i)", "V-TYPE-02"},
      // Lists and missing results.
      {"[%a : f64[1], %c : f64[1] offset (1)] = aten.split.Tensor(%x, 1)",
       "V-TYPE-02"},
      {"None, %c : i64[2] = aten.sort.default(%x)", ""},
      {"None, %c : i64[2] = my_ops.pair.default(%x)", ""},
  });
}

TEST(Verdicts, VType01FormsOfTypes) {
  const auto of_input = [](const std::string& type) {
    return RulesOf(
        "symbol s0 (integer=True)\nrange s0 in [2, 9]\n"
        "graph @main(%x : " +
        type + ") {\n  return ()\n}\n");
  };
  EXPECT_EQ(of_input("u64[2]"), "");
  EXPECT_EQ(of_input("f32[0]"), "");
  EXPECT_EQ(of_input("f32[-1]"), "V-TYPE-01");
  EXPECT_EQ(of_input("f32[s0 - 3]"), "");
}

TEST(Verdicts, VType01WhatTypesNameIsThere) {
  const auto of = [](const std::function<void(Context&, Type*)>& edit) {
    Program program = Parse("graph @main(%x : f32[2]) {\n  return ()\n}\n");
    Type type = program.type(program.root().inputs[0]);
    edit(program.context(), &type);
    program.mutable_value(program.root().inputs[0]).type =
        program.context().types.Intern(type);
    return Rules(program, false);
  };
  EXPECT_EQ(of([](Context&, Type*) {}), "");
  EXPECT_EQ(of([](Context& c, Type* t) {
              t->sizes[0].expr = ExprId(c.exprs.size());
            }),
            "V-TYPE-01");
  EXPECT_EQ(
      of([](Context& c, Type* t) { t->text = StringId(c.strings.size()); }),
      "V-TYPE-01");
  EXPECT_EQ(of([](Context& c, Type* t) {
              t->device.type = StringId(c.strings.size());
            }),
            "V-TYPE-01");
}

// Expressions in expressions, up to a bound; in ranges, too.
TEST(Verdicts, VType01ExpressionsMayBeNestedToABound) {
  for (const int depth : {999, 1000}) {
    for (const bool in_range : {false, true}) {
      Program program = Parse(
          "symbol s0 (integer=True)\nrange s0 in [2, 9]\n"
          "graph @main(%x : f32[s0]) {\n  return ()\n}\n");
      const ValueId x = program.root().inputs[0];
      Type type = program.type(x);
      ExprId e = type.sizes[0].expr;
      for (int d = 1; d < depth; ++d)
        e = program.context().exprs.Call("Abs", {e});
      if (in_range) {
        program.ranges.push_back({e, "", {}, {}});
      } else {
        type.sizes[0].expr = e;
        program.mutable_value(x).type = program.context().types.Intern(type);
      }
      EXPECT_EQ(Rules(program, false), depth == 999 ? "" : "V-TYPE-01");
    }
  }
}

// A range whose expression a reader didn't understand.
TEST(Verdicts, VSym02RangesWithoutAnExpression) {
  Program program = Parse("graph @main(%x : f32[2]) {\n  return ()\n}\n");
  program.ranges.push_back({ExprId(), "what", 1, 2});
  program.ranges.push_back({ExprId(), "ever", 1, 2});
  EXPECT_EQ(Rules(program, false), "");
}

// What autocast allows inside of it isn't right outside.
TEST(Verdicts, VType02WhatAutocastAllowsIsNotAllowedElsewhere) {
  const auto of =
      [](const std::string& elsewhere) {
        return RulesOf(R"(
graph @main(%x : f32[2, 2]) {
  %a : bf16[2, 2] = higher_order.wrap_with_autocast("cpu", torch.bfloat16, True,
    None, @inside, %x)
  %b : )" + elsewhere + R"([2, 2] = call @outside(%x)
  return (%a, %b)
}
graph @inside(%p : f32[2, 2]) {
  %m : bf16[2, 2] = aten.mm.default(%p, %p)
  return (%m)
}
graph @outside(%q : f32[2, 2]) {
  %m : )" + elsewhere + R"([2, 2] = aten.mm.default(%q, %q)
  return (%m)
}
)");
      };
  EXPECT_EQ(of("f32"), "");
  EXPECT_EQ(of("bf16"), "V-TYPE-02");
}

// --- V-EFFECT ---

TEST(Verdicts, VEffect03WritesToWhatSeveralElementsShare) {
  const auto of = [](const std::string& sizes, const std::string& strides) {
    return RulesOf(
        "symbol s0 (integer=True)\nrange s0 in [2, 9]\n"
        "graph @main(%x : f32[" +
        sizes + "] strides [" + strides + "]) {\n  %y : f32[" + sizes +
        "] strides [" + strides +
        "] = aten.mul_.Scalar(%x, 2)\n  return (%y)\n}\n");
  };
  EXPECT_EQ(of("2, 3", "0, 1"), "V-EFFECT-03");
  EXPECT_EQ(of("1, 3", "0, 1"), "");  // one element is repeated once
  EXPECT_EQ(of("2, 0", "0, 1"), "");  // nothing is
  EXPECT_EQ(of("2, s0", "0, 1"), "V-EFFECT-03");
}

// What a delegate writes isn't an unchanged buffer.
TEST(Verdicts, VEffect01DelegatesWriteToo) {
  for (const bool writes : {false, true}) {
    EXPECT_EQ(RulesOf(std::string(R"(
storage @0 = 8 bytes hex"0000000000000000"
buffer "n" : f32[2] = @0
delegate @r backend "cpu"
  inputs (f32[2])
  outputs (f32[2])
)") + (writes ? "  write input 0 output 0\n" : "") +
                      R"(
graph @main(%n : f32[2] = buffer "n") {
  %y : f32[2] = delegate @r(%n)
  return (%n as buffer_mutation "n", %y)
}
)"),
              writes ? "" : "V-EFFECT-01");
  }
}

// --- operators that hold graphs ---

std::string OfNested(const std::string& node) {
  return RulesOf(
      "symbol s0 (integer=True)\nrange s0 in [2, 9]\n"
      "graph @main(%x : f32[2], %xs : f32[5, 2], %p : bool[], "
      "%n : SymInt(s0)) {\n  " +
      node +
      R"(
  return ()
}
graph @one(%a : f32[2]) {
  %n : f32[2] = aten.neg.default(%a)
  return (%n)
}
graph @other_type(%a : i64[2]) {
  return (%a)
}
graph @rank(%a : f32[2, 2]) {
  return (%a)
}
graph @number(%a : int 3) {
  return (3)
}
graph @none(%a : f32[2]) {
  return (None, %a)
}
graph @two(%a : f32[2], %b : f32[2]) {
  return (%a, %b)
}
)");
}

TEST(Verdicts, VOp09And10EveryOperatorFitsItsGraphs) {
  struct Form {
    const char *before, *after;
  };
  // Where the graph stands, and what is behind it up to its operands.
  for (const Form& f :
       {Form{"higher_order.invoke_subgraph(", ", \"name\", "},
        Form{"higher_order.wrap_with_set_grad_enabled(False, ", ", "},
        Form{"higher_order.wrap_with_autocast(\"cpu\", None, True, None, ",
             ", "}}) {
    const auto of = [&](const std::string& results, const std::string& graph,
                        const std::string& operands) {
      return OfNested(results + " = " + f.before + graph + f.after + operands +
                      ")");
    };
    EXPECT_EQ(of("%y : f32[2]", "@one", "%x"), "") << f.before;
    EXPECT_EQ(of("%y : f32[2]", "3", "%x"), "V-OP-09") << f.before;
    EXPECT_EQ(of("%y : f32[2]", "@one", "%x, %x"), "V-OP-09") << f.before;
    EXPECT_EQ(of("%y : i64[2]", "@other_type", "%x"), "V-TYPE-07") << f.before;
    EXPECT_EQ(of("%y : f32[2, 2]", "@rank", "%x"), "V-TYPE-07") << f.before;
    EXPECT_EQ(of("%y : i64[2]", "@one", "%x"), "V-TYPE-08") << f.before;
    EXPECT_EQ(of("%y : f32[2], %z : f32[2]", "@one", "%x"), "V-OP-10")
        << f.before;
    EXPECT_EQ(of("%y : f32[2], %z : f32[2]", "@two", "%x, %x"), "") << f.before;
    EXPECT_EQ(of("None, %z : f32[2]", "@none", "%x"), "") << f.before;
    EXPECT_EQ(of("None, None, %z : f32[2]", "@none", "%x"), "V-OP-10")
        << f.before;
    EXPECT_EQ(of("None, %z : i64[2]", "@none", "%x"), "V-TYPE-08") << f.before;
    // A number may be a literal at one side, but it is no tensor.
    EXPECT_EQ(of("%y : int 3", "@number", "%n"), "") << f.before;
    EXPECT_EQ(of("%y : int 3", "@number", "%x"), "V-TYPE-07") << f.before;
    EXPECT_EQ(of("%y : f32[2]", "@one", "%n"), "V-TYPE-07") << f.before;
  }
}

// A form that promises a result that isn't there.
TEST(Verdicts, VOp10ResultsAreCountedWhereTheyAre) {
  Program program = Parse(R"(
graph @main(%x : f32[2]) {
  [%y : f32[2], %z : f32[2]] = higher_order.invoke_subgraph(@three, "name", %x)
  %u : f32[2] = aten.neg.default(%x)
  return (%y)
}
graph @three(%a : f32[2]) {
  return (%a, %a, %a)
}
)");
  const NodeId n = program.root().first;
  Form form = program.context().form(program.node(n).form);
  form[0].list_size = 3;
  program.mutable_node(n).form = program.context().InternForm(form);
  EXPECT_EQ(Rules(program, false), "V-OP-10");
}

TEST(Verdicts, VOp09SlicesAreHeldToCountsAndDtypes) {
  EXPECT_EQ(OfNested("%y : f32[5, 2] = higher_order.map_impl(@one, [%xs], [])"),
            "");
  EXPECT_EQ(OfNested("%y : f32[5, 2] = higher_order.map_impl(3, [%xs], [])"),
            "V-OP-09");
  EXPECT_EQ(
      OfNested("%y : f32[5, 2] = higher_order.map_impl(@one, [%xs], [%x])"),
      "V-OP-09");
  EXPECT_EQ(
      OfNested(
          "%y : i64[5, 2] = higher_order.map_impl(@other_type, [%xs], [])"),
      "V-TYPE-07");
  EXPECT_EQ(OfNested("%y : i64[5, 2] = higher_order.map_impl(@one, [%xs], [])"),
            "V-TYPE-08");
  EXPECT_EQ(OfNested("%y : f32[2], %z : f32[5, 2] = higher_order.scan(@two, "
                     "[%x], [%xs], [])"),
            "");
  EXPECT_EQ(OfNested("%y : f32[2], %z : f32[5, 2] = higher_order.scan(3, "
                     "[%x], [%xs], [])"),
            "V-OP-09");
  EXPECT_EQ(OfNested("%y : f32[2], %z : f32[5, 2] = higher_order.scan(@one, "
                     "[%x], [%xs], [])"),
            "V-OP-09 V-OP-10");
  // dim and reverse of older files are no operands.
  EXPECT_EQ(OfNested("%y : f32[2], %z : f32[5, 2] = higher_order.scan(@two, "
                     "[%x], [%xs], 0, False, [])"),
            "");
}

// --- V-REGION ---

TEST(Verdicts, VRegionOperandsThatAreNoValues) {
  const auto of = [](const std::string& type, const std::string& operand,
                     const std::string& write) {
    return RulesOf("delegate @r backend \"cpu\"\n  inputs (" + type +
                   ", f32[2])\n  outputs (f32[2], f32[2])\n" + write +
                   "graph @main(%x : f32[2]) {\n  %y : f32[2], %z : f32[2] = "
                   "delegate @r(" +
                   operand + ", %x)\n  return (%y)\n}\n");
  };
  EXPECT_EQ(of("int 3", "3", ""), "");
  EXPECT_EQ(of("f32[2]", "3", ""), "V-REGION-05");
  EXPECT_EQ(of("f32[2]", "%x", "  write input 1 output 1\n"), "");
  EXPECT_EQ(of("f32[2]", "%x", "  write input 2 output 0\n"), "V-REGION-07");
  EXPECT_EQ(of("f32[2]", "%x", "  write input 0 output 2\n"), "V-REGION-07");
}

// Before compilation there is neither payload nor digest.
TEST(Verdicts, VRegion08ADigestWithoutAPayload) {
  Program program = Parse(R"(
delegate @r backend "cpu"
  inputs (f32[2])
  outputs (f32[2])
graph @main(%x : f32[2]) {
  %y : f32[2] = delegate @r(%x)
  return (%y)
}
)");
  EXPECT_EQ(Rules(program, false), "");
  program.delegates[0].payload_digest.low = 1;
  EXPECT_EQ(Rules(program, false), "V-REGION-08");
}

// --- V-SIG ---

TEST(Verdicts, VSigTokensGradientsAndTargets) {
  const auto of = [](const std::string& inputs, const std::string& outputs) {
    return RulesOf(
        "storage @0 = 8 bytes hex\"0000000000000000\"\n"
        "parameter \"w\" : f32[2] = @0\n"
        "graph @main(" +
        inputs +
        "%w : f32[2] = parameter \"w\", %x : f32[2], "
        "%n : int 3) {\n  %y : f32[2] = aten.add.Tensor(%w, %x)\n"
        "  return (" +
        outputs + ")\n}\n");
  };
  EXPECT_EQ(of("%t : f32[0] = token, ", "%y"), "");
  EXPECT_EQ(of("%t : int 3 = token, ", "%y"), "V-SIG-07");
  EXPECT_EQ(of("", "%y, %y as gradient_to_user_input %x"), "");
  EXPECT_EQ(of("", "%y as gradient_to_user_input %x, %y"), "V-SIG-13");
  EXPECT_EQ(of("", "%y as gradient_to_parameter \"w\", %y"), "V-SIG-13");
  // Gradients of one input may be several, mutations not.
  EXPECT_EQ(of("",
               "%y, %y as gradient_to_user_input %x, "
               "%w as gradient_to_user_input %x"),
            "");
  EXPECT_EQ(of("",
               "%y as user_input_mutation %x, "
               "%w as user_input_mutation %x, %y"),
            "V-SIG-11");
  EXPECT_EQ(of("", "3, None, 0.5, True, \"text\", complex(1.0, 2.0)"), "");
  EXPECT_EQ(of("", "3 as loss"), "V-SIG-09");
}

TEST(Verdicts, VSigNumbersThatAreOffByOne) {
  const char* text = R"(
storage @0 = 8 bytes hex"0000000000000000"
parameter "w" : f32[2] = @0
graph @main(%w : f32[2] = parameter "w", %x : f32[2]) {
  %y : f32[2] = aten.add.Tensor(%w, %x)
  return (%y as parameter_mutation "w", %y as user_input_mutation %x)
}
)";
  Program program = Parse(text);
  EXPECT_EQ(Rules(program, false), "");
  program.signature.outputs[0].state = StateId(1u);
  EXPECT_EQ(Rules(program, false), "V-SIG-10");
  program = Parse(text);
  program.signature.outputs[1].input = 2;
  EXPECT_EQ(Rules(program, false), "V-SIG-10");
  program = Parse(text);
  program.state.entries[0].storage = StorageId(1u);
  EXPECT_EQ(Rules(program, false), "V-STATE-02");
}

// --- V-STATE, V-SPEC ---

TEST(Verdicts, VState06OneDictsNamesAreToldApart) {
  const auto of = [](const std::string& first, const std::string& second) {
    return RulesOf("storage @0 = 8 bytes hex\"0000000000000000\"\n" + first +
                   " \"n\" : f32[2] = @0\n" + second +
                   " \"n\"#2 : f32[2] = @0\n"
                   "graph @main(%x : f32[2]) {\n  return (%x)\n}\n");
  };
  EXPECT_EQ(of("parameter", "buffer"), "V-STATE-06");
  EXPECT_EQ(of("constant", "constant"), "V-STATE-06");
  EXPECT_EQ(of("parameter", "constant"), "");
}

TEST(Verdicts, VSpec05NamesBeyondAscii) {
  Program program = Parse(R"(
in_spec ((*, *), {})
graph @main(%x : f32[2], %y : f32[2]) {
  return (%x)
}
)");
  program.has_forward_arg_names = true;
  for (const char* name : {"\x80", "a\xc3\xbc", "\xff"}) {
    program.forward_arg_names = {"x", name};
    EXPECT_EQ(Rules(program, false), "") << name;
  }
  for (const char* name : {"\x7f", "a b", "1a", ""}) {
    program.forward_arg_names = {"x", name};
    EXPECT_EQ(Rules(program, false), "V-SPEC-05") << name;
  }
}

// --- lints ---

std::string Lints(const std::string& text) { return Rules(Parse(text), true); }

TEST(Verdicts, WState01SmallWeightsMayBeEqual) {
  const auto of = [](int size, bool shared) {
    const std::string bytes = std::to_string(size) + " bytes zeros\n";
    const std::string type = " : u8[" + std::to_string(size) + "] = @";
    const std::string first = std::to_string(size);
    return Lints("storage @0 = " + bytes + "storage @1 = " + bytes +
                 "buffer \"a\"" + type + "0\nbuffer \"b\"" + type +
                 (shared ? "0" : "1") + "\ngraph @main(%a : u8[" + first +
                 "] = buffer \"a\", %b : u8[" + first +
                 "] = buffer \"b\") {\n  %y : u8[" + first +
                 "] = aten.add.Tensor(%a, %b)\n  return (%y)\n}\n");
  };
  EXPECT_EQ(of(1023, false), "");
  EXPECT_EQ(of(1024, false), "W-STATE-01");
  EXPECT_EQ(of(2048, true), "W-STATE-04");
}

TEST(Verdicts, WState02ANestedReferenceIsAUse) {
  const auto of = [](const std::string& body) {
    return Lints(R"(
storage @0 = 8 bytes hex"0000000000000000"
buffer "n" : f32[2] = @0
graph @main(%p : bool[], %x : f32[2]) {
  %y : f32[2] = higher_order.cond(%p, @body, @body, [%x]) single_return False
  %q : f32[2] = aten.add.Tensor(%y, %y)
  return (%q)
}
graph @body(%a : f32[2]) {
)" + body + "  %z : f32[2] = aten.neg.default(%a)\n  return (%z)\n}\n");
  };
  EXPECT_EQ(of("  %n : f32[2] = get_attr \"n\"\n"), "");
  EXPECT_EQ(of(""), "W-STATE-02");
  EXPECT_EQ(Lints(R"(
storage @0 = 8 bytes hex"0000000000000000"
buffer "n" : f32[2] = @0
graph @main(%n : f32[2] = buffer "n", %x : f32[2]) {
  %z : f32[2] = aten.neg.default(%x)
  return (%z)
}
)"),
            "W-STATE-02");
}

TEST(Verdicts, WSig01GroupsOfLiftedInputs) {
  const auto of = [](const std::string& inputs) {
    return Lints(R"(
storage @0 = 8 bytes hex"0000000000000000"
storage @1 = 8 bytes hex"0000000000000001"
parameter "w" : f32[2] = @0
buffer "n" : f32[2] = @1
graph @main()" + inputs +
                 R"() {
  %y : f32[2] = aten.add.Tensor(%w, %n)
  return (%y)
}
)");
  };
  const std::string w = "%w : f32[2] = parameter \"w\"";
  const std::string n = "%n : f32[2] = buffer \"n\"";
  const std::string token = "%t : f32[0] = token";
  EXPECT_EQ(of(w + ", " + n), "");
  EXPECT_EQ(of(n + ", " + w), "W-SIG-01");
  // Where a token stands among them doesn't matter.
  EXPECT_EQ(of(w + ", " + token + ", " + n), "");
}

TEST(Verdicts, WOp01PyTorchsOwnOperators) {
  const auto of = [](const std::string& op) {
    return Lints(
        "graph @main(%x : f32[2]) {\n  %y : f32[2] = " + op +
        "(%x)\n  %z : f32[2] = aten.add.Tensor(%y, %y)\n  return (%z)\n}\n");
  };
  EXPECT_EQ(of("aten.of_tomorrow.default"), "W-OP-01");
  EXPECT_EQ(of("prims.of_tomorrow.default"), "W-OP-01");
  EXPECT_EQ(of("primsy.of_tomorrow.default"), "");
  EXPECT_EQ(of("my_ops.of_tomorrow.default"), "");
}

}  // namespace
}  // namespace tenon
