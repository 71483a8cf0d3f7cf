// Archives, models, arrays and programs for ExecuTorch, made here.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "../../scratch.h"
#include "formats/pte/pte.h"
#include "formats/zip/zip_layout.h"
#include "formats/zip/zip_writer.h"
#include "scan/lenient_json.h"
#include "scanned.h"
#include "support/mapped_file.h"

namespace tenon {
namespace {

using namespace std::string_literals;

using Members = std::vector<std::pair<std::string, std::string>>;

std::string Zip(const Members& members) {
  std::string bytes;
  ZipWriter writer;
  EXPECT_TRUE(writer.OpenMemory(&bytes, "m"));
  for (const auto& [name, content] : members) {
    EXPECT_TRUE(writer.Add(name, AsBytes(content))) << writer.error();
  }
  EXPECT_TRUE(writer.WriteDirectory());
  return bytes;
}

// Every occurrence of `from`, which has the length of `to`.
std::string Patched(std::string bytes, std::string_view from,
                    std::string_view to, size_t first = 0, size_t count = 99) {
  size_t at = 0;
  for (size_t i = 0; (at = bytes.find(from, at)) != std::string::npos; ++i) {
    if (i >= first && i < first + count) bytes.replace(at, from.size(), to);
    at += from.size();
  }
  return bytes;
}

constexpr std::string_view kEvil =
    "\x80\x02"
    "cos\nsystem\n)R.";

std::string Model(const std::string& members) {
  return Zip({{"archive_format", "pt2"}, {"models/model.json", members}});
}

TEST(ScanArchives, X_ARCHIVE_01_FindsNamesThatLeave) {
  const std::string good = Zip({{"extra/abcdef", "x"}});
  for (const char* name :
       {"/etc/p/abcde", "m/../../abcd", "m/extra\\abcd", "C:extra/abcd"}) {
    ASSERT_EQ(std::strlen(name), 12u);
    EXPECT_TRUE(ScanText(Patched(good, "m/extra/abcd", name))
                    .HasDanger(Rule::kXArchive01))
        << name;
  }
  std::string link = good;
  const size_t entry = link.find("PK\x01\x02");
  const uint32_t attributes = 0120777u << 16;
  std::memcpy(link.data() + entry + 38, &attributes, 4);
  EXPECT_TRUE(ScanText(link).HasDanger(Rule::kXArchive01, "symbolic link"));
  EXPECT_TRUE(ScanText(good).IsClean());
}

TEST(ScanArchives, X_ARCHIVE_02_FindsWhatReadersDisagreeAbout) {
  const std::string good = Zip({{"aaa", "x"}, {"bbb", "y"}});
  EXPECT_TRUE(ScanText(Patched(good, "m/bbb", "m/aaa"))
                  .HasDanger(Rule::kXArchive02, "there twice"));
  // Only in the local header, which comes first in the file.
  EXPECT_TRUE(ScanText(Patched(good, "m/bbb", "m/ccc", 0, 1))
                  .HasDanger(Rule::kXArchive02, "called otherwise"));
  EXPECT_TRUE(
      ScanText("PK\003\004" + good).HasDanger(Rule::kXArchive02, "directory"));
  std::string fewer = good;
  fewer[fewer.size() - zip::kEnd64Bytes - zip::kLocator64Bytes -
        zip::kEndBytes + 32] = 1;
  EXPECT_TRUE(ScanText(fewer).HasDanger(Rule::kXArchive02, "2 entries"));
}

// An end record in the comment of another one, for an archive without members.
TEST(ScanArchives, LooksThroughBothOfTwoDirectories) {
  std::string bytes = Zip({{"data.pkl", std::string(kEvil)}});
  bytes[bytes.size() - 2] = static_cast<char>(zip::kEndBytes + 1);
  bytes += "PK\x05\x06" + std::string(zip::kEndBytes - 4, '\0') + "x";
  const Scanned scanned = ScanText(bytes);
  EXPECT_TRUE(scanned.HasDanger(Rule::kXPickle01)) << scanned.found.ToString();
  EXPECT_TRUE(scanned.HasDanger(Rule::kXArchive02, "end records"));
}

TEST(ScanArchives, LooksAtMembersThatOtherReadersRefuse) {
  std::string marked = Zip({{"data.pkl", std::string(kEvil)}});
  // The flag "encrypted", in the local header alone.
  marked[6] = static_cast<char>(marked[6] | 1);
  const Scanned scanned = ScanText(marked);
  EXPECT_TRUE(scanned.HasDanger(Rule::kXPickle01));
  EXPECT_TRUE(scanned.HasDanger(Rule::kXArchive02));
}

TEST(ScanArchives, FindsPicklesWhateverTheyAreCalled) {
  for (const char* name :
       {"data.pkl", "data/sample_inputs/model.pt", "data/weights/model.pt",
        "extra/readme.txt", "data/weights/weight_0", "constants.pkl",
        "data/constants/opaque_obj_0"}) {
    EXPECT_TRUE(
        ScanText(Zip({{name, std::string(kEvil)}})).HasDanger(Rule::kXPickle01))
        << name;
  }
  const std::string inner = Zip({{"data.pkl", std::string(kEvil)}});
  EXPECT_TRUE(ScanText(Zip({{"data/weights/model.pt", inner}}))
                  .HasDanger(Rule::kXPickle01));
}

TEST(ScanArchives, X_PICKLE_05_NotesPayloadsMarkedAsPickles) {
  const std::string config =
      R"({"config":{"w":{"path_name":"weight_0","use_pickle":true}}})";
  const Scanned scanned =
      ScanText(Zip({{"data/weights/model_weights_config.json", config},
                    {"data/weights/weight_0", "\x80\x02}."}}));
  EXPECT_TRUE(scanned.Has(Severity::kNote, Rule::kXPickle05, "'w'"));
  EXPECT_TRUE(scanned.IsClean()) << scanned.found.ToString();
  const std::string leaves =
      R"({"config":{"w":{"path_name":"../x","use_pickle":false}}})";
  EXPECT_TRUE(
      ScanText(Zip({{"data/weights/model_weights_config.json", leaves}}))
          .HasDanger(Rule::kXArchive01));
}

TEST(ScanArchives, X_CODE_01_FindsNativeCode) {
  const std::string elf =
      "\x7f"
      "ELF" +
      std::string(60, '\0');
  EXPECT_TRUE(ScanText(elf).HasDanger(Rule::kXCode01));
  EXPECT_TRUE(ScanText(Zip({{"data/aotinductor/model/x.so", elf}}))
                  .HasDanger(Rule::kXCode01));
  EXPECT_TRUE(ScanText(Zip({{"extra/note", elf}})).HasDanger(Rule::kXCode01));
  std::string gpu = elf;
  gpu[18] = static_cast<char>(190);
  EXPECT_TRUE(ScanText(Zip({{"data/aotinductor/model/x.cubin", gpu}}))
                  .HasCaution(Rule::kXCode01));
}

TEST(ScanArchives, X_CODE_02_X_CODE_03_X_CODE_04_FindSources) {
  const Scanned script =
      ScanText(Zip({{"data.pkl",
                     "\x80\x02"
                     "c__torch__\nNet\n)\x81."},
                    {"code/__torch__.py", "class Net(Module): pass"}}));
  EXPECT_EQ(script.report.kind, FileKind::kTorchScript);
  EXPECT_TRUE(script.HasCaution(Rule::kXCode02)) << script.found.ToString();
  EXPECT_EQ(script.found.num_errors(), 0u) << script.found.ToString();
  EXPECT_TRUE(
      ScanText(Zip({{".data/extern_modules", "torch"}, {"net.py", "print()"}}))
          .HasDanger(Rule::kXCode03));
  EXPECT_TRUE(ScanText(Zip({{"extra/setup.py", "print()"}}))
                  .Has(Severity::kNote, Rule::kXCode04));
}

TEST(ScanArchives, X_LIMIT_02_TellsWhatCannotBeLookedAt) {
  EXPECT_TRUE(ScanText("PK\003\004 and no more").HasDanger(Rule::kXLimit02));
  EXPECT_TRUE(ScanText("").HasDanger(Rule::kXLimit02));
  EXPECT_TRUE(ScanText(Model("{")).HasDanger(Rule::kXLimit02));
}

TEST(ScanModels, X_NAME_01_FindsNamesThatAreCode) {
  EXPECT_TRUE(ScanText(Model(R"j({"forward_arg_names":["x=print()"]})j"))
                  .HasDanger(Rule::kXName01));
  EXPECT_TRUE(ScanText(Model(R"({"tensor_values":{"a b; import os":{}}})"))
                  .HasDanger(Rule::kXName01));
  EXPECT_TRUE(ScanText(Model(R"({"metadata":{"name":"a b"}})")).IsClean());
}

// PyTorch 2.15 runs this when the program's module is made.
TEST(ScanModels, FindsFixedTextsThatLeaveTheirQuotes) {
  EXPECT_TRUE(
      ScanText(Model(R"({"value":{"as_string":"a' or print() or 'b"}})"))
          .HasDanger(Rule::kXGuard01));
  EXPECT_TRUE(
      ScanText(Model(R"j({"value":{"as_string":"don't (ever)"}})j")).IsClean());
}

TEST(ScanModels, X_SPEC_01_FindsImportsOfStructures) {
  const auto spec = [](const std::string& context) {
    return Model(R"({"in_spec":"[1, {\"type\":\"t\",\"context\":)" + context +
                 R"(,\"children_spec\":[]}]"})");
  };
  const auto factory = [&](const std::string& module, const std::string& name) {
    return spec(R"({\"default_factory_module\":\")" + module +
                R"(\",\"default_factory_name\":\")" + name + R"(\"})");
  };
  EXPECT_TRUE(ScanText(factory("os", "getcwd")).HasDanger(Rule::kXSpec01));
  EXPECT_TRUE(ScanText(factory("mylib", "Thing")).HasCaution(Rule::kXSpec01));
  EXPECT_TRUE(ScanText(factory("builtins", "list")).IsClean());
  // An enum among the keys, JSON inside of JSON inside of JSON.
  EXPECT_TRUE(
      ScanText(spec(R"(\"[{\\\"__enum__\\\": true, \\\"fqn\\\": \\\"this:X\\\")"
                    R"(, \\\"name\\\": \\\"Y\\\"}]\")"))
          .HasDanger(Rule::kXSpec01, "this.X"));
}

TEST(ScanModels, X_OBJECT_01_NamesCustomClassesOnce) {
  const Scanned scanned =
      ScanText(Model(R"([{"class_fqn":"__torch__.torch.classes.a.B"},)"
                     R"({"class_fqn":"__torch__.torch.classes.a.B"}])"));
  EXPECT_TRUE(scanned.HasCaution(Rule::kXObject01, "classes.a.B"));
  EXPECT_EQ(scanned.found.num_warnings(), 1u);
}

// Python reads both; a strict parser refuses them.
TEST(ScanModels, LooksThroughJsonThatOnlyPythonReads) {
  const std::string evil = R"j("guards_code":["eval('1')"]})j";
  EXPECT_TRUE(
      ScanText(Model(R"({"a":"\ud800",)" + evil)).HasDanger(Rule::kXGuard01));
  EXPECT_TRUE(ScanText(Model("{\"a\":" + std::string(400, '9') + "," + evil))
                  .HasDanger(Rule::kXGuard01));
  EXPECT_TRUE(ScanText(Model("{\"a\":[Infinity,NaN]," + evil))
                  .HasDanger(Rule::kXGuard01));
  EXPECT_TRUE(ScanText(Model(R"j({"guards_code":["exec('1')"],)j" + evil))
                  .HasDanger(Rule::kXGuard01, "exec"));
  EXPECT_EQ(WithoutPythonsOwn(R"({"\ud83d\ude00\udc00\"1": 12, "9": 1.5})"),
            R"({"\ud83d\ude00\ufffd\"1": 12, "9": 1.5})");
}

TEST(ScanArrays, FindsObjectsAmongNumbers) {
  const auto npy = [](const std::string& header, const std::string& rest) {
    return "\x93NUMPY\x01"s + '\0' + static_cast<char>(header.size()) + '\0' +
           header + rest;
  };
  EXPECT_TRUE(
      ScanText(npy("{'descr': '|O', 'shape': (1,)}", std::string(kEvil)))
          .HasDanger(Rule::kXPickle01));
  EXPECT_TRUE(
      ScanText(npy("{'descr': '<f4', 'shape': (1,)}", "\0\0\0\0"s)).IsClean());
  EXPECT_TRUE(ScanText("\x93NUMPY\x01").HasDanger(Rule::kXLimit02));
}

TEST(ScanArrays, TakesSafetensorsAtTheirHeader) {
  const auto file = [](const std::string& header) {
    return std::string(1, static_cast<char>(header.size())) +
           "\0\0\0\0\0\0\0"s + header + "\0\0\0\0"s;
  };
  const Scanned good = ScanText(
      file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"));
  EXPECT_TRUE(good.IsClean()) << good.found.ToString();
  EXPECT_EQ(good.report.num_tensors, 1u);
  EXPECT_EQ(good.report.tensor_bytes, 4u);
  EXPECT_TRUE(
      ScanText(
          file(R"({"a":{"dtype":"F32","shape":[9],"data_offsets":[0,36]}})"))
          .HasDanger(Rule::kXLimit02));
  EXPECT_TRUE(ScanText(file("{\"a\":")).HasDanger(Rule::kXLimit02));
}

TEST(ScanExecuTorch, X_OBJECT_02_NotesBackends) {
  EXPECT_TRUE(ScanText("\x08\0\0\0ET12\0\0"s).HasDanger(Rule::kXLimit02));
  // Every length and offset is cut somewhere.
  const std::string tables =
      "\x18\0\0\0ET12"
      "\x08\0\x08\0\0\0\x04\0"  // 8: layout of Program
      "\0\0\0\0\0\0\0\0"
      "\x10\0\0\0\x04\0\0\0"  // 24: Program, its list of methods
      "\x01\0\0\0\x18\0\0\0"  // 32: one method
      "\x14\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x04\0"  // 40: its layout
      "\x14\0\0\0\x04\0\0\0"                            // 60: ExecutionPlan
      "\x01\0\0\0\x0c\0\0\0"                            // 68: one delegate
      "\x06\0\x08\0\x04\0\0\0"                          // 76: its layout
      "\x08\0\0\0\x04\0\0\0"                            // 84: BackendDelegate
      "\x04\0\0\0Toy!"s;                                // 92: its id
  const Scanned scanned = ScanText(tables);
  EXPECT_TRUE(scanned.Has(Severity::kNote, Rule::kXObject02, "'Toy!'"))
      << scanned.found.ToString();
  EXPECT_TRUE(scanned.IsClean());
  const std::string cuda =
      Patched(tables, "\x04\0\0\0Toy!"s, "\x0b\0\0\0CudaBackend"s);
  EXPECT_TRUE(ScanText(cuda).HasDanger(Rule::kXCode01, "'CudaBackend'"));
  for (size_t size = 0; size < tables.size(); ++size) {
    ScanText(std::string_view(tables).substr(0, size));
    std::string flipped = tables;
    flipped[size] = static_cast<char>(flipped[size] ^ 0xFF);
    ScanText(flipped);
  }
}

TEST(ScanExecuTorch, X_CODE_01_LooksAtSegments) {
  PtePlan plan;
  plan.name = "forward";
  plan.arena_bytes = {0};
  PteProgram program;
  program.plans.push_back(std::move(plan));
  std::string segment = "some weights of a network";
  for (const char* magic : {"", "\x7f\x45LF", "\xcf\xfa\xed\xfe"}) {
    segment.replace(0, std::strlen(magic), magic);
    program.segments = {PteSegment(AsBytes(segment), nullptr, 16)};
    const std::string path = ScratchPath("segments.pte");
    Diagnostics diags;
    ASSERT_TRUE(WritePte(program, path, {}, diags)) << diags.ToString();
    std::string error;
    const auto file = MappedFile::Open(path, &error);
    ASSERT_NE(file, nullptr) << error;
    const Scanned scanned = ScanText(AsText(file->bytes()));
    EXPECT_EQ(scanned.HasDanger(Rule::kXCode01, "segment 0"), *magic != '\0')
        << magic << scanned.found.ToString();
  }
}

// Damage in an archive with a bit of everything.
TEST(ScanArchives, SurvivesFlippedAndCutBytes) {
  const std::string whole =
      Zip({{"models/model.json", R"j({"guards_code":["eval(1)"]})j"},
           {"data/weights/model.pt", Zip({{"data.pkl", std::string(kEvil)}})},
           {"a.npy", "\x93NUMPY\x01\0\x02\0{}"s}});
  for (size_t at = 0; at < whole.size(); ++at) {
    ScanText(std::string_view(whole).substr(0, at));
    for (const int flip : {0x01, 0x80, 0xFF}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      ScanText(damaged);
    }
  }
  EXPECT_TRUE(ScanText(whole).HasDanger(Rule::kXPickle01));
}

}  // namespace
}  // namespace tenon
