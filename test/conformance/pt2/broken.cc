#include "conformance/pt2/broken.h"

#include <simdjson.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "conformance/pt2/step_report.h"
#include "formats/pt2/pt2.h"
#include "verify/verify.h"

namespace tenon::conformance {
namespace {

// Refused by PyTorch, accepted here on purpose.
struct Tolerated {
  std::string_view file, reason;
};
constexpr Tolerated kTolerated[] = {
    {"unknown_op.pt2", "an operator that the table lacks travels as it is"},
    {"target_is_code.pt2", "a target is a name, carried and never evaluated"},
    {"target_torch_attribute.pt2",
     "a target is a name, carried and never evaluated"},
    {"name_not_identifier.pt2", "names are labels, made legal when written"},
    {"device_unknown.pt2", "a device is a label, nothing is placed on it"},
    {"no_root_call.pt2", "specs are optional; nothing depends on them"},
};

struct BrokenFile {
  std::string name, path, expected;
  bool must_accept() const {
    return expected.starts_with("accept") && !is_open();
  }
  bool must_refuse() const {
    return !expected.starts_with("accept") && tolerated_for().empty();
  }
  // Why it may be accepted although PyTorch refuses it; "" when it may not.
  std::string_view tolerated_for() const {
    for (const Tolerated& t : kTolerated) {
      if (t.file == name) return t.reason;
    }
    return {};
  }
  bool is_open() const { return expected.find("or: ") != std::string::npos; }
};

Expected<std::vector<BrokenFile>> ReadBrokenManifest(const std::string& path,
                                                     Diagnostics& diags) {
  simdjson::dom::parser parser;
  simdjson::dom::array entries;
  if (parser.load(path)["files"].get(entries)) {
    return diags.Error(Rule::kIo, Place::File(path))
           << "not a manifest with 'files'";
  }
  const auto folder = std::filesystem::path(path).parent_path();
  std::vector<BrokenFile> files;
  for (simdjson::dom::element entry : entries) {
    std::string_view name, expected;
    if (entry["file"].get(name) || entry["expected"].get(expected)) {
      return diags.Error(Rule::kUsage, Place::File(path))
             << "an entry without 'file' or 'expected'";
    }
    files.push_back({std::string(name), folder / name, std::string(expected)});
  }
  return files;
}

CheckResult CheckBroken(const BrokenFile& file) {
  StepReport report(file.name);
  Diagnostics diags;
  Pt2ReadOptions options;
  options.check_crc = true;
  auto program =
      ReadPt2(file.path, std::make_shared<Context>(), options, diags);
  const bool accepted = program && Verify(*program, VerifyOptions(), diags);
  if (accepted && file.must_refuse()) {
    report.Fail("read", "accepted, expected: " + file.expected);
  } else if (!accepted && file.must_accept()) {
    report.Fail("read", diags, "refused without an error");
  } else if (!accepted && !diags.has_errors()) {
    report.Fail("read", "refused without an error");
  }
  CheckResult result = std::move(report).Finish();
  if (result.outcome == Outcome::kPassed) {
    result.lines = "ok " + file.name + ": " +
                   (accepted ? "accepted" : diags.FirstError()) + " [" +
                   file.expected + "]\n";
  }
  return result;
}

}  // namespace

int RunBroken(const std::string& manifest, const RunOptions& options) {
  Diagnostics diags;
  const auto files = ReadBrokenManifest(manifest, diags);
  if (!files) {
    std::fputs(diags.ToString().c_str(), stderr);
    return 2;
  }
  return RunEntries(
      files->size(), [&](size_t i) { return (*files)[i].name; },
      [&](size_t i) { return CheckBroken((*files)[i]); }, options);
}

}  // namespace tenon::conformance
