#include "conformance/pt2/corpus_value.h"

#include <gtest/gtest.h>

#include "kernels/elements.h"

namespace tenon::conformance {
namespace {

Tensor Iota(DType dtype, Sizes sizes) {
  Tensor tensor = Tensor::Empty(dtype, sizes);
  std::vector<double> values(static_cast<size_t>(tensor.numel()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = double(i);
  WriteAll(&tensor, values);
  return tensor;
}

Safetensors Recording() {
  Safetensors recording;
  recording.tensors = {{"x", Iota(DType::kFloat32, {2, 3})},
                       {"pairs", Iota(DType::kFloat32, {3, 2})},
                       {"bytes", Iota(DType::kUInt8, {4})}};
  return recording;
}

CorpusValue Decode(std::string_view json) {
  CorpusValue value;
  std::string error;
  EXPECT_TRUE(DecodeCorpusValue(json, Recording(), &value, &error)) << error;
  return value;
}

std::string ErrorOf(std::string_view json) {
  CorpusValue value;
  std::string error;
  EXPECT_FALSE(DecodeCorpusValue(json, Recording(), &value, &error));
  return error;
}

TreeSpec Node(std::string type, std::string context,
              std::vector<TreeSpec> children) {
  TreeSpec spec;
  spec.is_leaf = false;
  spec.type = std::move(type);
  spec.context = std::move(context);
  spec.children = std::move(children);
  return spec;
}

std::string DifferFromSpec(const CorpusValue& value, const TreeSpec& spec,
                           const std::string& path) {
  return DifferSpecs(spec, SpecOf(value), path);
}

TEST(CorpusValue, Scalars) {
  EXPECT_EQ(Decode(R"({"i": -3})").leaf.int_value(), -3);
  EXPECT_EQ(Decode(R"({"f": 1.5})").leaf.float_value(), 1.5);
  EXPECT_TRUE(std::isinf(Decode(R"({"f": "-inf"})").leaf.float_value()));
  EXPECT_TRUE(Decode(R"({"b": true})").leaf.bool_value());
  EXPECT_EQ(Decode(R"({"s": "x"})").leaf.string(), "x");
  EXPECT_TRUE(Decode(R"({"n": null})").leaf.is_none());
}

TEST(CorpusValue, TensorsAreCopies) {
  const Safetensors recording = Recording();
  CorpusValue value;
  std::string error;
  ASSERT_TRUE(DecodeCorpusValue(R"({"t": "x"})", recording, &value, &error));
  EXPECT_FALSE(value.leaf.tensor().SharesStorage(*recording.Find("x")));
  EXPECT_EQ(value.leaf.tensor().ToString(), "f32[2, 3]");
}

TEST(CorpusValue, DtypesWithoutANameAreReinterpreted) {
  const Tensor complex =
      Decode(R"({"t": "pairs", "dtype": "complex64"})").leaf.tensor();
  EXPECT_EQ(complex.ToString(), "c64[3]");
  EXPECT_EQ(ReadAll<std::complex<double>>(complex)[1],
            std::complex<double>(2, 3));
  EXPECT_EQ(
      Decode(R"({"t": "bytes", "dtype": "float8_e5m2"})").leaf.tensor().dtype(),
      DType::kFloat8E5M2);
}

TEST(CorpusValue, StridesAreRestored) {
  const Tensor tensor =
      Decode(R"({"t": "x", "strides": [1, 2]})").leaf.tensor();
  EXPECT_EQ(tensor.strides(), (Sizes{1, 2}));
  EXPECT_EQ(ReadAll<double>(tensor), ReadAll<double>(*Recording().Find("x")));
}

TEST(CorpusValue, BadRecordingsSayWhatIsWrong) {
  EXPECT_EQ(ErrorOf(R"({"t": "y"})"), "no tensor 'y' in the file");
  EXPECT_EQ(ErrorOf(R"({"t": "x", "dtype": "complex64"})"),
            "tensor 'x' isn't of its dtype");
  EXPECT_EQ(ErrorOf(R"({"t": "x", "strides": [1]})"),
            "tensor 'x' doesn't have its strides");
  EXPECT_EQ(ErrorOf(R"({"set": []})"), "unknown kind of value 'set'");
  EXPECT_EQ(ErrorOf("3"), "a value that is no object");
  EXPECT_EQ(ErrorOf("{"), "a value that is no JSON");
}

TEST(CorpusValue, LeavesComeInOrder) {
  std::vector<RuntimeValue> leaves;
  CollectLeaves(Decode(R"({"tuple": [{"i": 1}, {"dict": [["b", {"i": 2}],
      ["a", {"n": null}]]}, {"list": []}, {"i": 3}]})"),
                &leaves);
  ASSERT_EQ(leaves.size(), 4u);
  EXPECT_EQ(leaves[1].int_value(), 2);
  EXPECT_TRUE(leaves[2].is_none());
  EXPECT_EQ(leaves[3].int_value(), 3);
}

