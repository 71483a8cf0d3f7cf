// Files for the releases of PyTorch: layouts, schema versions, what each of
// them can't say.
#include "formats/pt2/release.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "formats/pickle/torch_save.h"
#include "worked_example.h"

namespace tenon {
namespace {

constexpr const char* kReleases[] = {"2.6",  "2.7",  "2.8",  "2.9",  "2.10",
                                     "2.11", "2.12", "2.13", "2.14", "2.15"};

std::vector<std::string> MemberNames(const std::string& archive) {
  Diagnostics diags;
  const auto zip =
      ZipArchive::Open(AsBytes(archive), nullptr, "x", ReadLimits(), diags);
  EXPECT_TRUE(zip) << diags.ToString();
  std::vector<std::string> names;
  for (const ZipMember& m : zip->members()) names.emplace_back(m.name);
  return names;
}

// Writing fails, by this rule and with this text in the first message; no file
// appears.
void ExpectRefused(const Program& p, const char* release,
                   const std::string& part) {
  Diagnostics diags;
  Pt2WriteOptions options;
  options.release = FindPt2Release(release);
  const std::string path = TestPath("refused.pt2");
  EXPECT_FALSE(WritePt2(p, path, options, diags)) << part;
  ASSERT_TRUE(diags.has_errors());
  EXPECT_EQ(diags.all()[0].rule, Rule::kFile11);
  EXPECT_NE(diags.ToString().find(part), std::string::npos) << diags.ToString();
  EXPECT_FALSE(std::ifstream(path).good());
}

// The first argument of the first node becomes this literal.
Program WithArgument(const Arg& arg) {
  Program p = WorkedExample();
  p.SetArg(p.node(p.root().first).args[0], arg, /*keep_label=*/true);
  return p;
}

Program WithDType(DType dtype) {
  Program p = WorkedExample();
  Type type = p.type(p.root().inputs[1]);
  type.dtype = dtype;
  p.mutable_value(p.root().inputs[1]).type =
      p.context().types.Intern(std::move(type));
  return p;
}

TEST(Pt2Release, IsFoundByAnyOfItsVersions) {
  for (const char* version : {"2.7", "2.7.0", "2.7.1+cu126"}) {
    const Pt2Release* release = FindPt2Release(version);
    ASSERT_NE(release, nullptr) << version;
    EXPECT_EQ(release->name, "2.7");
    EXPECT_EQ(release->layout, Pt2Layout::kPlainZip);
    EXPECT_EQ(release->schema_minor, 7);
  }
  EXPECT_EQ(FindPt2Release("2.10.0")->schema_minor, 15);
  for (const char* version : {"", "2", "2.5", "2.1", "2.70", "3.0", "2.7x"}) {
    EXPECT_EQ(FindPt2Release(version), nullptr) << version;
  }
  EXPECT_EQ(Pt2ReleaseNames().substr(0, 13), "2.6, 2.7, 2.8");
}

TEST(Pt2Release, GivesAnEqualProgramAndTheSameBytesAgain) {
  for (const char* release : kReleases) {
    const std::string bytes =
        WriteToBytes(WorkedExample(), "tiny.pt2", nullptr, release);
    Diagnostics diags;
    Pt2ReadOptions options;
    options.check_crc = true;
    const auto p = Read(bytes, diags, options);
    ASSERT_TRUE(p) << release << diags.ToString();
    EXPECT_EQ(p->file.schema_minor, FindPt2Release(release)->schema_minor);
    ASSERT_EQ(p->state.entries.size(), 1u);
    const StateEntry& bias = p->state.entries[0];
    EXPECT_EQ(bias.kind, StateKind::kParameter);
    EXPECT_TRUE(bias.is_param);
    EXPECT_TRUE(p->type(bias.type).requires_grad);
    EXPECT_EQ(p->state.storage(bias.storage).bytes.size(), 12u);
    EXPECT_EQ(WriteToBytes(*p, "tiny.pt2", nullptr, release), bytes) << release;
    // Where nothing had to be left out, not even that there are no guards.
    if (p->file.schema_minor >= schema_minor::kRawRecords) {
      EXPECT_EQ(WriteToBytes(*p, "tiny.pt2", nullptr, "2.15"),
                WriteToBytes(WorkedExample(), "tiny.pt2", nullptr, "2.15"))
          << release;
    }
  }
}

TEST(Pt2Release, WritesLayoutA) {
  const std::string bytes =
      WriteToBytes(WorkedExample(), "tiny.pt2", nullptr, "2.6");
  EXPECT_EQ(MemberNames(bytes),
            (std::vector<std::string>{
                "serialized_exported_program.json", "serialized_state_dict.pt",
                "serialized_constants.pt", "serialized_example_inputs.pt",
                "version"}));
  EXPECT_EQ(MemberText(bytes, "version"), "8.2");
  EXPECT_EQ(MemberText(bytes, "serialized_constants.pt"), "");
  const std::string model =
      MemberText(bytes, "serialized_exported_program.json");
  // PyTorch 2.6 refuses members that it doesn't know.
  for (const char* member : {"\"kind\"", "is_hop_single_tensor_return",
                             "guards_code", "treespec_namedtuple_fields"}) {
    EXPECT_EQ(model.find(member), std::string::npos) << member;
  }
  const std::string newer =
      MemberText(WriteToBytes(WorkedExample(), "tiny.pt2", nullptr, "2.7"),
                 "serialized_exported_program.json");
  EXPECT_NE(newer.find("\"kind\": 1"), std::string::npos);
  EXPECT_EQ(newer.find("guards_code"), std::string::npos);
}

TEST(Pt2Release, WritesLayoutB) {
  const std::string bytes =
      WriteToBytes(WorkedExample(), "tiny.pt2", nullptr, "2.8");
  EXPECT_EQ(
      MemberNames(bytes),
      (std::vector<std::string>{
          "tiny/models/model.json", "tiny/data/weights/model.pt",
          "tiny/data/constants/model.pt", "tiny/data/sample_inputs/model.pt",
          "tiny/archive_format", "tiny/archive_version", "tiny/.data/version",
          "tiny/byteorder", "tiny/.data/serialization_id"}));
}

TEST(Pt2Release, SpellsNonFiniteNumbersAsTheReleaseReadsThem) {
  const Program p = WithArgument(Arg::Float(-INFINITY));
  const auto model = [&](const char* release) {
    return MemberText(WriteToBytes(p, "tiny.pt2", nullptr, release),
                      "serialized_exported_program.json");
  };
  EXPECT_NE(model("2.6").find("{\"as_float\": -Infinity}"), std::string::npos);
  EXPECT_NE(model("2.7").find("{\"as_float\": \"-Infinity\"}"),
            std::string::npos);
}

// Before there was a flag for it, a tuple of one was a list.
TEST(Pt2Release, TellsATupleOfOneFromABareTensor) {
  for (const SingleReturn flag : {SingleReturn::kFalse, SingleReturn::kTrue}) {
    Program p = WorkedExample();
    Context& context = p.context();
    const NodeId call =
        p.NewOp(context.InternOp("higher_order.invoke"), StringId());
    p.mutable_node(call).single_return = flag;
    p.SetArgRange(call, p.NewArgs(1));
    p.SetValueArg(p.node(call).args[0], call, p.root().inputs[1]);
    const ValueRange results = p.NewResults(call, 1);
    p.mutable_value(results[0]).type = Float32(context, {3});
    p.mutable_value(results[0]).name = context.Intern("called");
    p.InsertBefore(Program::kRoot, p.root().output, call);
    const std::string bytes = WriteToBytes(p, "tiny.pt2", nullptr, "2.6");
    const std::string model =
        MemberText(bytes, "serialized_exported_program.json");
    EXPECT_EQ(model.find("\"as_tensors\": [{\"name\": \"called\"}]") !=
                  std::string::npos,
              flag == SingleReturn::kFalse);
    Diagnostics diags;
    const auto read = Read(bytes, diags);
    ASSERT_TRUE(read) << diags.ToString();
    const NodeId last = read->node(read->root().output).prev;
    EXPECT_EQ(read->node(last).single_return, flag);
  }
}

TEST(Pt2Release, V_FILE_11_RefusesWhatAnOlderSchemaCannotSay) {
  Program source = WorkedExample();
  Arg complex;
  complex.kind = ArgKind::kComplex;
  ExpectRefused(WithArgument(complex), "2.8",
                "main/%mul (aten.mul.Tensor): a complex literal (as_complex) "
                "came with schema "
                "8.14, torch 2.8 has 8.8");
  Arg dict;
  dict.kind = ArgKind::kDict;
  ExpectRefused(WithArgument(dict), "2.9", "as_string_to_argument");
  const ArgRange none;
  ExpectRefused(WithArgument(Arg::OfList(ListTag::kIntLists, none)), "2.9",
                "as_int_lists");
  ExpectRefused(WithArgument(Arg::OfList(ListTag::kNestedTensors, none)),
                "2.10", "as_nested_tensors");
  ExpectRefused(WithArgument(Arg::OfList(ListTag::kFloatLists, none)), "2.11",
                "as_float_lists");
  ExpectRefused(WithArgument(Arg::Dtype(DType::kUInt64)), "2.11",
                "dtype uint64");
  Program written = WorkedExample();
  written.signature.outputs[0].kind = OutputKind::kParameterMutation;
  written.signature.outputs[0].state = StateId(0u);
  ExpectRefused(written, "2.8", "parameter_mutation");
}

TEST(Pt2Release, V_FILE_11_KnowsSinceWhenADTypeHasACode) {
  const struct {
    DType dtype;
    const char* last_without;
    const char* first_with;
  } kCases[] = {{DType::kFloat8E4M3FN, "2.6", "2.7"},
                {DType::kFloat8E5M2, "2.6", "2.7"},
                {DType::kFloat8E4M3FNUZ, "2.8", "2.9"},
                {DType::kFloat8E5M2FNUZ, "2.8", "2.9"},
                {DType::kFloat8E8M0FNU, "2.11", "2.13"},
                {DType::kUInt32, "2.11", "2.13"},
                {DType::kUInt64, "2.11", "2.13"}};
  for (const auto& c : kCases) {
    ExpectRefused(WithDType(c.dtype), c.last_without,
                  "main/%a: dtype " + std::string(Name(c.dtype)));
    WriteToBytes(WithDType(c.dtype), "tiny.pt2", nullptr, c.first_with);
  }
  WriteToBytes(WithDType(DType::kUInt16), "tiny.pt2", nullptr, "2.6");
}

TEST(Pt2Release, V_FILE_11_RefusesStateThatPicklesCannotHold) {
  Program p = WorkedExample();
  p.state.storages[0].is_weightless = true;
  ExpectRefused(p, "2.8", "'bias' has no values");

  p = WorkedExample();
  p.state.entries[0].is_pickled = true;
  p.state.storages[0].bytes = AsBytes("cmine\nClass\n.");
  ExpectRefused(p, "2.7", "'bias' is a pickled object");

  p = WorkedExample();
  Type object;
  object.kind = TypeKind::kObject;
  StateEntry entry;
  entry.fqn = p.context().Intern("engine");
  entry.kind = StateKind::kObject;
  entry.type = p.context().types.Intern(std::move(object));
  p.state.Add(entry);
  ExpectRefused(p, "2.6", "'engine' is an object");
}

TEST(Pt2Release, V_FILE_11_RefusesOtherMethodsThatItCannotOpen) {
  Program p = WorkedExample();
  p.file.members.push_back({"models/prefill.json", AsBytes("{}"), nullptr});
  ExpectRefused(p, "2.7", "other method 'prefill'");
  ExpectRefused(p, "2.8", "other method 'prefill'");
  WriteToBytes(p, "tiny.pt2", nullptr, "2.9");
  p.file.members.push_back({"data/weights/prefill.pt", Bytes(), nullptr});
  WriteToBytes(p, "tiny.pt2", nullptr, "2.8");
}

TEST(Pt2Release, LeavesOutWhatOlderReadersRefuseAndSaysSo) {
  Program p = WorkedExample();
  p.file.guards_code = {"L['a'].size()[0] >= 2"};
  p.file.unknown_members = {{"$", "future", "1"}, {"weights:$", "x", "2"}};
  p.file.members.push_back({"extra/note", AsBytes("hi"), nullptr});
  p.file.members.push_back({"data/other", AsBytes("hi"), nullptr});
  p.mutable_node(p.root().first).metadata = p.context().InternMetadata(
      {{p.context().Intern("tenon_member.extra"), p.context().Intern("7")}});
  Pt2WriteReport report;
  const std::string bytes = WriteToBytes(p, "tiny.pt2", &report, "2.7");
  const std::string model =
      MemberText(bytes, "serialized_exported_program.json");
  EXPECT_EQ(model.find("future"), std::string::npos);
  EXPECT_EQ(model.find("extra"), std::string::npos);
  EXPECT_EQ(MemberText(bytes, "extra_files/note"), "hi");
  EXPECT_EQ(report.notes,
            (std::vector<std::string>{
                "the guards were left out: schema 8.7 has no place for them",
                "the schema version became 8.7 from 8.14",
                "unknown members of nodes were left out: 1",
                "the unknown member 'future' at $ was left out",
                "the unknown member 'x' at weights:$ was left out",
                "the carried member 'data/other' was left out: a file of torch "
                "2.7 has no place for it"}));
}

TEST(Pt2Release, KeepsExampleInputsAndExtraFilesOfLayoutA) {
  Program p = WorkedExample();
  const std::string inputs = "\x80\x02)}\x86.";
  p.file.members = {{"data/sample_inputs/model.pt", AsBytes(inputs), nullptr},
                    {"extra/dir/note.txt", AsBytes("hi"), nullptr}};
  const std::string bytes = WriteToBytes(p, "tiny.pt2", nullptr, "2.7");
  EXPECT_EQ(MemberText(bytes, "serialized_example_inputs.pt"), inputs);
  Diagnostics diags;
  const auto read = Read(bytes, diags);
  ASSERT_TRUE(read) << diags.ToString();
  ASSERT_EQ(read->file.members.size(), 2u);
  EXPECT_EQ(read->file.members[0].name, "data/sample_inputs/model.pt");
  EXPECT_EQ(read->file.members[1].name, "extra/dir/note.txt");
}

// Two entries over one storage stay two views of it, strides and offset too.
TEST(Pt2Release, KeepsViewsOfOneStorage) {
  Program p = WorkedExample();
  Type type = p.type(p.state.entries[0].type);
  type.sizes = {SymInt::Literal(2)};
  type.strides = {SymInt::Literal(2)};
  type.storage_offset = SymInt::Literal(0);
  type.requires_grad = false;
  StateEntry view = p.state.entries[0];
  view.fqn = p.context().Intern("view");
  view.kind = StateKind::kPersistentBuffer;
  view.is_param = false;
  view.type = p.context().types.Intern(std::move(type));
  p.state.Add(view);
  for (const char* release : kReleases) {
    const std::string bytes = WriteToBytes(p, "tiny.pt2", nullptr, release);
    Diagnostics diags;
    const auto read = Read(bytes, diags);
    ASSERT_TRUE(read) << diags.ToString();
    ASSERT_EQ(read->state.entries.size(), 2u) << release;
    const StateEntry& entry = read->state.entries[1];
    EXPECT_EQ(entry.storage, read->state.entries[0].storage) << release;
    EXPECT_EQ(read->type(entry.type).strides[0], SymInt::Literal(2));
    EXPECT_FALSE(read->type(entry.type).requires_grad);
    EXPECT_FALSE(entry.is_param);
  }
  Pt2WriteReport report;
  WriteToBytes(p, "tiny.pt2", &report, "2.9");
  EXPECT_EQ(report.notes,
            (std::vector<std::string>{
                "PyTorch will take 'view' to require gradients, like 'bias', "
                "which shares its storage"}));
}

// A sparse tensor: 2 x 3 with one number, 5, at (1, 2).
SavedDict SparseDict(const std::string& fqn) {
  static const int64_t kIndices[] = {1, 2};
  static const float kValues[] = {5};
  SavedDict dict;
  dict.storages = {{std::as_bytes(std::span(kIndices)), nullptr},
                   {std::as_bytes(std::span(kValues)), nullptr}};
  SavedTensor indices;
  indices.dtype = DType::kInt64;
  indices.sizes = {2, 1};
  indices.strides = {1, 1};
  SavedTensor values;
  values.dtype = DType::kFloat32;
  values.sizes = {1};
  values.strides = {1};
  values.storage = 1;
  SavedTensor sparse;
  sparse.layout = Layout::kSparseCoo;
  sparse.dtype = DType::kFloat32;
  sparse.sizes = {2, 3};
  sparse.parts = {indices, values};
  sparse.is_coalesced = true;
  dict.tensors.emplace_back(fqn, sparse);
  return dict;
}

TEST(Pt2Release, CarriesSparseStateThroughEveryLayout) {
  std::string payload;
  ZipWriter zip;
  ASSERT_TRUE(zip.OpenMemory(&payload, "archive"));
  ASSERT_TRUE(WriteSavedTensor(SparseDict(""), &zip));
  ASSERT_TRUE(zip.WriteDirectory());
  Program p = WorkedExample();
  Type type;
  type.kind = TypeKind::kTensor;
  type.dtype = DType::kFloat32;
  type.layout = Layout::kSparseCoo;
  type.device.type = p.context().Intern("cpu");
  type.sizes = {SymInt::Literal(2), SymInt::Literal(3)};
  type.strides = {SymInt::Literal(0), SymInt::Literal(0)};
  type.storage_offset = SymInt::Literal(0);
  StateEntry entry;
  entry.fqn = p.context().Intern("s");
  entry.kind = StateKind::kPersistentBuffer;
  entry.type = p.context().types.Intern(std::move(type));
  entry.is_pickled = true;
  StorageRecord record;
  record.bytes = AsBytes(payload);
  entry.storage = p.state.AddStorage(record);
  p.state.Add(entry);
  for (const char* release : kReleases) {
    const std::string bytes = WriteToBytes(p, "tiny.pt2", nullptr, release);
    Diagnostics diags;
    const auto read = Read(bytes, diags);
    ASSERT_TRUE(read) << release << diags.ToString();
    ASSERT_EQ(read->state.entries.size(), 2u) << release;
    const StateEntry& s = read->state.entries[1];
    EXPECT_TRUE(s.is_pickled);
    EXPECT_EQ(read->type(s.type).layout, Layout::kSparseCoo);
    EXPECT_EQ(AsText(read->state.storage(s.storage).bytes), payload) << release;
    EXPECT_EQ(WriteToBytes(*read, "tiny.pt2", nullptr, release), bytes);
  }
}

}  // namespace
}  // namespace tenon
