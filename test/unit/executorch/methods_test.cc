// Several methods in one file: what they have in common, and what is refused.
#include <deque>
#include <filesystem>
#include <fstream>

#include "../../scratch.h"
#include "executorch/delegate_regions.h"
#include "formats/pte/verify_pte.h"
#include "made.h"

namespace tenon {
namespace {

constexpr std::string_view kAdds = R"(
storage @0 = 8 bytes hex"0000803f00000040"
storage @1 = 8 bytes hex"0000000000000000"
parameter "w" : f32[2] = @0
buffer "k" : f32[2] = @1
in_spec ((*,), {})
out_spec *
graph @main(%w : f32[2] = parameter "w", %k : f32[2] = buffer "k",
    %x : f32[2]) {
  %a : f32[2] = aten.mul.Tensor(%x, %w)
  %new : f32[2] = aten.add.Tensor(%k, %a)
  return (%new as buffer_mutation "k", %new)
}
)";
constexpr std::string_view kReads = R"(
storage @0 = 8 bytes hex"0000803f00000040"
storage @1 = 8 bytes hex"0000000000000000"
parameter "w" : f32[2] = @0
buffer "k" : f32[2] = @1
in_spec ((*,), {})
out_spec *
graph @main(%w : f32[2] = parameter "w", %k : f32[2] = buffer "k",
    %x : f32[2]) {
  %a : f32[2] = aten.mul.Tensor(%k, %w)
  %y : f32[2] = aten.add.Tensor(%x, %a)
  return (%y)
}
)";

// Programs with names, and what they become.
class Methods {
 public:
  Methods& Add(std::string name, std::string_view text) {
    programs_.push_back(Parse(text));
    names_.push_back(std::move(name));
    return *this;
  }

  std::vector<PteMethod> All(const PteExportOptions& options = {}) {
    std::vector<PteMethod> methods;
    size_t i = 0;
    for (const Program& program : programs_) {
      methods.push_back({names_[i++], &program, options});
    }
    return methods;
  }

  MadePte Make(const PteFileOptions& options,
               const PteExportOptions& each = {}) {
    Diagnostics diags;
    report = PteExportReport();
    auto made = MakePte(All(each), options, &report, diags);
    EXPECT_TRUE(made) << diags.ToString();
    return made ? std::move(*made) : MadePte();
  }

  std::string Refusal(const PteFileOptions& options, Rule rule) {
    Diagnostics diags;
    PteExportReport ignored;
    EXPECT_FALSE(MakePte(All(), options, &ignored, diags));
    EXPECT_EQ(diags.all().empty() ? Rule::kIo : diags.all()[0].rule, rule);
    return diags.FirstError();
  }

  PteExportReport report;

 private:
  std::deque<Program> programs_;
  std::vector<std::string> names_;
};

const PteTensor* FindNamed(const PtePlan& plan, std::string_view name) {
  for (const PteValue& value : plan.values) {
    const PteTensor* t = value.tensor();
    if (t != nullptr && t->extra && t->extra->name == name) return t;
  }
  return nullptr;
}

PteFileOptions Sharing(std::vector<std::string> names) {
  PteFileOptions options;
  options.shared_state = std::move(names);
  return options;
}

TEST(PteMethods, D_6_EqualConstantsAreStoredOnce) {
  Methods methods;
  const MadePte made = methods.Add("a", kAdds).Add("b", kAdds).Make({});
  ASSERT_EQ(made.program.plans.size(), 2u);
  EXPECT_EQ(made.program.plans[0].name, "a");
  EXPECT_EQ(made.program.constants->offsets.size(), 2u);
  EXPECT_EQ(methods.report.constant_bytes, 8u);
  EXPECT_EQ(methods.report.deduplicated, 8u);
}

TEST(PteMethods, StateThatIsntSharedLiesApartEvenInOneMemory) {
  Methods methods;
  const MadePte made = methods.Add("a", kAdds).Add("b", kAdds).Make({});
  const PteTensor* a = FindNamed(made.program.plans[0], "k");
  const PteTensor* b = FindNamed(made.program.plans[1], "k");
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_EQ(a->allocation, (PteAllocation{2, 0}));
  EXPECT_EQ(b->allocation, (PteAllocation{2, 16}));
  EXPECT_EQ(made.program.plans[0].arena_bytes[2], 32);
  EXPECT_EQ(made.program.plans[1].arena_bytes[2], 32);
}