TEST(CorpusValue, AbsentFieldsOfADataclassAreNoLeaves) {
  std::vector<RuntimeValue> leaves;
  const CorpusValue box = Decode(R"({"dataclass": "Box", "fields":
      [["value", {"i": 1}], ["note", {"n": null}], ["items", {"list": []}]]})");
  CollectLeaves(box, &leaves);
  EXPECT_EQ(leaves.size(), 1u);
  EXPECT_EQ(
      DifferFromSpec(box,
                     Node("corpus.Box", R"([["value", "items"], ["note"]])",
                          {TreeSpec::Leaf(), TreeSpec::List({})}),
                     "out"),
      "");
}

TEST(DifferSpecs, KindsOfContainersDiffer) {
  const CorpusValue list = Decode(R"({"list": [{"i": 1}]})");
  EXPECT_EQ(DifferFromSpec(list, TreeSpec::List({TreeSpec::Leaf()}), "out"),
            "");
  EXPECT_EQ(DifferFromSpec(list, TreeSpec::Tuple({TreeSpec::Leaf()}), "out"),
            "out: builtins.tuple null instead of builtins.list null");
  EXPECT_EQ(DifferFromSpec(list, TreeSpec::Leaf(), "out"),
            "out: a leaf instead of builtins.list null");
  EXPECT_EQ(DifferFromSpec(list, TreeSpec::List({}), "out"),
            "out: 0 children instead of 1");
}

TEST(DifferSpecs, TheOrderOfKeysCounts) {
  const CorpusValue dict =
      Decode(R"({"dict": [["b", {"i": 1}], ["a", {"i": 2}]]})");
  const std::vector<TreeSpec> leaves(2);
  EXPECT_EQ(DifferFromSpec(dict, TreeSpec::Dict({"b", "a"}, leaves), "out"),
            "");
  EXPECT_NE(DifferFromSpec(dict, TreeSpec::Dict({"a", "b"}, leaves), "out"),
            "");
  EXPECT_NE(DifferFromSpec(
                dict, Node("collections.OrderedDict", R"(["b", "a"])", leaves),
                "out"),
            "");
}

TEST(DifferSpecs, DifferencesInsideAreFoundByPath) {
  const CorpusValue value =
      Decode(R"({"tuple": [{"i": 1}, {"dict": [["k", {"list": []}]]}]})");
  EXPECT_EQ(DifferFromSpec(
                value,
                TreeSpec::Tuple({TreeSpec::Leaf(),
                                 TreeSpec::Dict({"k"}, {TreeSpec::Leaf()})}),
                "out"),
            "out.1.k: a leaf instead of builtins.list null");
}

TEST(DifferSpecs, DefaultdictsAndDequesKeepTheirContext) {
  const CorpusValue value =
      Decode(R"({"defaultdict": [["k", {"i": 1}]], "factory": "list"})");
  TreeSpec spec = Node("collections.defaultdict",
                       R"({"default_factory_module": "builtins",
                           "default_factory_name": "list",
                           "dict_context": ["k"]})",
                       {TreeSpec::Leaf()});
  spec.context_is_json = true;
  EXPECT_EQ(DifferFromSpec(value, spec, "out"), "");
  const CorpusValue deque = Decode(R"({"deque": [], "maxlen": 4})");
  EXPECT_EQ(DifferFromSpec(deque, Node("collections.deque", "4", {}), "out"),
            "");
  EXPECT_NE(DifferFromSpec(deque, Node("collections.deque", "null", {}), "out"),
            "");
}

}  // namespace
}  // namespace tenon::conformance
