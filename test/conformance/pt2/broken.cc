#include "conformance/pt2/broken.h"

#include <simdjson.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "conformance/pt2/broken_table.h"
#include "conformance/pt2/step_report.h"
#include "conformance/pte/pte.h"
#include "formats/pt2/pt2.h"
#include "verify/verify.h"

namespace tenon::conformance {
namespace {

struct BrokenFile {
  std::string name, path, expected;
  bool is_pte = false;

  bool may_accept() const { return expected.starts_with("accept"); }
  bool may_refuse() const {
    return !may_accept() || expected.find("or: ") != std::string::npos ||
           expected.starts_with("accept or ");
  }
};

Expected<std::vector<BrokenFile>> ReadBrokenManifest(const std::string& path,
                                                     Diagnostics& diags) {
  simdjson::dom::parser parser;
  simdjson::dom::element manifest;
  simdjson::dom::array entries;
  const bool is_read = !parser.load(path).get(manifest);
  const bool is_pte = is_read && !manifest["entries"].get(entries);
  if (!is_read || (!is_pte && manifest["files"].get(entries))) {
    return diags.Error(Rule::kIo, Place::File(path))
           << "not a manifest with 'files' or 'entries'";
  }
  const auto folder = std::filesystem::path(path).parent_path();
  std::vector<BrokenFile> files;
  for (simdjson::dom::element entry : entries) {
    std::string_view name, expected;
    if (entry[is_pte ? "pte" : "file"].get(name) ||
        entry[is_pte ? "must" : "expected"].get(expected)) {
      return diags.Error(Rule::kUsage, Place::File(path))
             << "an entry without a file, or what is expected of it";
    }
    files.push_back(
        {std::string(name), folder / name, std::string(expected), is_pte});
  }
  return files;
}

// The first word in quotes of the record that the error doesn't mention.
std::string Unmentioned(const std::string& expected, const Diagnostic& error) {
  const std::string text = error.place.ToString() + " " + error.message;
  for (size_t at = expected.find('\''); at != std::string::npos;) {
    const size_t end = expected.find('\'', at + 1);
    if (end == std::string::npos) break;
    const std::string word = expected.substr(at + 1, end - at - 1);
    if (text.find(word) == std::string::npos) return word;
    at = expected.find('\'', end + 1);
  }
  return "";
}

// "" when the row fits the record, else why not.
std::string Contradiction(const BrokenFile& file, const BrokenRow& row) {
  if (!row.accept && !file.may_refuse()) return "must be accepted";
  if (row.accept && !file.may_accept() && row.message.empty()) {
    return "is accepted without a reason";
  }
  return "";
}

const Diagnostic* FirstError(const Diagnostics& diags) {
  for (const Diagnostic& d : diags.all()) {
    if (d.severity == Severity::kError) return &d;
  }
  return nullptr;
}

std::string Row(const Diagnostic* error) {
  if (error == nullptr) return "accept";
  return "refuse\t" + std::string(RuleId(error->rule)) + "\t" +
         error->place.ToString() + "\t" + error->message;
}

CheckResult CheckBroken(const BrokenFile& file, const BrokenTable& table) {
  if (file.is_pte) return CheckBrokenPte(file.name, file.path, file.expected);
  StepReport report(file.name);
  Diagnostics diags;
  Pt2ReadOptions options;
  options.check_crc = true;
  auto program =
      ReadPt2(file.path, std::make_shared<Context>(), options, diags);
  const bool accepted = program && Verify(*program, VerifyOptions(), diags);
  const Diagnostic* const error = FirstError(diags);
  const auto row = table.find(file.name);
  if (accepted != (error == nullptr)) {
    report.Fail("read", "an error and a program, or neither");
  } else if (row == table.end()) {
    report.Fail("table", "no row; " + Row(error));
  } else if (const auto why = Contradiction(file, row->second); !why.empty()) {
    report.Fail("table", why + ", expected: " + file.expected);
  } else if (accepted != row->second.accept) {
    report.Fail("read", Row(error) + ", expected: " + file.expected);
  } else if (!accepted) {
    const std::string difference = Difference(row->second, *error);
    const std::string word = Unmentioned(file.expected, *error);
    if (!difference.empty())
      report.Fail("error", Row(error) + ": " + difference);
    if (!word.empty()) report.Fail("error", "'" + word + "' isn't mentioned");
  }
  CheckResult result = std::move(report).Finish();
  if (result.outcome == Outcome::kPassed) {
    result.lines = "ok " + file.name + "\t" + Row(error) + "\n";
  }
  return result;
}

// Rows that no file of the manifest has.
size_t ReportStrayRows(const BrokenTable& table,
                       const std::vector<BrokenFile>& files) {
  std::set<std::string> names;
  for (const BrokenFile& file : files) names.insert(file.name);
  size_t count = 0;
  for (const auto& [name, row] : table) {
    if (names.count(name) > 0) continue;
    std::printf("FAIL %s: a row without its file\n", name.c_str());
    ++count;
  }
  return count;
}

}  // namespace

int RunBroken(const std::string& manifest, const std::string& table_path,
              const RunOptions& options) {
  Diagnostics diags;
  const auto files = ReadBrokenManifest(manifest, diags);
  const auto table = table_path.empty() ? Expected<BrokenTable>(BrokenTable())
                                        : ReadBrokenTable(table_path, diags);
  if (!files || !table) {
    std::fputs(diags.ToString().c_str(), stderr);
    return 2;
  }
  const int status = RunEntries(
      files->size(), [&](size_t i) { return (*files)[i].name; },
      [&](size_t i) { return CheckBroken((*files)[i], *table); }, options);
  return ReportStrayRows(*table, *files) > 0 ? 1 : status;
}

}  // namespace tenon::conformance
