// The codec. That ONNX itself reads what is written, test/oracle/onnx.sh says;
// the bytes below are what onnx 1.23's own serialiser gives for the model.
#include "formats/onnx/onnx.h"

#include <gtest/gtest.h>

#include <string>

#include "formats/onnx/protobuf.h"

namespace tenon::onnx {
namespace {

// Y = Add(X, w) with X: float[n, 2] and w = [1, 2].
Model SmallModel() {
  Model model;
  model.producer = "t";
  Graph& graph = model.graph;
  graph.name = "g";
  graph.nodes.push_back({"Add", {"X", "w"}, {"Y"}, {}});
  TensorValue w;
  w.name = "w";
  w.type = ElementType::kFloat;
  w.dims = {2};
  w.bytes = std::string("\0\0\x80\x3f\0\0\0\x40", 8);
  graph.initializers.push_back(w);
  const std::vector<Dimension> dims = {{std::nullopt, "n"}, {2, ""}};
  graph.inputs.push_back({"X", ElementType::kFloat, dims});
  graph.outputs.push_back({"Y", ElementType::kFloat, dims});
  model.metadata = {{"k", "v"}};
  return model;
}

std::string Hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<uint8_t>(c) >> 4];
    out += kDigits[c & 15];
  }
  return out;
}

// Attributes of all kinds, one of them a graph.
Model ModelOfAllKinds() {
  Model model = SmallModel();
  const auto inner = std::make_shared<Graph>(model.graph);
  TensorValue outside;
  outside.name = "far";
  outside.type = ElementType::kInt64;
  outside.dims = {4, 0};
  outside.external = ExternalData{"m.data", 4096, 32};
  model.graph.nodes[0].attributes = {
      {"f", 1.5f},
      {"i", int64_t{-3}},
      {"s", std::string("text")},
      {"t", model.graph.initializers[0]},
      {"g", std::shared_ptr<const Graph>(inner)},
      {"fs", std::vector<float>{0.5f, -1}},
      {"is", std::vector<int64_t>{1, -1, int64_t{1} << 40}},
      {"ss", std::vector<std::string>{"a", ""}},
  };
  model.graph.initializers.push_back(outside);
  return model;
}

TEST(Onnx, BytesAreThoseOfOnnxsOwnSerialiser) {
  EXPECT_EQ(Hex(WriteModel(SmallModel())),
            "08081201743a520a0e0a01580a017712015922034164641201672a1108021001"
            "4201774a080000803f000000405a140a0158120f0a0d080112090a0312016e0a"
            "02080262140a0159120f0a0d080112090a0312016e0a02080242040a00101272"
            "060a016b120176");
}

TEST(Onnx, AllKindsComeBackAsTheyWere) {
  const Model model = ModelOfAllKinds();
  const std::string bytes = WriteModel(model);
  Diagnostics diags;
  const auto read = ReadModel(AsBytes(bytes), "m.onnx", diags);
  ASSERT_TRUE(read) << diags.ToString();
  EXPECT_EQ(*read, model);
  EXPECT_EQ(WriteModel(*read), bytes);
}

// A shorter file is another model or none, but never read past its end.
TEST(Onnx, EveryCutIsAnErrorOrAnotherModel) {
  const Model model = ModelOfAllKinds();
  const std::string bytes = WriteModel(model);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    Diagnostics diags;
    const auto read = ReadModel(AsBytes(cut), "m.onnx", diags);
    EXPECT_EQ(read.ok(), !diags.has_errors()) << size;
    EXPECT_FALSE(read && *read == model) << size;
  }
}

TEST(Onnx, EveryFlippedBitIsAnErrorOrReadsBack) {
  const std::string bytes = WriteModel(ModelOfAllKinds());
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    Diagnostics diags;
    const auto read = ReadModel(AsBytes(damaged), "m.onnx", diags);
    EXPECT_EQ(read.ok(), !diags.has_errors()) << i;
    if (!read) continue;
    Diagnostics again;
    const auto second = ReadModel(AsBytes(WriteModel(*read)), "m", again);
    EXPECT_TRUE(second) << i << again.ToString();
  }
}

TEST(Onnx, AFieldThatTheModelLacksIsNamed) {
  ProtoWriter out;
  out.Int(1, 8);
  out.Text(6, "a doc_string");
  Diagnostics diags;
  EXPECT_FALSE(ReadModel(AsBytes(out.text()), "m.onnx", diags));
  EXPECT_NE(diags.FirstError().find("field 6 of a ModelProto"),
            std::string::npos);
}

TEST(Onnx, GraphsNestedWithoutEndAreRefused) {
  auto graph = std::make_shared<Graph>();
  for (int i = 0; i < 100; ++i) {
    auto outer = std::make_shared<Graph>();
    Node node;
    node.op = "If";
    node.attributes.push_back({"b", std::shared_ptr<const Graph>(graph)});
    outer->nodes.push_back(std::move(node));
    graph = std::move(outer);
  }
  Model model;
  model.graph = *graph;
  Diagnostics diags;
  EXPECT_FALSE(ReadModel(AsBytes(WriteModel(model)), "m.onnx", diags));
}

TEST(Protobuf, VarintsOfTenBytesAreTheLongest) {
  const std::string most = "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  ProtoReader reader(AsBytes(most));
  const auto field = reader.Next();
  ASSERT_TRUE(field);
  EXPECT_EQ(field->integer, ~uint64_t{0});
  const std::string more = "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02";
  EXPECT_FALSE(ProtoReader(AsBytes(more)).Next());
}

}  // namespace
}  // namespace tenon::onnx
