// The schema field by field: what tiny hand-written models hold is read, and
// written back as it was.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "worked_example.h"

namespace tenon {
namespace {

constexpr const char* kModel = "tiny/models/model.json";

std::string Model(const Program& p) {
  return MemberText(WriteToBytes(p, "tiny.pt2"), kModel);
}

// The worked example with `to` in place of `from`; `to` has to be written back.
void ExpectCarried(const std::string& from, const std::string& to) {
  const std::string bytes = EditModel(from, to);
  Diagnostics diags;
  const auto p = Read(bytes, diags);
  ASSERT_TRUE(p) << to << "\n" << diags.ToString();
  const std::string model = Model(*p);
  EXPECT_NE(model.find(to), std::string::npos) << to << "\n" << model;
}

// An argument of the first node.
void ExpectArgumentCarried(const std::string& argument) {
  ExpectCarried("\"arg\": {\"as_tensor\": {\"name\": \"b\"}}",
                "\"arg\": " + argument);
}

TEST(Pt2Schema, CarriesEveryArgumentTag) {
  for (
      const char* argument : {
          R"~({"as_none": true})~",
          R"~({"as_tensor": {"name": "a"}})~",
          R"~({"as_tensors": []})~",
          R"~({"as_tensors": [{"name": "a"}, {"name": "b"}]})~",
          R"~({"as_int": -9223372036854775808})~",
          R"~({"as_int": 9223372036854775807})~",
          R"~({"as_ints": [1, -2]})~",
          R"~({"as_ints": []})~",
          R"~({"as_float": 0.1})~",
          R"~({"as_float": "Infinity"})~",
          R"~({"as_floats": [1.0, 1e-300]})~",
          R"~({"as_string": "\u00e9\""})~",
          R"~({"as_strings": ["a", ""]})~",
          R"~({"as_bool": false})~",
          R"~({"as_bools": [true, false]})~",
          R"~({"as_sym_ints": [{"as_int": 3}]})~",
          R"~({"as_sym_floats": [{"as_float": 1.5}]})~",
          R"~({"as_sym_bools": [{"as_bool": true}, {"as_bool": false}]})~",
          R"~({"as_scalar_type": 0})~",
          R"~({"as_memory_format": 4})~",
          R"~({"as_layout": 6})~",
          R"~({"as_device": {"type": "cuda", "index": 1}})~",
          R"~({"as_device": {"type": "cpu", "index": null}})~",
          R"~({"as_optional_tensors": [{"as_tensor": {"name": "a"}}, {"as_none": true}]})~",
          R"~({"as_custom_obj": {"name": "_custom_obj_0", "class_fqn": "__torch__.X"}})~",
          R"~({"as_operator": "torch.ops.aten.add.Tensor"})~",
          R"~({"as_complex": {"real": 1.0, "imag": -0.5}})~",
          R"~({"as_nested_tensors": [[{"name": "a"}], []]})~",
          R"~({"as_int_lists": [[1], [2, 3]]})~",
          R"~({"as_float_lists": [[1.5], []]})~",
          R"~({"as_string_to_argument": {"k": {"as_int": 1}, "l": {"as_string_to_argument": {"m": {"as_tensor": {"name": "a"}}}}}})~",
      }) {
    ExpectArgumentCarried(argument);
  }
}

// Forms with two spellings come out as PyTorch writes them.
TEST(Pt2Schema, NormalisesWhatHasTwoSpellings) {
  const std::string arg = "\"arg\": {\"as_tensor\": {\"name\": \"b\"}}";
  const std::pair<const char*, const char*> kCases[] = {
      {R"~({"as_optional_tensor": {"as_tensor": {"name": "a"}}})~",
       R"~({"as_tensor": {"name": "a"}})~"},
      {R"~({"as_optional_tensor": {"as_none": true}})~",
       R"~({"as_none": true})~"},
      {R"~({"as_float": 3})~", R"~({"as_float": 3.0})~"},
      {R"~({"as_float": "-Infinity"})~", R"~({"as_float": "-Infinity"})~"},
      {R"~({"as_sym_int": {"as_int": 3}})~", R"~({"as_int": 3})~"},
      {R"~({"as_sym_float": {"as_float": 1.5}})~", R"~({"as_float": 1.5})~"},
      {R"~({"as_sym_bool": {"as_bool": true}})~", R"~({"as_bool": true})~"},
      {R"~({"as_none": {"ignored": 1}})~", R"~({"as_none": true})~"},
  };
  for (const auto& [from, to] : kCases) {
    const std::string bytes = EditModel(arg, std::string("\"arg\": ") + from);
    Diagnostics diags;
    const auto p = Read(bytes, diags);
    ASSERT_TRUE(p) << from << diags.ToString();
    EXPECT_NE(Model(*p).find(std::string("\"arg\": ") + to), std::string::npos)
        << Model(*p);
  }
}

