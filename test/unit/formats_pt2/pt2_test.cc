#include "formats/pt2/pt2.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "worked_example.h"

namespace tenon {
namespace {

TEST(Pt2Writer, SpellsTheModelAsPyTorchDoes) {
  const std::string bytes = WriteToBytes(WorkedExample(), "tiny.pt2");
  EXPECT_EQ(
      MemberText(bytes, "tiny/models/model.json"),
      "{\"graph_module\": {\"graph\": {\"inputs\": [{\"as_tensor\": "
      "{\"name\": \"p_bias\"}}, {\"as_tensor\": {\"name\": \"a\"}}, "
      "{\"as_tensor\": {\"name\": \"b\"}}], \"outputs\": [{\"as_tensor\": "
      "{\"name\": \"add\"}}], \"nodes\": [{\"target\": "
      "\"torch.ops.aten.mul.Tensor\", \"inputs\": [{\"name\": \"self\", "
      "\"arg\": {\"as_tensor\": {\"name\": \"a\"}}, \"kind\": 1}, {\"name\": "
      "\"other\", \"arg\": {\"as_tensor\": {\"name\": \"b\"}}, \"kind\": 1}], "
      "\"outputs\": [{\"as_tensor\": {\"name\": \"mul\"}}], \"metadata\": {}, "
      "\"is_hop_single_tensor_return\": null}, {\"target\": "
      "\"torch.ops.aten.add.Tensor\", \"inputs\": [{\"name\": \"self\", "
      "\"arg\": {\"as_tensor\": {\"name\": \"mul\"}}, \"kind\": 1}, "
      "{\"name\": \"other\", \"arg\": {\"as_tensor\": {\"name\": "
      "\"p_bias\"}}, \"kind\": 1}], \"outputs\": [{\"as_tensor\": {\"name\": "
      "\"add\"}}], \"metadata\": {}, \"is_hop_single_tensor_return\": null}], "
      "\"tensor_values\": {\"p_bias\": " META("true") ", \"a\": "
      META("false") ", \"b\": " META("false") ", \"mul\": " META("false")
      ", \"add\": " META("true") "}, \"sym_int_values\": {}, "
      "\"sym_bool_values\": {}, \"is_single_tensor_return\": false, "
      "\"custom_obj_values\": {}, \"sym_float_values\": {}}, \"signature\": "
      "{\"input_specs\": [{\"parameter\": {\"arg\": {\"name\": \"p_bias\"}, "
      "\"parameter_name\": \"bias\"}}, {\"user_input\": {\"arg\": "
      "{\"as_tensor\": {\"name\": \"a\"}}}}, {\"user_input\": {\"arg\": "
      "{\"as_tensor\": {\"name\": \"b\"}}}}], \"output_specs\": "
      "[{\"user_output\": {\"arg\": {\"as_tensor\": {\"name\": "
      "\"add\"}}}}]}, \"module_call_graph\": [{\"fqn\": \"\", \"signature\": "
      "{\"inputs\": [], \"outputs\": [], \"in_spec\": \"[1, {\\\"type\\\": "
      "\\\"builtins.tuple\\\", \\\"context\\\": \\\"null\\\", "
      "\\\"children_spec\\\": [{\\\"type\\\": \\\"builtins.tuple\\\", "
      "\\\"context\\\": \\\"null\\\", \\\"children_spec\\\": [{\\\"type\\\": "
      "null, \\\"context\\\": null, \\\"children_spec\\\": []}]}, "
      "{\\\"type\\\": \\\"builtins.dict\\\", \\\"context\\\": "
      "\\\"[\\\\\\\"b\\\\\\\"]\\\", \\\"children_spec\\\": [{\\\"type\\\": "
      "null, \\\"context\\\": null, \\\"children_spec\\\": []}]}]}]\", "
      "\"out_spec\": \"[1, {\\\"type\\\": null, \\\"context\\\": null, "
      "\\\"children_spec\\\": []}]\", \"forward_arg_names\": [\"a\", "
      "\"b\"]}}], \"metadata\": {}, \"treespec_namedtuple_fields\": {}}, "
      "\"opset_version\": {\"aten\": 10}, \"range_constraints\": {}, "
      "\"schema_version\": {\"major\": 8, \"minor\": 14}, \"verifiers\": "
      "[\"TRAINING\"], \"torch_version\": \"2.9.0\", \"guards_code\": []}");
  EXPECT_EQ(MemberText(bytes, "tiny/data/weights/model_weights_config.json"),
            "{\"config\": {\"bias\": {\"path_name\": \"weight_0\", "
            "\"is_param\": true, \"use_pickle\": false, \"tensor_meta\": " META(
                "true") "}}}");
  EXPECT_EQ(
      MemberText(bytes, "tiny/data/constants/model_constants_config.json"),
      "{\"config\": {}}");
  EXPECT_EQ(MemberText(bytes, "tiny/data/weights/weight_0"),
            std::string("\0\0\0\x3F\0\0\x80\xBF\0\0\0\x40", 12));
  EXPECT_EQ(MemberText(bytes, "tiny/data/sample_inputs/model.pt"), "");
  EXPECT_EQ(MemberText(bytes, "tiny/archive_format"), "pt2");
  EXPECT_EQ(MemberText(bytes, "tiny/.data/version"), "6\n");
}

TEST(Pt2Writer, GivesTheSameBytesAfterReading) {
  const std::string first = WriteToBytes(WorkedExample(), "tiny.pt2");
  Diagnostics diags;
  const auto program = Read(first, diags);
  ASSERT_TRUE(program) << diags.ToString();
  EXPECT_EQ(WriteToBytes(*program, "tiny.pt2"), first);
  EXPECT_EQ(WriteToBytes(*program, "tiny.pt2"), first);
}

TEST(Pt2Reader, ReadsTheWorkedExample) {
  const std::string bytes = WriteToBytes(WorkedExample(), "tiny.pt2");
  Diagnostics diags;
  const auto p = Read(bytes, diags);
  ASSERT_TRUE(p) << diags.ToString();
  ASSERT_EQ(p->root().inputs.size(), 3u);
  EXPECT_EQ(p->CountNodes(Program::kRoot), 2u);
  const NodeId mul = p->root().first;
  EXPECT_EQ(p->op_name(mul), "aten.mul.Tensor");
  EXPECT_EQ(p->args(mul)[0].value(), p->root().inputs[1]);
  EXPECT_EQ(p->args(mul)[1].pass, PassKind::kPositional);
  const NodeId add = p->node(mul).next;
  EXPECT_EQ(p->args(add)[0].value(), p->node(mul).results[0]);
  EXPECT_EQ(p->outputs(Program::kRoot)[0].value(), p->node(add).results[0]);
  ASSERT_EQ(p->state.entries.size(), 1u);
  EXPECT_EQ(p->view(p->state.entries[0].fqn), "bias");
  EXPECT_EQ(p->state.entries[0].kind, StateKind::kParameter);
  EXPECT_TRUE(p->state.entries[0].is_param);
  // A view of the file's bytes, not a copy.
  const auto* data =
      reinterpret_cast<const char*>(p->state.storages[0].bytes.data());
  EXPECT_TRUE(data >= bytes.data() && data < bytes.data() + bytes.size());
  EXPECT_EQ(p->in_spec, WorkedExample().in_spec);
  EXPECT_EQ(p->forward_arg_names, (std::vector<std::string>{"a", "b"}));
}

TEST(Pt2Reader, V_FILE_05_NamesTheJsonPath) {
  ExpectError(EditModel("\"as_tensor\": {\"name\": \"mul\"}}, \"kind\"",
                        "\"as_banana\": {\"name\": \"mul\"}}, \"kind\""),
              Rule::kFile05,
              "models/model.json:$.graph_module.graph.nodes[1].inputs[0].arg: "
              "unknown tag 'as_banana'");
  ExpectError(EditModel("\"target\": \"torch.ops.aten.mul.Tensor\"",
                        "\"target\": null"),
              Rule::kFile05, "nodes[0].target: null, expected a string");
  ExpectError(EditModel("\"dtype\": 7", "\"dtype\": 99"), Rule::kFile05,
              "tensor_values.p_bias.dtype: unknown dtype 99");
}

TEST(Pt2Reader, V_FILE_06_RefusesOtherMajorVersions) {
  ExpectError(EditModel("\"major\": 8", "\"major\": 9"), Rule::kFile06, "9.14");
}

TEST(Pt2Reader, V_FILE_10_WantsDefinitionsBeforeUses) {
  ExpectError(EditModel("{\"name\": \"a\"}}, \"kind\"",
                        "{\"name\": \"add\"}}, \"kind\""),
              Rule::kFile10, "'add' is used before its definition");
  ExpectError(EditModel("{\"name\": \"a\"}}, \"kind\"",
                        "{\"name\": \"x9\"}}, \"kind\""),
              Rule::kFile10, "'x9' isn't defined in this graph");
  ExpectError(EditModel("\"outputs\": [{\"as_tensor\": {\"name\": \"mul\"}}]",
                        "\"outputs\": [{\"as_tensor\": {\"name\": \"a\"}}]"),
              Rule::kFile10, "'a' is defined twice");
}

TEST(Pt2Reader, V_FILE_10_WantsSpecsAtTheirInputsPositions) {
  ExpectError(
      EditModel("{\"as_tensor\": {\"name\": \"a\"}}}}, {\"user_input\"",
                "{\"as_tensor\": {\"name\": \"b\"}}}}, {\"user_input\""),
      Rule::kFile10, "input_specs[1]");
}

TEST(Pt2Reader, ReadsPythonsBareInfinity) {
  const std::string bytes = EditModel(
      "\"arg\": {\"as_tensor\": {\"name\": \"b\"}}, \"kind\": 1}",
      "\"arg\": {\"as_floats\": [Infinity, -Infinity, NaN, 1, \"NaN\"]}, "
      "\"kind\": 1}");
  Diagnostics diags;
  const auto p = Read(bytes, diags);
  ASSERT_TRUE(p) << diags.ToString();
  EXPECT_NE(MemberText(WriteToBytes(*p, "t.pt2"), "t/models/model.json")
                .find("{\"as_floats\": [\"Infinity\", \"-Infinity\", \"NaN\", "
                      "1.0, \"NaN\"]}"),
            std::string::npos);
}

TEST(Pt2Reader, CarriesUnknownMembers) {
  std::string bytes = EditModel(
      "\"opset_version\"", "\"future\": {\"x\": [1.5]}, \"opset_version\"");
  bytes = Edit(bytes, "models/model.json", [](std::string text) {
    return Replace(text, "\"metadata\": {}", "\"extra\": 7, \"metadata\": {}");
  });
  Diagnostics diags;
  const auto p = Read(bytes, diags);
  ASSERT_TRUE(p) << diags.ToString();
  ASSERT_EQ(p->file.unknown_members.size(), 1u);
  EXPECT_EQ(p->file.unknown_members[0].json, "{\"x\": [1.5]}");
  Pt2WriteReport report;
  const std::string model =
      MemberText(WriteToBytes(*p, "t.pt2", &report), "t/models/model.json");
  EXPECT_NE(model.find("\"guards_code\": [], \"future\": {\"x\": [1.5]}}"),
            std::string::npos);
  EXPECT_NE(model.find("\"is_hop_single_tensor_return\": null, \"extra\": 7}"),
            std::string::npos);
  EXPECT_EQ(report.notes, (std::vector<std::string>{
                              "unknown members of nodes were carried: 1",
                              "the unknown member 'future' at $ was carried"}));
}

// Programs that name the same values in nested graphs.
TEST(Pt2Reader, GivesEachNestedGraphItsOwnNames) {
  Program source = WorkedExample();
  Context& context = source.context();
  const TypeId plain = Float32(context, {3});
  const GraphId body = source.AddGraph("body");
  const ValueId inner = source.AddInput(body, plain, context.Intern("a"));
  Return(source, body,
         {Binary(source, body, "aten.mul.Tensor", inner, inner, "add", plain)});
  source.mutable_graph(body).returns_single = true;

  const NodeId call =
      source.NewOp(context.InternOp("higher_order.invoke"), StringId());
  source.mutable_node(call).single_return = SingleReturn::kTrue;
  const ArgRange args = source.NewArgs(2);
  source.SetArgRange(call, args);
  source.SetArg(args[0], Arg::OfGraph(body));
  source.SetValueArg(args[1], call, source.root().inputs[1]);
  const ValueRange results = source.NewResults(call, 1);
  source.mutable_value(results[0]).type = plain;
  source.mutable_value(results[0]).name = context.Intern("called");
  source.InsertBefore(Program::kRoot, source.root().output, call);

  const std::string bytes = WriteToBytes(source, "tiny.pt2");
  Diagnostics diags;
  const auto p = Read(bytes, diags);
  ASSERT_TRUE(p) << diags.ToString();
  ASSERT_EQ(p->num_graphs(), 2u);
  const GraphId g(1u);
  EXPECT_TRUE(p->graph(g).returns_single);
  EXPECT_EQ(p->args(p->graph(g).first)[0].value(), p->graph(g).inputs[0]);
  const NodeId last = p->node(p->root().output).prev;
  EXPECT_EQ(p->args(last)[1].value(), p->root().inputs[1]);
  EXPECT_EQ(WriteToBytes(*p, "tiny.pt2"), bytes);
}

// mul becomes a call of a delegate, compiled from a graph.
Program WithDelegate(Bytes payload) {
  Program p = WorkedExample();
  Context& context = p.context();
  const TypeId plain = Float32(context, {3});
  const GraphId source = p.AddGraph("region");
  const ValueId x = p.AddInput(source, plain, context.Intern("a"));
  const ValueId y = p.AddInput(source, plain, context.Intern("b"));
  Return(p, source, {Binary(p, source, "aten.mul.Tensor", x, y, "mul", plain)});
  const ArgRange defaults = p.NewArgs(1);
  p.SetArg(defaults[0], Arg::Float(0.5));
  p.mutable_graph(source).parameters = {{context.Intern("x")},
                                        {context.Intern("y"), defaults[0]}};

  Delegate delegate;
  delegate.name = context.Intern("region_0");
  delegate.backend = context.Intern("echo");
  delegate.payload = payload;
  delegate.payload_digest = HashBytes(payload.data(), payload.size());
  delegate.source = source;
  delegate.inputs = {plain, plain};
  delegate.outputs = {plain};
  delegate.writes = {{1, 0, WriteKind::kKvCacheUpdate}};
  delegate.output_names = {context.Intern("out")};
  p.delegates.push_back(delegate);
  p.regions.push_back({context.Intern("region_0"), context.Intern("echo")});

  const NodeId old = p.root().first;
  const NodeId call = p.NewNode(NodeKind::kDelegateCall);
  p.mutable_node(call).delegate = DelegateId(0u);
  p.mutable_node(call).region = RegionId(0u);
  const ArgRange args = p.NewArgs(2);
  p.SetArgRange(call, args);
  p.SetArgLabel(args[0], StringId(), PassKind::kPositional);
  p.SetArgLabel(args[1], StringId(), PassKind::kPositional);
  p.SetValueArg(args[0], call, p.root().inputs[1]);
  p.SetValueArg(args[1], call, p.root().inputs[2]);
  const ValueRange results = p.NewResults(call, 1);
  p.mutable_value(results[0]).type = plain;
  p.mutable_value(results[0]).name = context.Intern("mul");
  p.InsertBefore(Program::kRoot, old, call);
  p.ReplaceAllUses(p.node(old).results[0], results[0]);
  p.Erase(Program::kRoot, old);
  return p;
}

TEST(Pt2Writer, CarriesDelegatesAndRegions) {
  const std::string payload = "compiled";
  const std::string bytes =
      WriteToBytes(WithDelegate(AsBytes(payload)), "tiny.pt2");
  EXPECT_EQ(MemberText(bytes, "tiny/data/tenon/payload_0"), payload);
  Diagnostics diags;
  Pt2ReadOptions options;
  options.check_crc = true;
  const auto p = Read(bytes, diags, options);
  ASSERT_TRUE(p) << diags.ToString();
  ASSERT_EQ(p->delegates.size(), 1u);
  const Delegate& d = p->delegates[0];
  EXPECT_EQ(p->view(d.name), "region_0");
  EXPECT_EQ(p->view(d.backend), "echo");
  EXPECT_EQ(AsText(d.payload), payload);
  EXPECT_EQ(d.payload_digest, HashBytes(payload.data(), payload.size()));
  EXPECT_EQ(d.inputs.size(), 2u);
  EXPECT_EQ(d.inputs[0], p->value(p->root().inputs[1]).type);
  ASSERT_EQ(d.writes.size(), 1u);
  EXPECT_EQ(d.writes[0], (DeclaredWrite{1, 0, WriteKind::kKvCacheUpdate}));
  EXPECT_TRUE(d.input_names.empty());
  ASSERT_EQ(d.output_names.size(), 1u);
  ASSERT_TRUE(d.source.valid());
  EXPECT_EQ(p->view(p->graph(d.source).name), "region");
  const auto& parameters = p->graph(d.source).parameters;
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_FALSE(parameters[0].value.valid());
  ASSERT_TRUE(parameters[1].value.valid());
  EXPECT_EQ(p->arg(parameters[1].value).f, 0.5);
  EXPECT_EQ(p->CountNodes(d.source), 1u);
  const NodeId call = p->root().first;
  EXPECT_EQ(p->node(call).kind, NodeKind::kDelegateCall);
  EXPECT_EQ(p->node(call).delegate, DelegateId(0u));
  ASSERT_EQ(p->args(call).size(), 2u);
  EXPECT_EQ(p->args(call)[1].value(), p->root().inputs[2]);
  EXPECT_EQ(p->node(call).region, RegionId(0u));
  EXPECT_EQ(p->view(p->regions[0].backend), "echo");
  EXPECT_EQ(WriteToBytes(*p, "tiny.pt2"), bytes);
}

TEST(Pt2Writer, D_6_StoresOnePayloadOnce) {
  const std::string payload = "compiled";
  Program p = WithDelegate(AsBytes(payload));
  Delegate second = p.delegates[0];
  second.name = p.context().Intern("region_1");
  p.delegates.push_back(second);
  // A backend whose payload is the source itself.
  const std::string bytes = WriteToBytes(p, "tiny.pt2");
  const std::string source = MemberText(bytes, "tiny/data/tenon/source_0");
  EXPECT_NE(MemberText(bytes, "tiny/data/tenon/payload_1"), payload);
  p.delegates[1].payload = AsBytes(source);
  p.delegates[1].payload_digest = HashBytes(source.data(), source.size());
  const std::string again = WriteToBytes(p, "tiny.pt2");
  EXPECT_EQ(MemberText(again, "tiny/data/tenon/source_0"), source);
  EXPECT_EQ(MemberText(again, "tiny/data/tenon/payload_1"),
            "no member tiny/data/tenon/payload_1");
  Diagnostics diags;
  const auto read = Read(again, diags);
  ASSERT_TRUE(read) << diags.ToString();
  EXPECT_EQ(AsText(read->delegates[1].payload), source);
}

TEST(Pt2Writer, RefusesCallsOfChildGraphs) {
  Program p = WorkedExample();
  const GraphId child = p.AddGraph("child");
  const NodeId call = p.NewNode(NodeKind::kChildCall);
  p.mutable_node(call).child = child;
  p.InsertBefore(Program::kRoot, p.root().output, call);
  Diagnostics diags;
  const std::string path = TestPath("tenon_child.pt2");
  EXPECT_FALSE(WritePt2(p, path, {}, diags));
  EXPECT_NE(diags.FirstError().find("'child'"), std::string::npos);
  EXPECT_FALSE(std::ifstream(path).good());
}

TEST(Pt2Writer, DropsExampleInputsThatImportMoreThanTensors) {
  Program p = WorkedExample();
  const std::string evil =
      "\x80\x02"
      "cos\nsystem\n(X\x02\0\0\0hitR.";
  p.file.members.push_back(
      {"data/sample_inputs/model.pt", AsBytes(evil), nullptr});
  Pt2WriteReport report;
  const std::string bytes = WriteToBytes(p, "tiny.pt2", &report);
  EXPECT_EQ(MemberText(bytes, "tiny/data/sample_inputs/model.pt"), "");
  ASSERT_EQ(report.notes.size(), 1u);
}

TEST(Pt2Reader, SurvivesEveryFlippedByteOfTheModel) {
  const std::string payload = "compiled";
  std::string bytes = WriteToBytes(WithDelegate(AsBytes(payload)), "tiny.pt2");
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char saved = bytes[i];
    bytes[i] = i % 2 == 0 ? '\xFF' : '9';
    Diagnostics diags;
    const auto p = Read(bytes, diags);
    EXPECT_EQ(p.ok(), !diags.has_errors());
    bytes[i] = saved;
  }
}

// Damage behind the checksum: the JSON itself is changed and written anew.
TEST(Pt2Reader, SurvivesDamagedJsonWithGoodChecksums) {
  const std::string payload = "compiled";
  const std::string bytes =
      WriteToBytes(WithDelegate(AsBytes(payload)), "tiny.pt2");
  const char* const members[] = {
      "models/model.json", "data/weights/model_weights_config.json",
      "data/tenon/delegates.json", "data/tenon/source_0"};
  uint64_t random = 1;
  for (int round = 0; round < 400; ++round) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const std::string damaged =
        Edit(bytes, members[round % 4], [&](std::string text) {
          const size_t at = (random >> 33) % text.size();
          const char choices[] = "0123456789\"{}[],:nx-";
          text[at] = choices[(random >> 20) % (sizeof(choices) - 1)];
          if (round % 3 == 0) text.erase(at, (random >> 50) % 9);
          return text;
        });
    Diagnostics diags;
    const auto p = Read(damaged, diags);
    EXPECT_EQ(p.ok(), !diags.has_errors());
  }
}

}  // namespace
}  // namespace tenon