TEST(PteMethods, SharedStateIsInOnePlace) {
  Methods methods;
  methods.Add("a", kAdds).Add("b", kReads);
  for (const bool all : {false, true}) {
    PteFileOptions options;
    options.shares_all_state = all;
    if (!all) options.shared_state = {"k"};
    const MadePte made = methods.Make(options);
    EXPECT_EQ(methods.report.shared_state, std::vector<std::string>{"k"});
    for (const PtePlan& plan : made.program.plans) {
      const PteTensor* k = FindNamed(plan, "k");
      ASSERT_NE(k, nullptr);
      EXPECT_EQ(k->allocation, (PteAllocation{2, 0}));
      EXPECT_EQ(k->data_index, 1u);
      EXPECT_EQ(plan.arena_bytes.size(), 3u);
      EXPECT_EQ(plan.arena_bytes[2], 16);
    }
  }
}

// Else what one method wrote wouldn't be seen by the other.
TEST(PteMethods, SharedStateThatAMethodOnlyReadsIsNoConstantOfIt) {
  Methods methods;
  const MadePte alone = methods.Add("b", kReads).Make({});
  EXPECT_EQ(alone.program.plans[0].chains[0].instructions.size(), 1u);
  Methods both;
  const MadePte made =
      both.Add("a", kAdds).Add("b", kReads).Make(Sharing({"k"}));
  EXPECT_EQ(made.program.plans[1].chains[0].instructions.size(), 2u);
}

TEST(PteMethods, V_PTE_34_WhatCantBeShared) {
  Methods methods;
  methods.Add("a", kAdds).Add("b", kReads);
  ExpectHas(methods.Refusal(Sharing({"m"}), Rule::kPte34),
            "no method has a buffer of this name");
  ExpectHas(methods.Refusal(Sharing({"w"}), Rule::kPte34),
            "no method writes it");
  Methods one;
  one.Add("a", kAdds);
  ExpectHas(one.Refusal(Sharing({"k"}), Rule::kPte34), "only method 'a'");
  PteFileOptions all;
  all.shares_all_state = true;
  ExpectHas(one.Refusal(all, Rule::kPte34), "no state to share");
}

TEST(PteMethods, V_PTE_34_SharedBuffersAreOneTensor) {
  std::string longer(kReads);
  for (size_t at;
       (at = longer.find("\"k\" : f32[2] = @1")) != std::string::npos;) {
    longer.replace(at, 17, "\"k\" : f32[1] = @1");
  }
  longer.replace(longer.find("%k : f32[2]"), 11, "%k : f32[1]");
  Methods sizes;
  sizes.Add("a", kAdds).Add("b", longer);
  ExpectHas(sizes.Refusal(Sharing({"k"}), Rule::kPte34),
            "a: float32[2], b: float32[1]");
  std::string other(kReads);
  other.replace(other.find("hex\"0000000000000000"), 6, "hex\"01");
  Methods bytes;
  bytes.Add("a", kAdds).Add("b", other);
  ExpectHas(bytes.Refusal(Sharing({"k"}), Rule::kPte34),
            "at first it holds something else in method 'b'");
}

TEST(PteMethods, V_PTE_17_Names) {
  Methods twice;
  twice.Add("a", kAdds).Add("a", kReads);
  ExpectHas(twice.Refusal({}, Rule::kPte17), "'a' is given twice");
  Methods odd;
  odd.Add("2nd", kAdds);
  ExpectHas(odd.Refusal({}, Rule::kPte17), "'2nd' is no name");
  Methods constant;
  constant.Add("a", kAdds);
  PteFileOptions options;
  options.constants = {{"a", {int64_t{1}}}};
  ExpectHas(constant.Refusal(options, Rule::kPte17), "'a' is given twice");
  ExpectHas(Methods().Refusal({}, Rule::kPte17), "no method to write");
}