TEST(Pt2Schema, V_FILE_05_RefusesWhatNoUnionHas) {
  const std::string arg = "\"arg\": {\"as_tensor\": {\"name\": \"b\"}}";
  const std::pair<const char*, const char*> kCases[] = {
      {R"~({"as_future": 1})~", "unknown tag 'as_future'"},
      {R"~({"as_int": 1, "as_float": 1.0})~", "arg"},
      {R"~({})~", "arg"},
      {R"~({"as_int": 1.5})~", "as_int"},
      {R"~({"as_int": 9223372036854775808})~", "as_int"},
      {R"~({"as_bool": 1})~", "as_bool"},
      {R"~({"as_layout": 8})~", "unknown layout 8"},
      {R"~({"as_memory_format": 5})~", "unknown memory format 5"},
      {R"~({"as_scalar_type": 14})~", "unknown dtype 14"},
      {R"~({"as_sym_int": {"as_float": 1.0}})~", "as_float"},
      {R"~({"as_complex": {"real": 1.0}})~", "no member 'imag'"},
      {R"~({"as_optional_tensors": [{"as_int": 1}]})~", "as_int"},
  };
  for (const auto& [argument, part] : kCases) {
    ExpectError(EditModel(arg, std::string("\"arg\": ") + argument),
                Rule::kFile05, part);
  }
}

TEST(Pt2Schema, CarriesEveryDType) {
  for (const int code : {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                         12, 13, 28, 29, 30, 31, 32, 33, 34, 35}) {
    ExpectCarried("\"a\": {\"dtype\": 7",
                  "\"a\": {\"dtype\": " + std::to_string(code));
  }
  // UNKNOWN is no tensor's dtype; 14 to 27 belong to nobody.
  for (const int code : {0, 14, 27, 36, -1}) {
    ExpectError(EditModel("\"a\": {\"dtype\": 7",
                          "\"a\": {\"dtype\": " + std::to_string(code)),
                Rule::kFile05, "unknown dtype " + std::to_string(code));
  }
}

TEST(Pt2Schema, CarriesEveryLayout) {
  const std::string before =
      "\"strides\": [{\"as_int\": 1}], \"storage_offset\": {\"as_int\": 0}, "
      "\"layout\": ";
  for (int layout = 0; layout <= 7; ++layout) {
    ExpectCarried("\"mul\": " META("false"),
                  "\"mul\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 3}], "
                  "\"requires_grad\": false, \"device\": {\"type\": \"meta\", "
                  "\"index\": null}, " +
                      before + std::to_string(layout) + "}");
  }
  // A sparse tensor has no strides.
  ExpectCarried("\"mul\": " META("false"),
                "\"mul\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 3}], "
                "\"requires_grad\": false, \"device\": {\"type\": \"cpu\", "
                "\"index\": null}, \"strides\": [], \"storage_offset\": "
                "{\"as_int\": 0}, \"layout\": 1}");
}

TEST(Pt2Schema, CarriesSymbolsOfEveryKind) {
  ExpectCarried("\"sym_int_values\": {}", "\"sym_int_values\": {}");
  const std::string symbol =
      R"~({"as_expr": {"expr_str": "Symbol('s0', positive=True, integer=True)", "hint": {"as_int": 4}}})~";
  ExpectCarried("\"a\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 3}]",
                "\"a\": {\"dtype\": 7, \"sizes\": [" + symbol + "]");
  // Results of each symbolic kind, with expression and without.
  const struct {
    const char* tag;
    const char* map;
    const char* value;
  } kCases[] = {
      {"as_sym_int", "sym_int_values",
       R"~({"as_expr": {"expr_str": "Symbol('u0', integer=True)", "hint": null}})~"},
      {"as_sym_int", "sym_int_values", R"~({"as_int": 7})~"},
      {"as_sym_float", "sym_float_values",
       R"~({"as_expr": {"expr_str": "ToFloat(Symbol('u0', integer=True))", "hint": {"as_float": 2.0}}})~"},
      {"as_sym_float", "sym_float_values", R"~({"as_float": 0.5})~"},
      {"as_sym_bool", "sym_bool_values",
       R"~({"as_expr": {"expr_str": "Equality(Symbol('u0', integer=True), Integer(3))", "hint": null}})~"},
      {"as_sym_bool", "sym_bool_values", R"~({"as_bool": true})~"},
  };
  for (const auto& c : kCases) {
    const std::string node =
        std::string(
            R"~({"target": "torch.ops.my.read.default", "inputs": [], )~") +
        "\"outputs\": [{\"" + c.tag + "\": {\"as_name\": \"n\"}}], " +
        R"~("metadata": {}, "is_hop_single_tensor_return": null})~";
    const std::string map =
        std::string("\"") + c.map + "\": {\"n\": " + c.value + "}";
    const std::string bytes =
        Edit(EditModel("\"nodes\": [", "\"nodes\": [" + node + ", "),
             "models/model.json", [&](std::string text) {
               return Replace(std::move(text),
                              std::string("\"") + c.map + "\": {}", map);
             });
    Diagnostics diags;
    const auto p = Read(bytes, diags);
    ASSERT_TRUE(p) << map << diags.ToString();
    const std::string model = Model(*p);
    EXPECT_NE(model.find(map), std::string::npos) << model;
    EXPECT_NE(model.find(node), std::string::npos) << model;
  }
}

