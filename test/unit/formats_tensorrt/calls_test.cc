#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "analysis/digest.h"
#include "formats/tensorrt/engine_delegate.h"
#include "formats/tensorrt/lower_engines.h"
#include "formats/tensorrt/raise_engines.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon {
namespace {

// A program with one placeholder call, of which a test changes one part.
struct Case {
  std::string x = "f32[2, 4] device cuda:0";
  std::string k_in = "f32[4] device cuda:0";
  std::string y = "f32[2, 4] device cuda:0";
  std::string k_out = "f32[4] device cuda:0";
  std::string device = "0%9%0%0%NVIDIA H200";
  std::string engine = "\"cGxhbg==\"";
  std::string input_names = "x%k_in";
  std::string output_names = "y%k_out";
  std::string metadata = "opaque";
  std::string aliased_io = "k_out@k_in@kv_cache_update";
  std::string operands = "[%x, %k_in]";

  std::string Text() const {
    return "tenon 1\n"
           "storage @0 = 4 bytes hex\"706c616e\"\n"
           "constant \"_trt_engine_0\" : u8[4] = @0\n"
           "graph @main(%plan : u8[4] = constant \"_trt_engine_0\", %x : " +
           x + ", %k_in : " + k_in +
           ") {\n"
           "  [%y : " +
           y + ", %k_out : " + k_out +
           "] = tensorrt.no_op_placeholder_for_execute_engine.default(" +
           operands + ", \"10\", \"e.0\", \"" + device + "\", " + engine +
           ", \"" + input_names + "\", \"" + output_names + "\", \"0\", \"" +
           metadata + "\", \"linux_x86_64\", \"0\", \"0\", \"0\", \"" +
           aliased_io +
           "\")\n"
           "  return (%y, %k_out)\n"
           "}\n";
  }
};

Expected<Program> Parse(const std::string& text) {
  Diagnostics diags;
  auto program = ParseProgram(text, "case", std::make_shared<Context>(),
                              PayloadSource(), diags);
  EXPECT_TRUE(program) << diags.ToString() << text;
  return program;
}

std::string Print(const Program& program) {
  return PrintProgram(program, PrintOptions());
}

// Lowering fails with this error and changes nothing.
void ExpectRefused(const Case& c, const std::string& error) {
  auto program = Parse(c.Text());
  ASSERT_TRUE(program);
  const std::string before = Print(*program);
  Diagnostics diags;
  EXPECT_FALSE(LowerEngineCalls(&*program, diags));
  EXPECT_EQ(diags.FirstError(), error);
  EXPECT_EQ(diags.num_errors(), 1u) << diags.ToString();
  EXPECT_EQ(Print(*program), before);
}

TEST(LowerEngines, APlaceholderCall) {
  auto program = Parse(Case().Text());
  ASSERT_TRUE(program);
  Diagnostics diags;
  ASSERT_TRUE(LowerEngineCalls(&*program, diags)) << diags.ToString();
  ASSERT_TRUE(Verify(*program, VerifyOptions(), diags)) << diags.ToString();
  ASSERT_EQ(program->delegates.size(), 1u);
  const Delegate& d = program->delegates[0];
  EXPECT_EQ(program->view(d.backend), "tensorrt");
  EXPECT_EQ(program->view(d.name), "e.0");
  EXPECT_EQ(AsText(d.payload), "plan");
  EXPECT_EQ(program->view(d.input_names[1]), "k_in");
  ASSERT_EQ(d.writes.size(), 1u);
  EXPECT_EQ(d.writes[0], (DeclaredWrite{1, 1, WriteKind::kKvCacheUpdate}));
  EXPECT_EQ(FindMetadata(*program, d, "device"), "0%9%0%0%NVIDIA H200");
  EXPECT_FALSE(HasEngineCalls(*program));
}

// No copy, and nothing is left of the tensor that held the bytes.
TEST(LowerEngines, AnEngineInATensor) {
  Case c;
  c.engine = "%plan";
  auto program = Parse(c.Text());
  ASSERT_TRUE(program);
  const std::byte* bytes = program->state.storages[0].bytes.data();
  Diagnostics diags;
  ASSERT_TRUE(LowerEngineCalls(&*program, diags)) << diags.ToString();
  ASSERT_TRUE(Verify(*program, VerifyOptions(), diags)) << diags.ToString();
  EXPECT_EQ(program->delegates[0].payload.data(), bytes);
  EXPECT_TRUE(program->state.entries.empty());
  EXPECT_TRUE(program->state.storages.empty());
  EXPECT_EQ(program->root().inputs.size(), 2u);
}

TEST(LowerEngines, RaisingIsTheInverse) {
  auto program = Parse(Case().Text());
  ASSERT_TRUE(program);
  const std::string before = Print(*program);
  const Digest digest = WiringDigest(*program);
  Diagnostics diags;
  ASSERT_TRUE(LowerEngineCalls(&*program, diags));
  ASSERT_TRUE(RaiseEngineCalls(&*program, EngineCallForm::kPlaceholder, diags));
  EXPECT_EQ(WiringDigest(*program), digest);
  // The constant that no call used stays what it was.
  EXPECT_EQ(program->state.entries.size(), 1u);
  ASSERT_TRUE(LowerEngineCalls(&*program, diags));
  ASSERT_TRUE(RaiseEngineCalls(&*program, EngineCallForm::kObject, diags));
  ASSERT_TRUE(Verify(*program, VerifyOptions(), diags)) << diags.ToString();
  EXPECT_EQ(program->signature.inputs[1].kind, InputKind::kObject);
  ASSERT_TRUE(LowerEngineCalls(&*program, diags)) << diags.ToString();
  EXPECT_EQ(FindMetadata(*program, program->delegates[0], "object"), "e.0");
}

// Exporters leave out results that only show what was written.
TEST(LowerEngines, AnOutputThatTheCallDoesNotState) {
  Case c;
  std::string text = c.Text();
  const std::string stated = ", %k_out : " + c.k_out + "]";
  text.replace(text.find(stated), stated.size(), "]");
  text.replace(text.find("(%y, %k_out)"), 12, "(%y)");
  auto program = Parse(text);
  ASSERT_TRUE(program);
  Diagnostics diags;
  ASSERT_TRUE(LowerEngineCalls(&*program, diags)) << diags.ToString();
  ASSERT_TRUE(Verify(*program, VerifyOptions(), diags)) << diags.ToString();
  const Delegate& d = program->delegates[0];
  ASSERT_EQ(d.outputs.size(), 2u);
  EXPECT_EQ(d.outputs[1], d.inputs[1]);
}

TEST(LowerEngines, AnEngineThatIsCalledTwice) {
  const std::string head =
      "tenon 1\n"
      "storage @0 = 4 bytes hex\"706c616e\"\n"
      "constant \"plan\" : u8[4] = @0\n"
      "graph @main(%plan : u8[4] = constant \"plan\", %x : f32[2]) {\n";
  const auto call = [](const std::string& name, const std::string& x) {
    return "  [%" + name +
           " : f32[2]] = "
           "tensorrt.no_op_placeholder_for_execute_engine.default([%" +
           x +
           "], \"10\", \"e\", \"0%9%0%0%\", %plan, \"x\", \"y\", \"0\", \"\", "
           "\"unknown\", \"0\", \"0\", \"0\", \"\")\n";
  };
  auto program =
      Parse(head + call("a", "x") + call("b", "a") + "  return (%b)\n}\n");
  ASSERT_TRUE(program);
  Diagnostics diags;
  ASSERT_TRUE(LowerEngineCalls(&*program, diags)) << diags.ToString();
  ASSERT_TRUE(Verify(*program, VerifyOptions(), diags)) << diags.ToString();
  EXPECT_EQ(program->delegates.size(), 1u);
}

// A result that only shows what was written is an operand of a later call.
TEST(LowerEngines, CallsBehindACallThatGrew) {
  const std::string record =
      ", \"10\", \"e\", \"0%9%0%0%\", \"cGxhbg==\", \"x%k\", \"y%k_out\", "
      "\"0\", \"\", \"unknown\", \"0\", \"0\", \"0\", \"k_out@k@user\")\n";
  const auto call = [&](const std::string& result, const std::string& x) {
    return "  [%" + result +
           " : f32[2] device cuda:0] = "
           "tensorrt.no_op_placeholder_for_execute_engine.default([%" +
           x + ", %k]" + record;
  };
  auto program = Parse(
      "tenon 1\n"
      "graph @main(%x : f32[2] device cuda:0, %k : f32[3] device cuda:0) {\n" +
      call("a", "x") + call("b", "a") + "  return (%b)\n}\n");
  ASSERT_TRUE(program);
  Diagnostics diags;
  ASSERT_TRUE(LowerEngineCalls(&*program, diags)) << diags.ToString();
  ASSERT_TRUE(Verify(*program, VerifyOptions(), diags)) << diags.ToString();
  EXPECT_EQ(program->delegates.size(), 1u);
  const NodeId first = program->root().first;
  const NodeId second = program->node(first).next;
  EXPECT_EQ(program->node(first).results.count, 2u);
  EXPECT_EQ(program->args(second)[0].value(), program->node(first).results[0]);
}

// There the engine is an object in place, by name.
TEST(RaiseEngines, InANestedGraph) {
  auto program = Parse(
      "tenon 1\n"
      "graph @main(%x : f32[2], %p : bool[]) {\n"
      "  %y : f32[2] = higher_order.cond(%p, @yes, @no, [%x])\n"
      "  return (%y)\n"
      "}\n"
      "graph @yes(%a : f32[2]) {\n"
      "  [%y : f32[2]] = "
      "tensorrt.no_op_placeholder_for_execute_engine.default([%a], \"10\", "
      "\"e\", \"0%9%0%0%\", \"cGxhbg==\", \"x\", \"y\", \"0\", \"\", "
      "\"unknown\", \"0\", \"0\", \"0\", \"\")\n"
      "  return (%y)\n"
      "}\n"
      "graph @no(%a : f32[2]) {\n"
      "  %y : f32[2] = aten.relu.default(%a)\n"
      "  return (%y)\n"
      "}\n");
  ASSERT_TRUE(program);
  const std::string before = Print(*program);
  Diagnostics diags;
  ASSERT_TRUE(LowerEngineCalls(&*program, diags)) << diags.ToString();
  ASSERT_TRUE(RaiseEngineCalls(&*program, EngineCallForm::kObject, diags));
  ASSERT_TRUE(Verify(*program, VerifyOptions(), diags)) << diags.ToString();
  EXPECT_EQ(program->root().inputs.size(), 2u);
  EXPECT_EQ(program->state.entries.size(), 1u);
  ASSERT_TRUE(LowerEngineCalls(&*program, diags)) << diags.ToString();
  EXPECT_TRUE(program->state.entries.empty());
  ASSERT_EQ(program->delegates.size(), 1u);
  EXPECT_EQ(AsText(program->delegates[0].payload), "plan");
}

TEST(LowerEngines, D2FewerNamesThanOperands) {
  Case c;
  c.input_names = "k_in";
  ExpectRefused(
      c,
      "engine record, field 4 'input_binding_names': 1 names, but the "
      "call has 2 operands");
}

TEST(LowerEngines, D2ADelimiterInsideAName) {
  Case c;
  c.input_names = "x%y%k_in";
  c.output_names = "z%k_out";
  ExpectRefused(
      c,
      "engine record, field 4 'input_binding_names': 3 names, but the "
      "call has 2 operands: one too many, or a '%' inside a name");
}

TEST(LowerEngines, D2FewerNamesThanResults) {
  Case c;
  c.output_names = "k_out";
  ExpectRefused(c,
                "engine record, field 5 'output_binding_names': 1 names, but "
                "the call has 2 results");
}

TEST(LowerEngines, D2MoreNamesThanResults) {
  Case c;
  c.output_names = "y%k_out%z";
  ExpectRefused(c,
                "engine record, field 5 'output_binding_names': 3 names, but "
                "the call has 2 results: one too many, or a '%' inside a name");
}

TEST(LowerEngines, D2TheEnginesOwnShapes) {
  // {"inout_symexprs": {"inputs": [x: float16 of rank 2, k_in: float32 of
  // rank 1], "outputs": [y: float32 of rank 1]}}
  Case c;
  c.metadata =
      "gAJ9VQ5pbm91dF9zeW1leHByc31VBmlucHV0c10ofShVC3NoYXBlX2V4cHJzXShLAksEZVUF"
      "ZHR5cGVjdG9yY2gKZmxvYXQxNgp1fShVC3NoYXBlX2V4cHJzXShLBGVVBWR0eXBlY3RvcmNo"
      "CmZsb2F0MzIKdWVzVQdvdXRwdXRzXSh9KFULc2hhcGVfZXhwcnNdKEsEZVUFZHR5cGVjdG9y"
      "Y2gKZmxvYXQzMgp1ZXNzLg==";
  auto program = Parse(c.Text());
  ASSERT_TRUE(program);
  Diagnostics diags;
  EXPECT_FALSE(LowerEngineCalls(&*program, diags));
  ASSERT_EQ(diags.num_errors(), 2u) << diags.ToString();
  EXPECT_EQ(
      diags.all()[0].message,
      "engine record, field 7 'metadata': input 'x' is float16 of rank 2, "
      "but float32[2, 4] in the call");
  EXPECT_EQ(diags.all()[1].message,
            "engine record, field 7 'metadata': output 'y' is float32 of rank "
            "1, but float32[2, 4] in the call");
}

TEST(LowerEngines, OperandsThatAreNoTensors) {
  Case c;
  c.operands = "3";
  ExpectRefused(c,
                "the first argument of an engine call isn't a list of tensors");
}

TEST(LowerEngines, AFieldThatIsNoString) {
  Case c;
  c.engine = "7";
  ExpectRefused(c, "engine record, field 3 'engine': not a string");
}

// K8-06: an alias table that can't be true; the two kinds that need no types
// and the table's other cases are in record_test.cc.
TEST(LowerEngines, D4AliasOfAnotherShape) {
  Case c;
  c.k_in = "f32[5] device cuda:0";
  ExpectRefused(c,
                "engine record, field 12 'aliased_io': output 'k_out' aliases "
                "input 'k_in', but they are float32[4] and float32[5]");
}

TEST(LowerEngines, D4AliasOfAnotherDtype) {
  Case c;
  c.k_in = "f16[4] device cuda:0";
  ExpectRefused(c,
                "engine record, field 12 'aliased_io': output 'k_out' aliases "
                "input 'k_in', but they are float32[4] and float16[4]");
}

TEST(LowerEngines, D4AliasOfUnknownKind) {
  Case c;
  c.aliased_io = "k_out@k_in@magic";
  ExpectRefused(c,
                "engine record, field 12 'aliased_io': output 'k_out' aliases "
                "input 'k_in', but the kind 'magic' is unknown");
}

TEST(LowerEngines, D4AliasOfAnAbsentName) {
  Case c;
  c.aliased_io = "k_out@cache@user";
  ExpectRefused(c,
                "engine record, field 12 'aliased_io': output 'k_out' aliases "
                "input 'cache', but no such input is bound");
}

TEST(LowerEngines, D4TwoOutputsOfOneInput) {
  Case c;
  c.aliased_io = "k_out@k_in@user%y@k_in@user";
  ExpectRefused(
      c,
      "engine record, field 12 'aliased_io': output 'y' aliases input "
      "'k_in', but output 'k_out' aliases it, too");
}

TEST(LowerEngines, D4AliasOnTheHost) {
  Case c;
  c.k_in = "f32[4]";
  ExpectRefused(c,
                "engine record, field 12 'aliased_io': output 'k_out' aliases "
                "input 'k_in', but the input lives on cpu, the engine on "
                "cuda:0");
}

TEST(LowerEngines, D4AliasOnAnotherGpu) {
  Case c;
  c.k_in = "f32[4] device cuda:1";
  ExpectRefused(c,
                "engine record, field 12 'aliased_io': output 'k_out' aliases "
                "input 'k_in', but the input lives on cuda:1, the engine on "
                "cuda:0");
}

TEST(RaiseEngines, ADelegateWithoutARecord) {
  auto program = Parse(
      "tenon 1\n"
      "delegate @e backend \"tensorrt\"\n"
      "  payload 1 bytes hex\"00\"\n"
      "  inputs (f32[2]) names [\"x\"]\n"
      "  outputs (f32[2]) names [\"y\"]\n"
      "  metadata \"abi_version\" = \"10\"\n"
      "  metadata \"name\" = \"e\"\n"
      "graph @main(%x : f32[2]) {\n"
      "  %y : f32[2] = delegate @e(%x)\n"
      "  return (%y)\n"
      "}\n");
  ASSERT_TRUE(program);
  const std::string before = Print(*program);
  Diagnostics diags;
  EXPECT_FALSE(RaiseEngineCalls(&*program, EngineCallForm::kObject, diags));
  EXPECT_EQ(diags.FirstError(),
            "engine record, field 2 'device': the delegate's metadata doesn't "
            "have it");
  EXPECT_EQ(Print(*program), before);
}

}  // namespace
}  // namespace tenon
