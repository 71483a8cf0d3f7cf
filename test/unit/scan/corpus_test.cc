// The corpora beside the checkout: hostile files are found, harmless ones pass.
// A clone without them has the files of test/data, which have to pass as well.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "scanned.h"
#include "support/mapped_file.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCorpus = "../shared/corpus";

std::vector<fs::path> FilesBelow(const fs::path& folder,
                                 const std::string& extension) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == extension) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

Scanned ScanFile(const fs::path& path) {
  std::string error;
  const auto file = MappedFile::Open(path.string(), &error);
  EXPECT_NE(file, nullptr) << path << ": " << error;
  return file == nullptr ? Scanned() : ScanText(AsText(file->bytes()));
}

// Files whose manifest entries have one of the features.
std::set<std::string> WithFeature(const fs::path& folder,
                                  const std::set<std::string_view>& wanted) {
  std::set<std::string> out;
  simdjson::dom::parser parser;
  for (const auto program :
       parser.load((folder / "manifest.json").string())["programs"]) {
    for (const auto feature : program["features"]) {
      if (wanted.count(std::string_view(feature)) > 0) {
        out.insert((folder / std::string_view(program["file"])).string());
      }
    }
  }
  return out;
}

TEST(ScanCorpus, PassesTheRepositorysPrograms) {
  const std::vector<fs::path> files = FilesBelow("test/data", ".pt2");
  ASSERT_FALSE(files.empty());
  for (const fs::path& path : files) {
    const Scanned scanned = ScanFile(path);
    EXPECT_EQ(scanned.found.num_errors(), 0u) << path << "\n"
                                              << scanned.found.ToString();
  }
}

TEST(ScanCorpus, FindsWhatTorchExecutesAndAllThatIsCode) {
  const fs::path folder = fs::path(kCorpus) / "pt2/broken";
  if (!fs::exists(folder)) GTEST_SKIP() << "there is no " << folder;
  // Code that torch 2.15 refuses, or runs at another time.
  std::map<std::string, Rule> hostile = {
      {"target_is_code.pt2", Rule::kXTarget01},
      {"target_torch_attribute.pt2", Rule::kXTarget01},
      {"name_not_identifier.pt2", Rule::kXName01},
      {"in_spec_import.pt2", Rule::kXSpec01},
      {"absolute_member.pt2", Rule::kXArchive01},
      {"path_traversal_member.pt2", Rule::kXArchive01},
      {"weight_path_traversal.pt2", Rule::kXArchive01},
      {"member_name_not_utf8.pt2", Rule::kXArchive01},
      {"duplicate_member.pt2", Rule::kXArchive02},
      {"local_name_length.pt2", Rule::kXArchive02},
      {"bad_sym_expr.pt2", Rule::kXExpr01},
      {"guard_is_code.pt2", Rule::kXGuard01},
      {"pickle_evil_A.pt2", Rule::kXPickle01},
      {"pickle_evil_B.pt2", Rule::kXPickle01},
      {"pickle_evil_sample_inputs.pt2", Rule::kXPickle01},
      {"pickle_evil_C_weight.pt2", Rule::kXPickle01},
  };
  simdjson::dom::parser parser;
  int num_executed = 0;
  for (const auto entry :
       parser.load((folder / "manifest.json").string())["files"]) {
    const std::string name{std::string_view(entry["file"])};
    const std::string_view torch = entry["torch_2_15"];
    const bool is_executed = torch.find("EXECUTES") != std::string_view::npos;
    num_executed += is_executed;
    const Scanned scanned = ScanFile(folder / name);
    const auto it = hostile.find(name);
    EXPECT_FALSE(is_executed && it == hostile.end())
        << name << " executes code and isn't listed here";
    if (it == hostile.end()) continue;
    EXPECT_TRUE(scanned.HasDanger(it->second)) << name << "\n"
                                               << scanned.found.ToString();
    hostile.erase(it);
  }
  EXPECT_EQ(num_executed, 6);
  EXPECT_TRUE(hostile.empty()) << hostile.begin()->first << " isn't there";
}