TEST(Pt2Schema, CarriesRangesOfEveryKind) {
  ExpectCarried(
      "\"range_constraints\": {}",
      R"~("range_constraints": {"s0": {"min_val": 2, "max_val": 9}, "u0": {"min_val": null, "max_val": null}, "2*s0": {"min_val": 4, "max_val": null}, "s0 + 1": {"min_val": null, "max_val": -1}})~");
}

TEST(Pt2Schema, CarriesEveryNodeAndRootMember) {
  ExpectCarried("\"kind\": 1}, {\"name\": \"other\"",
                "\"kind\": 0}, {\"name\": \"other\"");
  ExpectCarried("\"kind\": 1}, {\"name\": \"other\"",
                "\"kind\": null}, {\"name\": \"other\"");
  ExpectCarried("\"is_hop_single_tensor_return\": null}",
                "\"is_hop_single_tensor_return\": false, \"name\": \"mul\"}");
  ExpectCarried(
      "\"metadata\": {}, \"is_hop",
      R"~("metadata": {"stack_trace": "x\ny", "from_node": "[]", "custom": "{}"}, "is_hop)~");
  ExpectCarried("{\"aten\": 10}", "{\"aten\": 10, \"my\": 3}");
  ExpectCarried("[\"TRAINING\"]", "[]");
  ExpectCarried("[\"TRAINING\"]", "[\"ATEN\", \"\"]");
  ExpectCarried("\"torch_version\": \"2.9.0\"", "\"torch_version\": \"x\"");
  ExpectCarried("\"guards_code\": []",
                "\"guards_code\": [\"L['a'].size()[0] <= 9\"]");
  ExpectCarried("\"metadata\": {}, \"treespec",
                "\"metadata\": {\"custom\": \"{}\"}, \"treespec");
  ExpectCarried(
      "\"treespec_namedtuple_fields\": {}",
      R"~("treespec_namedtuple_fields": {"P": {"field_names": ["x"]}})~");
}

TEST(Pt2Schema, CarriesModuleCallSignatures) {
  const std::string leaf =
      R"~([1, {\"type\": null, \"context\": null, \"children_spec\": []}])~";
  ExpectCarried(
      "\"b\"]}}]",
      "\"b\"]}}, {\"fqn\": \"layer\", \"signature\": null}, {\"fqn\": "
      "\"layer.0\", \"signature\": {\"inputs\": [{\"as_tensor\": {\"name\": "
      "\"a\"}}, {\"as_int\": 3}], \"outputs\": [{\"as_tensor\": {\"name\": "
      "\"mul\"}}], \"in_spec\": \"" +
          leaf + "\", \"out_spec\": \"" + leaf +
          "\", \"forward_arg_names\": null}}]");
}

// Literals as inputs and outputs, and the specs that go with them.
TEST(Pt2Schema, CarriesLiteralInputsAndOutputs) {
  for (const char* literal :
       {R"~({"as_none": true})~", R"~({"as_int": 3})~",
        R"~({"as_float": 1.5})~", R"~({"as_bool": true})~",
        R"~({"as_string": "x"})~"}) {
    std::string bytes =
        EditModel("{\"as_tensor\": {\"name\": \"b\"}}], \"outputs\"",
                  "{\"as_tensor\": {\"name\": \"b\"}}, " +
                      std::string(literal) + "], \"outputs\"");
    bytes = Edit(bytes, "models/model.json", [&](std::string text) {
      return Replace(std::move(text),
                     "{\"as_tensor\": {\"name\": \"b\"}}}}], \"output_specs\"",
                     "{\"as_tensor\": {\"name\": \"b\"}}}}, "
                     "{\"constant_input\": {\"name\": \"c\", \"value\": " +
                         std::string(literal) + "}}], \"output_specs\"");
    });
    Diagnostics diags;
    const auto p = Read(bytes, diags);
    ASSERT_TRUE(p) << literal << diags.ToString();
    EXPECT_TRUE(p->type(p->root().inputs[3]).is_literal());
    EXPECT_EQ(Model(*p), MemberText(bytes, kModel));
  }
}