TEST(PteMethods, ConstantMethodsHaveNoInstructions) {
  PteFileOptions options;
  options.constants = {
      {"get_all", {int64_t{7}, 0.5, true, std::string("text")}},
      {"get_table", {Tensor::Zeros(DType::kInt32, {2, 3})}}};
  Methods methods;
  const MadePte made = methods.Add("a", kAdds).Make(options);
  ASSERT_EQ(made.program.plans.size(), 3u);
  const PtePlan& all = made.program.plans[1];
  EXPECT_EQ(all.outputs, (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(std::get<PteInt>(all.values[0].content).value, 7);
  EXPECT_EQ(std::get<PteString>(all.values[3].content).text, "text");
  EXPECT_EQ(all.arena_bytes, std::vector<int64_t>{0});
  const PteTensor* table = made.program.plans[2].values[0].tensor();
  ASSERT_NE(table, nullptr);
  EXPECT_TRUE(table->is_constant());
  EXPECT_EQ(table->sizes, (std::vector<int32_t>{2, 3}));
}

TEST(PteMethods, WeightsOfADataFileAreFoundByName) {
  PteFileOptions options;
  options.weights = PteWeightPlace::kDataFile;
  Methods methods;
  const MadePte made = methods.Add("a", kAdds).Add("b", kReads).Make(options);
  ASSERT_TRUE(made.data);
  // b's state was folded into a constant of its own.
  ASSERT_EQ(made.data->entries.size(), 2u);
  EXPECT_EQ(made.data->entries[0].key, "w");
  const PteTensor* w = FindNamed(made.program.plans[0], "w");
  ASSERT_NE(w, nullptr);
  EXPECT_TRUE(w->is_external());
  EXPECT_EQ(methods.report.constant_bytes, 0u);
  EXPECT_EQ(methods.report.data_bytes, 16u);
}

TEST(PteMethods, OtherBytesByTheSameNameHaveAKeyOfTheirOwn) {
  std::string other(kAdds);
  other.replace(other.find("0000803f00000040"), 16, "0000804000000041");
  PteFileOptions options;
  options.weights = PteWeightPlace::kDataFile;
  Methods methods;
  const MadePte made = methods.Add("a", kAdds).Add("b", other).Make(options);
  ASSERT_TRUE(made.data);
  ASSERT_EQ(made.data->entries.size(), 2u);
  EXPECT_EQ(made.data->entries[1].key, "w@b");
}

TEST(PteMethods, InlineWeightsAreInTheTables) {
  PteFileOptions options;
  options.weights = PteWeightPlace::kInline;
  Methods methods;
  const MadePte made = methods.Add("a", kAdds).Make(options);
  EXPECT_FALSE(made.program.constants);
  ASSERT_EQ(made.program.inline_constants.size(), 2u);
  EXPECT_EQ(made.program.inline_constants[1].data.bytes.size(), 8u);
}

TEST(PteMethods, CallersMemoryIsntPlanned) {
  PteExportOptions each;
  each.plans_inputs = each.plans_outputs = false;
  Methods methods;
  methods.Add("a", R"(
graph @main(%x : f32[2]) {
  %a : f32[2] = aten.relu.default(%x)
  %b : f32[2] = aten.neg.default(%a)
  return (%b, %x)
}
)");
  const MadePte made = methods.Make({}, each);
  const PtePlan& plan = made.program.plans[0];
  const auto at = [&](int32_t v) {
    return plan.values[static_cast<size_t>(v)].tensor()->allocation;
  };
  EXPECT_FALSE(at(plan.inputs[0]));
  EXPECT_FALSE(at(plan.outputs[0]));
  EXPECT_EQ(plan.arena_bytes[1], 16);
}

// A delegate is told of its backend's words; others are not.
TEST(PteMethods, CompileSpecsArePassedOn) {
  PteExportOptions each;
  each.backends = {executorch::FindDelegateBackend("tenon")};
  each.backend_options = {{"tenon", "threads", "2"}};
  Methods methods;
  const MadePte made = methods.Add("a", kAdds).Make({}, each);
  ASSERT_EQ(made.program.plans[0].delegates.size(), 1u);
  const auto& specs = made.program.plans[0].delegates[0].specs;
  ASSERT_EQ(specs.size(), 1u);
  EXPECT_EQ(specs[0].key, "threads");
  EXPECT_EQ(AsText(specs[0].value.bytes), "2");
  Diagnostics diags;
  PteExportReport report;
  each.backends.clear();
  EXPECT_FALSE(MakePte(methods.All(each), {}, &report, diags));
  ExpectHas(diags.FirstError(), "isn't given to");
}

TEST(PteMethods, EqualPayloadsAndWhatTheyAskForAreStoredOnce) {
  PteExportOptions each;
  each.backends = {executorch::FindDelegateBackend("xnnpack")};
  Methods methods;
  const MadePte made = methods.Add("a", kAdds).Add("b", kAdds).Make({}, each);
  EXPECT_EQ(made.program.plans[0].delegates[0].payload,
            made.program.plans[1].delegates[0].payload);
  EXPECT_GT(methods.report.deduplicated, 0u);
}

// D-4: the delegate writes where the state lies; nothing is copied.
TEST(PteMethods, D_4_ADelegateWritesStateInPlace) {
  PteExportOptions each;
  each.backends = {executorch::FindDelegateBackend("tenon")};
  Methods methods;
  methods.Add("a", R"(
storage @0 = 32 bytes hex"0000000000000000000000000000000000000000000000000000000000000000"
buffer "k" : f32[4, 2] = @0
graph @main(%k : f32[4, 2] = buffer "k", %p : i64[1], %x : f32[1, 2]) {
  %new : f32[4, 2] = aten.index_put.default(%k, [%p], %x)
  %y : f32[4, 2] = aten.neg.default(%new)
  return (%new as buffer_mutation "k", %y)
}
)");
  const MadePte made = methods.Make({}, each);
  const PteMethodReport& report = methods.report.methods[0];
  EXPECT_EQ(report.num_in_place, 1u);
  EXPECT_EQ(report.copied_bytes(), 0u);
  const PtePlan& plan = made.program.plans[0];
  ASSERT_EQ(plan.chains[0].instructions.size(), 1u);
  const auto& call =
      std::get<PteDelegateCall>(plan.chains[0].instructions[0].action);
  // k, p, x; then the results, one of which is k.
  ASSERT_EQ(call.args.size(), 5u);
  EXPECT_TRUE(call.args[3] == call.args[0] || call.args[4] == call.args[0]);
}

TEST(PteMethods, M_3_ACopyBackSaysHowMuchAndWhoseResult) {
  PteExportOptions each;
  each.backends = {executorch::FindDelegateBackend("xnnpack")};
  Methods methods;
  methods.Add("a", R"(
storage @0 = 8 bytes hex"0000000000000000"
buffer "k" : f32[2] = @0
graph @main(%k : f32[2] = buffer "k", %x : f32[2]) {
  %new : f32[2] = aten.add.Tensor(%k, %x)
  return (%new as buffer_mutation "k", %new)
}
)");
  methods.Make({}, each);
  const PteMethodReport& report = methods.report.methods[0];
  ASSERT_EQ(report.copies.size(), 1u);
  EXPECT_EQ(report.copies[0].fqn, "k");
  EXPECT_EQ(report.copies[0].bytes, 8u);
  EXPECT_EQ(report.copies[0].made_by, "region_0 (XnnpackBackend)");
}

// What no delegate's step reads can be written by it at any time.
TEST(PteMethods, D_4_ADelegateThatDoesntReadStateWritesItDirectly) {
  PteExportOptions each;
  each.backends = {executorch::FindDelegateBackend("xnnpack")};
  Methods methods;
  methods.Add("a", R"(
storage @0 = 8 bytes hex"0000000000000000"
buffer "k" : f32[2] = @0
graph @main(%k : f32[2] = buffer "k", %x : f32[2]) {
  %new : f32[2] = aten.add.Tensor(%x, %x)
  return (%new as buffer_mutation "k", %new)
}
)");
  methods.Make({}, each);
  EXPECT_EQ(methods.report.methods[0].num_in_place, 1u);
  EXPECT_EQ(methods.report.methods[0].copied_bytes(), 0u);
}

// A folder without files.
std::string EmptyFolder(const std::string& name) {
  const std::string path = ScratchPath(name);
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path + "/";
}

TEST(PteMethods, AFailingMethodLeavesNoFile) {
  const std::string folder = EmptyFolder("failing");
  Methods methods;
  methods.Add("a", kAdds).Add("b", R"(
graph @main(%x : f32[2]) {
  %y : f32[2] = aten.digamma.default(%x)
  return (%y)
}
)");
  PteFileOptions options;
  options.weights = PteWeightPlace::kDataFile;
  options.data_path = folder + "w.ptd";
  Diagnostics diags;
  EXPECT_FALSE(ExportPte(methods.All(), folder + "o.pte", options, diags));
  EXPECT_EQ(diags.all()[0].rule, Rule::kPte31);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(PteMethods, WhenOneFileCantBeWrittenThereIsNeither) {
  const std::string folder = EmptyFolder("unwritable");
  Methods methods;
  methods.Add("a", kAdds);
  PteFileOptions options;
  options.weights = PteWeightPlace::kDataFile;
  options.data_path = folder + "w.ptd";
  std::ofstream(options.data_path) << "old";
  Diagnostics diags;
  // A folder of the program's name: the last step, its rename, fails.
  std::filesystem::create_directory(folder + "o.pte");
  std::filesystem::create_directory(folder + "o.pte/full");
  EXPECT_FALSE(ExportPte(methods.All(), folder + "o.pte", options, diags));
  std::string old;
  std::ifstream(options.data_path) >> old;
  EXPECT_EQ(old, "old");
  std::filesystem::remove_all(folder + "o.pte");
  std::filesystem::remove(options.data_path);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

}  // namespace
}  // namespace tenon
