// Breaking edits: each turns a sound program into one that breaks one rule, and
// the check names that rule alone.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "formats/pte/verify_pte.h"
#include "formats/tensorrt/engine_container.h"
#include "sample_program.h"

namespace tenon {
namespace {

using S = SampleProgram;
using EditFunction = std::function<void(S&)>;

Diagnostics Verify(const PteProgram& program,
                   const PteVerifyOptions& options = {}) {
  Diagnostics diags;
  const Status status = VerifyPte(program, options, diags);
  EXPECT_EQ(status.ok(), !diags.has_errors());
  return diags;
}

// The edit breaks `rule` and nothing else.
void Expect(Rule rule, const EditFunction& edit, bool lint = false) {
  S sample;
  edit(sample);
  PteVerifyOptions options;
  options.lint = lint;
  const Diagnostics diags = Verify(sample.program, options);
  ASSERT_FALSE(diags.all().empty()) << "nothing reported";
  for (const Diagnostic& d : diags.all()) {
    EXPECT_EQ(RuleId(d.rule), RuleId(rule)) << d.ToString();
  }
}

void ExpectFine(const EditFunction& edit) {
  S sample;
  edit(sample);
  PteVerifyOptions options;
  options.lint = true;
  EXPECT_EQ(Verify(sample.program, options).ToString(), "");
}

TEST(PteVerify, SampleHolds) {
  ExpectFine([](S&) {});
}

TEST(PteVerify, V_PTE_08_SegmentsThatAreReferredTo) {
  Expect(Rule::kPte08, [](S& s) { s.program.named_data[0].segment = 3; });
  Expect(Rule::kPte08, [](S& s) { s.program.constants->segment = 9; });
  Expect(Rule::kPte08, [](S& s) { s.program.mutable_data[0].segment = 9; });
  Expect(Rule::kPte08, [](S& s) { s.plan().delegates[0].payload.index = 9; });
  Expect(Rule::kPte08, [](S& s) {
    s.plan().delegates[0].payload = {PtePayloadPlace::kInline, 0};
  });
  ExpectFine([](S& s) {
    s.plan().delegates[0].payload = {PtePayloadPlace::kInline, 0};
    s.program.inline_payloads.push_back({BlobOf("payload")});
  });
}

TEST(PteVerify, V_PTE_09_StoredTensorsLieInsideTheirData) {
  Expect(Rule::kPte09, [](S& s) { s.tensor(S::kWeight).data_index = 2; });
  Expect(Rule::kPte09, [](S& s) { s.program.constants->offsets[1] = 25; });
  Expect(Rule::kPte09, [](S& s) { s.program.constants->offsets[1] = 1; });
  Expect(Rule::kPte09, [](S& s) { s.tensor(S::kCounter).data_index = 2; });
  Expect(Rule::kPte09, [](S& s) { s.program.mutable_data[0].offsets[1] = 4; });
  Expect(Rule::kPte09, [](S& s) { s.program.mutable_data.clear(); });
}

TEST(PteVerify, V_PTE_10_ConstantData) {
  Expect(Rule::kPte10, [](S& s) {
    s.program.constants.reset();
    s.tensor(S::kWeight) = PlannedTensor({2, 3}, 224);
  });
  // The placeholder alone needs no segment.
  ExpectFine([](S& s) {
    s.program.constants = PteSubsegments{0, {0}};
    s.tensor(S::kWeight) = PlannedTensor({2, 3}, 160);
  });
}

TEST(PteVerify, V_PTE_11_ShapesAndOrder) {
  Expect(Rule::kPte11, [](S& s) { s.tensor(S::kQ).sizes = {-3, 4}; });
  Expect(Rule::kPte11, [](S& s) { s.tensor(S::kQ).dim_order = {0, 0}; });
  Expect(Rule::kPte11, [](S& s) { s.tensor(S::kQ).dim_order = {0, 2}; });
  Expect(Rule::kPte11, [](S& s) { s.tensor(S::kQ).dim_order = {0}; });
  Expect(Rule::kPte11, [](S& s) {
    s.tensor(S::kCounter) = PlannedTensor(std::vector<int32_t>(17, 1), 0);
  });
  Expect(Rule::kPte11, [](S& s) {
    s.tensor(S::kCounter) =
        PlannedTensor({1 << 30, 1 << 30, 1 << 30}, 0, PteScalarType::kDouble);
  });
  ExpectFine([](S& s) {
    s.tensor(S::kQ).dim_order = {1, 0};
    s.tensor(S::kR).dim_order = {1, 0};
  });
}

TEST(PteVerify, V_PTE_12_TensorsThatRuntimesHave) {
  Expect(Rule::kPte12,
         [](S& s) { s.tensor(S::kCounter).type = PteScalarType::kQUInt4x2; });
  Expect(Rule::kPte12, [](S& s) { s.tensor(S::kX).storage_offset = 4; });
  Expect(Rule::kPte12,
         [](S& s) { s.tensor(S::kQ).shape = PteShape::kUnbounded; });
}

PtdFile WeightFile() {
  PtdFile file;
  file.segments = {BlobOf(std::string(24, 'w'), kPteSegmentAlignment)};
  file.entries = {
      {"w", 0, PtdTensorLayout{PteScalarType::kFloat, {2, 3}, {0, 1}}}};
  return file;
}

void MakeExternal(S& s) {
  s.tensor(S::kWeight).extra =
      PteTensorExtra{0, "w", PteTensorPlace::kExternal, PteDevice::kCpu, 0};
}

TEST(PteVerify, V_PTE_13_ExternalTensors) {
  Expect(Rule::kPte13, MakeExternal);
  Expect(Rule::kPte13, [](S& s) {
    MakeExternal(s);
    s.tensor(S::kWeight).extra->name.clear();
  });
  S sample;
  MakeExternal(sample);
  PtdFile file = WeightFile();
  PteVerifyOptions options;
  options.external_data = {&file};
  EXPECT_EQ(Verify(sample.program, options).ToString(), "");
  const auto expect = [&](const char* part) {
    const Diagnostics diags = Verify(sample.program, options);
    ASSERT_EQ(diags.all().size(), 1u) << diags.ToString();
    EXPECT_EQ(diags.all()[0].rule, Rule::kPte13);
    EXPECT_NE(diags.ToString().find(part), std::string::npos)
        << diags.ToString();
  };
  file.entries[0].layout->sizes = {3, 2};
  expect("is f32[3, 2] in the external data, expected f32[2, 3]");
  file = WeightFile();
  file.entries[0].layout->dim_order = {1, 0};
  expect("and the same dim_order");
  file.entries[0].layout.reset();
  expect("opaque");
}

TEST(PteVerify, V_PTE_29_KeysOfProgramAndDataFilesAreApart) {
  S sample;
  MakeExternal(sample);
  PtdFile file = WeightFile(), other = WeightFile();
  PteVerifyOptions options;
  options.external_data = {&file, &other};
  const Diagnostics twice = Verify(sample.program, options);
  EXPECT_EQ(twice.all()[0].rule, Rule::kPte29);
  EXPECT_NE(twice.ToString().find("is in two data files"), std::string::npos);
  options.external_data = {&file};
  sample.program.named_data.push_back({"w", 0});
  const Diagnostics both = Verify(sample.program, options);
  EXPECT_EQ(both.all()[0].rule, Rule::kPte29);
  EXPECT_NE(both.ToString().find("is in a data file, too"), std::string::npos);
}

TEST(PteVerify, V_PTE_14_ItemsOfLists) {
  const auto dims = [](S& s) -> std::vector<int64_t>& {
    return std::get<PteIntList>(s.plan().values[S::kDims].content).items;
  };
  const auto tensors = [](S& s) -> std::vector<int32_t>& {
    return std::get<PteTensorList>(s.plan().values[S::kList].content).items;
  };
  Expect(Rule::kPte14, [&](S& s) { dims(s)[0] = 99; });
  Expect(Rule::kPte14, [&](S& s) { dims(s)[0] = -1; });
  Expect(Rule::kPte14, [&](S& s) { dims(s)[0] = S::kX; });
  Expect(Rule::kPte14, [&](S& s) { tensors(s)[0] = 99; });
  Expect(Rule::kPte14, [&](S& s) { tensors(s)[0] = S::kZ; });
  Expect(Rule::kPte14, [&](S& s) { tensors(s)[0] = S::kAlpha; });
  Expect(Rule::kPte14, [&](S& s) { tensors(s)[0] = -1; });
  Expect(Rule::kPte14, [](S& s) {
    s.Add(PteOptionalTensorList{{-1, S::kAlpha}});
  });
  ExpectFine([](S& s) { s.Add(PteOptionalTensorList{{-1, S::kX}}); });
}

TEST(PteVerify, V_PTE_15_PlannedMemory) {
  const auto at = [](S& s) -> PteAllocation& {
    return *s.tensor(S::kQ).allocation;
  };
  Expect(Rule::kPte15, [&](S& s) { at(s).memory_id = 0; });
  Expect(Rule::kPte15, [&](S& s) { at(s).memory_id = 2; });
  Expect(Rule::kPte15, [&](S& s) { at(s).offset = 212; });
  Expect(Rule::kPte15, [&](S& s) { at(s).offset = ~uint64_t{3}; });
  Expect(Rule::kPte15, [&](S& s) { at(s).offset = 2; });
  Expect(Rule::kPte15, [](S& s) { s.plan().arena_bytes = {0, -1}; });
  Expect(Rule::kPte15, [](S& s) { s.plan().arena_bytes.clear(); });
}

TEST(PteVerify, V_PTE_16_DevicesOfArenas) {
  const PteArenaDevice cuda = {1, PteDevice::kCuda, 0};
  Expect(Rule::kPte16, [&](S& s) { s.plan().arena_devices = {cuda}; });
  Expect(Rule::kPte16, [&](S& s) {
    s.plan().arena_devices = {{7, PteDevice::kCuda, 0}};
  });
  Expect(Rule::kPte16, [&](S& s) {
    s.plan().arena_devices = {{0, PteDevice::kCuda, 0}};
  });
  Expect(Rule::kPte16, [&](S& s) {
    s.plan().arena_devices = {{1, PteDevice::kCpu, 0}, {1, PteDevice::kCpu, 0}};
  });
  Expect(Rule::kPte16, [&](S& s) {
    PteTensorExtra extra;
    extra.device = PteDevice::kCuda;
    s.tensor(S::kQ).extra = extra;
  });
  ExpectFine([&](S& s) {
    s.plan().arena_bytes.push_back(48);
    s.plan().arena_devices = {{2, PteDevice::kCuda, 1}};
    s.tensor(S::kQ).allocation = PteAllocation{2, 0};
    s.tensor(S::kQ).extra =
        PteTensorExtra{0, "", PteTensorPlace::kSegment, PteDevice::kCuda, 1};
  });
}

TEST(PteVerify, V_PTE_17_Methods) {
  Expect(Rule::kPte17, [](S& s) { s.program.plans.clear(); });
  Expect(Rule::kPte17, [](S& s) { s.plan().name.clear(); });
  Expect(Rule::kPte17,
         [](S& s) { s.program.plans.push_back(PtePlan(s.plan())); });
}

TEST(PteVerify, V_PTE_18_InputsAndOutputs) {
  Expect(Rule::kPte18, [](S& s) { s.plan().inputs[0] = 99; });
  Expect(Rule::kPte18, [](S& s) { s.plan().outputs[0] = -1; });
}

TEST(PteVerify, V_PTE_19_IndicesOfInstructions) {
  Expect(Rule::kPte19, [](S& s) { s.plan().chains.clear(); });
  Expect(Rule::kPte19,
         [](S& s) { s.action<PteKernelCall>(S::kAdd).operator_index = 3; });
  Expect(Rule::kPte19,
         [](S& s) { s.action<PteKernelCall>(S::kAdd).args[0] = -1; });
  Expect(Rule::kPte19, [](S& s) {
    s.action<PteDelegateCall>(S::kDelegate).delegate_index = 1;
  });
  Expect(Rule::kPte19,
         [](S& s) { s.action<PteDelegateCall>(S::kDelegate).args[1] = 99; });
  Expect(Rule::kPte19,
         [](S& s) { s.action<PteJumpFalseCall>(S::kJump).condition = 99; });
  Expect(Rule::kPte19, [](S& s) { s.action<PteMoveCall>(S::kMove).from = 99; });
  Expect(Rule::kPte19, [](S& s) { s.action<PteMoveCall>(S::kMove).to = -2; });
  Expect(Rule::kPte19, [](S& s) { s.Add(PteFreeCall{99}); });
}

TEST(PteVerify, V_PTE_20_JumpTargets) {
  Expect(Rule::kPte20,
         [](S& s) { s.action<PteJumpFalseCall>(S::kJump).target = 9; });
  Expect(Rule::kPte20,
         [](S& s) { s.action<PteJumpFalseCall>(S::kJump).target = -1; });
  ExpectFine([](S& s) { s.action<PteJumpFalseCall>(S::kJump).target = 5; });
}

TEST(PteVerify, V_PTE_21_Conditions) {
  Expect(Rule::kPte21,
         [](S& s) { s.plan().values[S::kCondition].content = PteInt{1}; });
  Expect(Rule::kPte21, [](S& s) {
    s.plan().values[S::kCondition].content =
        PlannedTensor({1}, 196, PteScalarType::kByte);
  });
  ExpectFine([](S& s) {
    s.plan().values[S::kCondition].content =
        PlannedTensor({1}, 196, PteScalarType::kBool);
  });
}

TEST(PteVerify, V_PTE_22_Moves) {
  Expect(Rule::kPte22,
         [](S& s) { s.action<PteMoveCall>(S::kMove).from = S::kAlpha; });
  Expect(Rule::kPte22, [](S& s) {
    s.tensor(S::kR) = PlannedTensor({3, 4}, 208, PteScalarType::kInt);
  });
  Expect(Rule::kPte22,
         [](S& s) { s.tensor(S::kR) = PlannedTensor({12}, 208); });
}

TEST(PteVerify, V_PTE_23_FreesOfPlannedMemory) {
  Expect(Rule::kPte23, [](S& s) { s.Add(PteFreeCall{S::kX}); });
  Expect(Rule::kPte23, [](S& s) { s.Add(PteFreeCall{S::kAlpha}); });
  ExpectFine([](S& s) { s.Add(PteFreeCall{S::kWeight}); });
}

TEST(PteVerify, V_PTE_24_KernelsExist) {
  Expect(Rule::kPte24, [](S& s) { s.plan().operators[0].overload = "Tensor"; });
  Expect(Rule::kPte24, [](S& s) {
    s.plan().operators.push_back({"aten::" + std::string(94, 'x'), ""});
  });
  S sample;
  sample.plan().operators[0] = {"mine::add", ""};
  PteVerifyOptions options;
  options.host_kernels = {"mine::add"};
  EXPECT_EQ(Verify(sample.program, options).ToString(), "");
}

TEST(PteVerify, V_PTE_25_NumberOfArguments) {
  Expect(Rule::kPte25,
         [](S& s) { s.action<PteKernelCall>(S::kAdd).args.pop_back(); });
  Expect(Rule::kPte25,
         [](S& s) { s.action<PteKernelCall>(S::kAdd).args.push_back(S::kY); });
}

TEST(PteVerify, V_PTE_26_KindsOfArguments) {
  const auto args = [](S& s) -> std::vector<int32_t>& {
    return s.action<PteKernelCall>(S::kAdd).args;
  };
  Expect(Rule::kPte26, [&](S& s) { args(s)[1] = S::kAlpha; });
  Expect(Rule::kPte26, [&](S& s) { args(s)[2] = S::kX; });
  Expect(Rule::kPte26,
         [](S& s) { s.action<PteKernelCall>(S::kCat).args[0] = S::kY; });
  Expect(Rule::kPte26,
         [](S& s) { s.action<PteKernelCall>(S::kPermute).args[1] = S::kOne; });
  // None for the out tensor.
  Expect(Rule::kPte26, [&](S& s) {
    s.Add(PteContent(PteNull()));
    args(s)[3] = args(s)[4] = S::kEnd;
  });
  // A primitive puts its result in the place of a number.
  Expect(Rule::kPte26, [](S& s) {
    s.plan().operators.push_back({"aten::sym_size", "int"});
    s.Add(PteKernelCall{3, {S::kZ, S::kDim, S::kCondition}});
  });
  ExpectFine([](S& s) {
    s.plan().operators.push_back({"aten::sym_size", "int"});
    s.Add(PteKernelCall{3, {S::kZ, S::kDim, S::kAlpha}});
  });
}

TEST(PteVerify, V_PTE_27_MemoryOfResults) {
  Expect(Rule::kPte27, [](S& s) { s.tensor(S::kZ).allocation.reset(); });
  Expect(Rule::kPte27, [](S& s) { s.tensor(S::kQ).allocation.reset(); });
  Expect(Rule::kPte27, [](S& s) {
    auto& args = s.action<PteKernelCall>(S::kAdd).args;
    args[3] = args[4] = S::kWeight;
  });
  // The caller gives memory to a result that the plan leaves out.
  ExpectFine([](S& s) {
    s.plan().outputs.push_back(S::kZ);
    s.tensor(S::kZ).allocation.reset();
  });
}

TEST(PteVerify, V_PTE_28_ShapesAndDtypesOfResults) {
  Expect(Rule::kPte28, [](S& s) { s.tensor(S::kZ).sizes = {3, 4}; });
  Expect(Rule::kPte28, [](S& s) { s.tensor(S::kP).sizes = {4, 3}; });
  Expect(Rule::kPte28,
         [](S& s) { s.tensor(S::kY).type = PteScalarType::kInt; });
  // Bounded shapes are settled when the method runs.
  ExpectFine([](S& s) {
    s.tensor(S::kP).sizes = {4, 3};
    s.tensor(S::kP).shape = PteShape::kBounded;
  });
}

TEST(PteVerify, V_PTE_29_KeysOfNamedData) {
  Expect(Rule::kPte29, [](S& s) { s.program.named_data[0].key.clear(); });
  Expect(Rule::kPte29, [](S& s) {
    s.program.named_data.push_back({"blob", 1});
  });
}

TEST(PteVerify, W_PTE_01_ConstantsInsideTheTables) {
  Expect(
      Rule::kLintPte01,
      [](S& s) {
        s.program.constants.reset();
        s.program.inline_constants = {{}, {BlobOf(std::string(24, 'w'))}};
      },
      /*lint=*/true);
}

TEST(PteVerify, W_PTE_02_LiveTensorsShareMemory) {
  // z over y, which the kernel reads at another place.
  Expect(
      Rule::kLintPte02, [](S& s) { s.tensor(S::kZ).allocation->offset = 40; },
      /*lint=*/true);
  // y over the state, which the next call finds.
  Expect(
      Rule::kLintPte02,
      [](S& s) {
        s.Add(PteKernelCall{
            0,
            {S::kCounter, S::kCounter, S::kAlpha, S::kCounter, S::kCounter}});
        s.tensor(S::kY).allocation->offset = 192;
      },
      /*lint=*/true);
  // r stands for q after the move: what q lies in must stay.
  Expect(
      Rule::kLintPte02,
      [](S& s) {
        s.Add(PteKernelCall{1, {S::kList, S::kDim, S::kZ, S::kZ}});
        s.tensor(S::kQ).allocation->offset = 64;
      },
      /*lint=*/true);
}

TEST(PteVerify, W_PTE_03_ReservedArena) {
  Expect(
      Rule::kLintPte03, [](S& s) { s.plan().arena_bytes[0] = 64; },
      /*lint=*/true);
}

TEST(PteVerify, W_PTE_04_RepeatedResult) {
  Expect(
      Rule::kLintPte04,
      [](S& s) { s.action<PteKernelCall>(S::kAdd).args[4] = S::kX; },
      /*lint=*/true);
}

TEST(PteVerify, W_PTE_05_BackendsOfTheHost) {
  Expect(
      Rule::kLintPte05, [](S& s) { s.plan().delegates[0].backend = "Nobody"; },
      /*lint=*/true);
  S sample;
  sample.plan().delegates[0].backend = "Nobody";
  PteVerifyOptions options;
  options.lint = true;
  options.host_backends = {"Nobody"};
  EXPECT_EQ(Verify(sample.program, options).ToString(), "");
}

TEST(PteVerify, W_PTE_06_OneValueForTwoInputs) {
  Expect(
      Rule::kLintPte06,
      [](S& s) {
        s.plan().inputs = {S::kX, S::kX};
      },
      /*lint=*/true);
}

TEST(PteVerify, W_PTE_07_UnusedUnknownOperators) {
  Expect(
      Rule::kLintPte07,
      [](S& s) {
        s.plan().operators.push_back({"aten::addx", "out"});
      },
      /*lint=*/true);
}

TEST(PtdVerify, DataFiles) {
  const auto expect = [](Rule rule, const std::function<void(PtdFile&)>& edit) {
    PtdFile file = WeightFile();
    edit(file);
    Diagnostics diags;
    EXPECT_FALSE(VerifyPtd(file, diags).ok());
    ASSERT_EQ(diags.all().size(), 1u) << diags.ToString();
    EXPECT_EQ(RuleId(diags.all()[0].rule), RuleId(rule));
  };
  Diagnostics diags;
  EXPECT_TRUE(VerifyPtd(WeightFile(), diags).ok()) << diags.ToString();
  expect(Rule::kPte08, [](PtdFile& f) { f.entries[0].segment = 1; });
  expect(Rule::kPte09, [](PtdFile& f) { f.entries[0].layout->sizes[0] = 3; });
  expect(Rule::kPte11, [](PtdFile& f) { f.entries[0].layout->sizes[0] = -1; });
  expect(Rule::kPte29, [](PtdFile& f) { f.entries.push_back(f.entries[0]); });
  expect(Rule::kPte29, [](PtdFile& f) { f.entries[0].key.clear(); });
}

// The sample's delegate takes p and gives q, both float[3, 4].
FlatBlob Engine(size_t num_inputs, const std::string& dtype,
                std::vector<int64_t> shape, bool is_aliased = false) {
  EngineContainer c;
  for (size_t i = 0; i < num_inputs; ++i) {
    c.inputs.push_back({InputBindingName(i), dtype, shape});
  }
  c.outputs.push_back({OutputBindingName(0), dtype, shape});
  if (is_aliased) {
    c.aliases.push_back(
        {OutputBindingName(0), InputBindingName(0), WriteKind::kUser});
  }
  c.engine = AsBytes("plan");
  Diagnostics diags;
  const auto bytes = WriteEngineContainer(c, Place::Node("engine"), diags);
  EXPECT_TRUE(bytes) << diags.ToString();
  return BlobOf(std::string(AsText(*bytes)), kPteSegmentAlignment);
}
EditFunction WithEngine(const FlatBlob& engine) {
  return [engine](S& s) {
    s.plan().delegates[0].backend = "TensorRTBackend";
    s.program.segments[s.plan().delegates[0].payload.index] = engine;
  };
}

TEST(PteVerify, V_PTE_35_ArgumentsOfDelegates) {
  S sample;
  const PteTensor& p = *sample.plan().values[S::kP].tensor();
  const std::vector<int64_t> shape(p.sizes.begin(), p.sizes.end());
  std::vector<int64_t> larger = shape;
  ++larger[0];
  ExpectFine(WithEngine(Engine(1, "float32", shape)));
  ExpectFine(WithEngine(Engine(1, "", {})));
  Expect(Rule::kPte35, WithEngine(Engine(2, "float32", shape)));
  Expect(Rule::kPte35, WithEngine(Engine(1, "float16", shape)));
  Expect(Rule::kPte35, WithEngine(Engine(1, "float32", {1})));
  Expect(Rule::kPte35, WithEngine(Engine(1, "float32", larger)));
  // A host tensor that is written in place.
  Expect(Rule::kPte35, WithEngine(Engine(1, "float32", shape, true)));
}

TEST(PteVerify, TRT_04_PayloadsThatAreNone) {
  Expect(Rule::kEngine04,
         WithEngine(BlobOf("TR01 and no more", kPteSegmentAlignment)));
}

}  // namespace
}  // namespace tenon