TEST(Pt2Schema, CarriesEveryOutputSpec) {
  for (
      const char* spec :
      {R"~({"loss_output": {"arg": {"name": "add"}}})~",
       R"~({"token": {"arg": {"name": "add"}}})~",
       R"~({"parameter_mutation": {"arg": {"name": "add"}, "parameter_name": "bias"}})~",
       R"~({"gradient_to_parameter": {"arg": {"name": "add"}, "parameter_name": "bias"}})~",
       R"~({"user_input_mutation": {"arg": {"name": "add"}, "user_input_name": "a"}})~",
       R"~({"gradient_to_user_input": {"arg": {"name": "add"}, "user_input_name": "b"}})~"}) {
    ExpectCarried(
        R"~({"user_output": {"arg": {"as_tensor": {"name": "add"}}}})~", spec);
  }
}

TEST(Pt2Schema, CarriesUnknownMembersOfRecordsInsideOthers) {
  for (
      const auto& [from, to] : std::vector<std::pair<const char*, const char*>>{
          {"{\"as_tensor\": {\"name\": \"a\"}}, \"kind\": 1}",
           R"~({"as_tensor": {"name": "a", "future": 1}}, "kind": 1, "more": {}})~"},
          {"\"outputs\": [{\"as_tensor\": {\"name\": \"mul\"}}]",
           R"~("outputs": [{"as_tensor": {"name": "mul", "future": [2]}}])~"},
          {"\"b\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 3}], "
           "\"requires_grad\": false, \"device\": {\"type\": \"cpu\", "
           "\"index\": null}",
           R"~("b": {"dtype": 7, "sizes": [{"as_int": 3}], "requires_grad": false, "device": {"type": "cpu", "index": null, "future": 3})~"},
          {"\"parameter_name\": \"bias\"}",
           R"~("parameter_name": "bias", "future": 4})~"},
          {"{\"inputs\": [{\"as_tensor\": {\"name\": \"p_bias\"}}",
           R"~({"inputs": [{"as_tensor": {"name": "p_bias", "future": 5}})~"},
          {"\"minor\": 14}", R"~("minor": 14, "future": 6})~"},
      }) {
    ExpectCarried(from, to);
  }
}

// A node keeps what was inside it wherever it goes.
TEST(Pt2Schema, UnknownMembersFollowTheirNode) {
  const std::string bytes = EditModel(
      "\"outputs\": [{\"as_tensor\": {\"name\": \"add\"}}], \"metadata\"",
      R"~("outputs": [{"as_tensor": {"name": "add", "future": 1}}], "metadata")~");
  Diagnostics diags;
  auto p = Read(bytes, diags);
  ASSERT_TRUE(p) << diags.ToString();
  const NodeId copy = p->NewOp(p->node(p->root().first).op, StringId());
  p->InsertBefore(Program::kRoot, p->root().first, copy);
  Pt2WriteReport report;
  const std::string model =
      MemberText(WriteToBytes(*p, "tiny.pt2", &report), kModel);
  EXPECT_NE(model.find(R"~([{"as_tensor": {"name": "add", "future": 1}}])~"),
            std::string::npos)
      << model;
  EXPECT_EQ(
      report.notes,
      (std::vector<std::string>{"unknown members of nodes were carried: 1"}));
}

TEST(Pt2Schema, SaysThatASchemaIsNewerThanWhatIsKnown) {
  Diagnostics diags;
  EXPECT_TRUE(Read(EditModel("\"minor\": 14", "\"minor\": 21"), diags));
  ASSERT_EQ(diags.all().size(), 1u);
  EXPECT_EQ(diags.all()[0].severity, Severity::kNote);
  EXPECT_NE(diags.ToString().find("8.21 is newer than 8.20"),
            std::string::npos);
  diags.Clear();
  EXPECT_TRUE(Read(EditModel("\"minor\": 14", "\"minor\": 20"), diags));
  EXPECT_TRUE(diags.all().empty());
}

TEST(Pt2Schema, CarriesUnknownMembersOfPayloadConfigs) {
  const std::string config = "tiny/data/weights/model_weights_config.json";
  const std::string bytes =
      Edit(WriteToBytes(WorkedExample(), "tiny.pt2"),
           "data/weights/model_weights_config.json", [](std::string text) {
             return Replace(std::move(text), "\"layout\": 7}}",
                            "\"layout\": 7, \"future\": 1}, \"more\": 2}");
           });
  Diagnostics diags;
  const auto p = Read(bytes, diags);
  ASSERT_TRUE(p) << diags.ToString();
  EXPECT_EQ(MemberText(WriteToBytes(*p, "tiny.pt2"), config),
            MemberText(bytes, config));
}

}  // namespace
}  // namespace tenon
