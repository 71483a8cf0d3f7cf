#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "../../scratch.h"
#include "formats/pt2/pt2.h"
#include "formats/tensorrt/engine_delegate.h"
#include "formats/tensorrt/engine_object.h"
#include "formats/tensorrt/engine_shapes.h"
#include "formats/tensorrt/lower_engines.h"
#include "formats/tensorrt/raise_engines.h"
#include "verify/verify.h"

namespace tenon {
namespace {

using Fields = std::vector<std::string>;

constexpr char kFolder[] = "test/data/tensorrt/";

std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

// What test/oracle/make_engines.py gave PyTorch to write.
Fields Record() {
  return {"10",
          "_run_on_acc_0_engine",
          "0%9%0%0%NVIDIA H200",
          "ZnRydAAB/v8gcGxhbiBvZiBubyBlbmdpbmU=",
          "x%y",
          "output0%output1",
          "0",
          "bWV0YQ==",
          "linux_x86_64",
          "0",
          "0",
          "0",
          ""};
}

Fields FieldsOf(const std::string& bytes, Diagnostics& diags) {
  auto owner = std::make_shared<const std::string>(bytes);
  const auto strings =
      ReadEngineObject(AsBytes(*owner), owner, Place::Node("engine"), diags);
  if (!strings) return {};
  return Fields(strings->fields.begin(), strings->fields.end());
}

TEST(EngineObject, PythonObjectsOfPyTorch) {
  for (const char* file : {"engine_python.pkl", "engine_serializer.pkl"}) {
    Diagnostics diags;
    EXPECT_EQ(FieldsOf(Read(std::string(kFolder) + file), diags), Record())
        << file << diags.ToString();
  }
}

TEST(EngineObject, PythonObjectIsWrittenAsPyTorchWritesIt) {
  Diagnostics diags;
  const auto bytes =
      WriteEngineObject(Record(), kPythonEngineClass, Place(), diags);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(*bytes, Read(std::string(kFolder) + "engine_python.pkl"));
}

TEST(EngineObject, ComesBack) {
  for (const auto name : {kTorchScriptEngineClass, kPythonEngineClass}) {
    Diagnostics diags;
    const auto bytes = WriteEngineObject(Record(), name, Place(), diags);
    ASSERT_TRUE(bytes) << diags.ToString();
    EXPECT_EQ(FieldsOf(*bytes, diags), Record()) << diags.ToString();
  }
}

TEST(EngineObject, AnotherClass) {
  Diagnostics diags;
  EXPECT_FALSE(WriteEngineObject(Record(), "a.B", Place(), diags));
  EXPECT_NE(diags.FirstError().find("class 'a.B'"), std::string::npos);
}

TEST(EngineObject, AnyDamageIsAnErrorOrAnotherRecord) {
  for (const auto name : {kTorchScriptEngineClass, kPythonEngineClass}) {
    Diagnostics diags;
    const auto bytes = WriteEngineObject(Record(), name, Place(), diags);
    ASSERT_TRUE(bytes);
    for (size_t i = 0; i < bytes->size(); ++i) {
      for (const int flip : {0x01, 0x80}) {
        std::string damaged = *bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ flip);
        Diagnostics found;
        FieldsOf(damaged, found);
      }
      Diagnostics found;
      FieldsOf(bytes->substr(0, i), found);
      EXPECT_TRUE(found.has_errors()) << "cut at " << i;
    }
  }
}

TEST(EngineObject, AFieldThatIsNoString) {
  // [1] as the state of the Python class.
  const std::string pickle =
      "\x80\x02"
      "ctorch_tensorrt.dynamo.runtime._TRTEngine\nTRTEngine\n)\x81"
      "](U\x02"
      "10K\x01"
      "eU\x09TRTEngine\x86"
      "b.";
  Diagnostics diags;
  FieldsOf(pickle, diags);
  EXPECT_EQ(diags.FirstError(), "engine record, field 1 'name': not a string");
}

TEST(EngineObject, NoEngine) {
  Diagnostics diags;
  FieldsOf("\x80\x02].", diags);
  EXPECT_NE(diags.FirstError().find("no TensorRT engine"), std::string::npos);
}

TEST(EngineShapes, MetadataOfTorchTensorRT) {
  const auto shapes =
      ReadEngineShapes(Read(std::string(kFolder) + "engine_metadata.b64"));
  ASSERT_TRUE(shapes);
  ASSERT_EQ(shapes->inputs.size(), 2u);
  EXPECT_EQ(shapes->inputs[0].dtype, DType::kFloat32);
  EXPECT_EQ(shapes->inputs[0].rank, 2u);
  EXPECT_FALSE(shapes->inputs[0].is_scalar);
  EXPECT_TRUE(shapes->inputs[1].is_scalar);
  ASSERT_EQ(shapes->outputs.size(), 1u);
  EXPECT_EQ(shapes->outputs[0].dtype, DType::kFloat16);
  EXPECT_EQ(shapes->outputs[0].rank, 1u);
}

TEST(EngineShapes, OtherMetadata) {
  for (const char* text : {"", "bWV0YQ==", "not base64", "gAJdLg=="}) {
    EXPECT_FALSE(ReadEngineShapes(text)) << text;
  }
}

// A program that PyTorch 2.15 wrote: read, lowered, written as Torch-TensorRT
// has it, and read again.
TEST(EngineProgram, OfPyTorchComesBack) {
  for (const auto form :
       {EngineCallForm::kObject, EngineCallForm::kPlaceholder}) {
    Diagnostics diags;
    auto program =
        ReadPt2(std::string(kFolder) + "engine_object.pt2",
                std::make_shared<Context>(), Pt2ReadOptions(), diags);
    ASSERT_TRUE(program) << diags.ToString();
    ASSERT_TRUE(LowerEngineCalls(&*program, diags)) << diags.ToString();
    ASSERT_TRUE(Verify(*program, VerifyOptions(), diags)) << diags.ToString();
    ASSERT_EQ(program->delegates.size(), 1u);
    EXPECT_EQ(AsText(program->delegates[0].payload),
              std::string_view("ftrt\x00\x01\xfe\xff plan of no engine", 26));
    EXPECT_TRUE(program->state.entries.empty());
    EXPECT_EQ(program->root().inputs.size(), 2u);

    ASSERT_TRUE(RaiseEngineCalls(&*program, form, diags)) << diags.ToString();
    ASSERT_TRUE(Verify(*program, VerifyOptions(), diags)) << diags.ToString();
    EXPECT_TRUE(program->delegates.empty());
    const std::string path = ScratchPath("engine.pt2");
    ASSERT_TRUE(WritePt2(*program, path, Pt2WriteOptions(), diags))
        << diags.ToString();
    auto again =
        ReadPt2(path, std::make_shared<Context>(), Pt2ReadOptions(), diags);
    ASSERT_TRUE(again) << diags.ToString();
    ASSERT_TRUE(HasEngineCalls(*again));
    ASSERT_TRUE(LowerEngineCalls(&*again, diags)) << diags.ToString();
    ASSERT_EQ(again->delegates.size(), 1u);
    const auto record =
        RecordOfDelegate(*again, again->delegates[0], Place(), diags);
    ASSERT_TRUE(record) << diags.ToString();
    const auto fields = PrintEngineRecord(*record, Place(), diags);
    ASSERT_TRUE(fields);
    EXPECT_EQ(Fields(fields->begin(), fields->end()), Record());
  }
}

}  // namespace
}  // namespace tenon