// Whatever is in the others, it is damage: no call and no code is made up.
TEST(ScanCorpus, SeesNoCodeInDamage) {
  const fs::path folder = fs::path(kCorpus) / "pt2/broken";
  if (!fs::exists(folder)) GTEST_SKIP() << "there is no " << folder;
  const std::set<Rule> code = {Rule::kXPickle01, Rule::kXPickle03,
                               Rule::kXExpr01,   Rule::kXGuard01,
                               Rule::kXSpec01,   Rule::kXCode01};
  size_t num_with_code = 0;
  for (const fs::path& path : FilesBelow(folder, ".pt2")) {
    const Scanned scanned = ScanFile(path);
    num_with_code += std::any_of(
        scanned.found.all().begin(), scanned.found.all().end(),
        [&](const Diagnostic& d) {
          return d.severity == Severity::kError && code.count(d.rule) > 0;
        });
  }
  EXPECT_EQ(num_with_code, 7u);  // the six that torch runs, and in_spec_import
}

TEST(ScanCorpus, PassesEveryProgramOfPyTorch) {
  const fs::path folder = fs::path(kCorpus) / "pt2";
  if (!fs::exists(folder)) GTEST_SKIP() << "there is no " << folder;
  size_t num_files = 0, num_cautious = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory() || entry.path().filename() == "broken" ||
        !fs::exists(entry.path() / "manifest.json")) {
      continue;
    }
    // Pickled subclasses, and example inputs of the corpus's own classes.
    const std::set<std::string> with_classes = WithFeature(
        entry.path(),
        {"subclass_weights", "tensor_subclass", "dataclass", "namedtuple"});
    for (const fs::path& path : FilesBelow(entry.path(), ".pt2")) {
      ++num_files;
      const Scanned scanned = ScanFile(path);
      EXPECT_EQ(scanned.found.num_errors(), 0u) << path << "\n"
                                                << scanned.found.ToString();
      for (const Diagnostic& d : scanned.found.all()) {
        if (d.severity != Severity::kWarning) continue;
        EXPECT_EQ(d.rule, Rule::kXPickle02) << path << "\n" << d.ToString();
        EXPECT_TRUE(with_classes.count(path.string()) > 0) << path << "\n"
                                                           << d.ToString();
      }
      num_cautious += scanned.found.num_warnings() > 0;
    }
  }
  EXPECT_GT(num_files, 1000u);
  EXPECT_GT(num_cautious, 0u);
  EXPECT_LT(num_cautious * 20, num_files);
}

TEST(ScanCorpus, FindsTheHostileOnesAmongBugReports) {
  const fs::path folder = fs::path(kCorpus) / "bugs";
  if (!fs::exists(folder)) GTEST_SKIP() << "there is no " << folder;
  // An end record in the comment; example inputs that print; names that leave.
  const std::set<std::string> hostile = {"k5_02_comment.pt2", "k5_24.pt2",
                                         "k5_26_abs.pt2",     "k5_26_empty.pt2",
                                         "k5_26_slip.pt2",    "k5_26_up.pt2"};
  std::set<std::string> found;
  for (const fs::path& path : FilesBelow(folder, ".pt2")) {
    if (ScanFile(path).found.has_errors()) found.insert(path.filename());
  }
  EXPECT_EQ(found, hostile);
}

TEST(ScanCorpus, PassesExecuTorchsPrograms) {
  const fs::path folder = fs::path(kCorpus) / "pte";
  if (!fs::exists(folder)) GTEST_SKIP() << "there is no " << folder;
  size_t num_files = 0;
  for (const char* extension : {".pte", ".ptd", ".safetensors"}) {
    for (const fs::path& path : FilesBelow(folder, extension)) {
      if (path.parent_path().filename() == "broken") continue;
      ++num_files;
      const Scanned scanned = ScanFile(path);
      EXPECT_TRUE(scanned.IsClean()) << path << "\n"
                                     << scanned.found.ToString();
    }
  }
  EXPECT_GT(num_files, 150u);
}

// Damaged programs for ExecuTorch are survived; they hold no code to be found.
TEST(ScanCorpus, SurvivesDamagedExecuTorchPrograms) {
  const fs::path folder = fs::path(kCorpus) / "pte/broken";
  if (!fs::exists(folder)) GTEST_SKIP() << "there is no " << folder;
  const std::vector<fs::path> files = FilesBelow(folder, ".pte");
  EXPECT_GT(files.size(), 50u);
  for (const fs::path& path : files) {
    EXPECT_FALSE(ScanFile(path).HasDanger(Rule::kXCode01)) << path;
  }
}

}  // namespace
}  // namespace tenon
