#include "conformance/pte/pte.h"

#include <simdjson.h>

#include <cstdio>
#include <deque>
#include <filesystem>
#include <string_view>
#include <vector>

#include "conformance/pt2/step_report.h"
#include "formats/pte/pte.h"
#include "formats/pte/verify_pte.h"
#include "support/mapped_file.h"

namespace tenon::conformance {
namespace {

namespace fs = std::filesystem;

struct Entry {
  std::string name;
  std::string file;  // relative to the manifest
  std::vector<std::string> data;
};

Expected<std::vector<Entry>> ReadEntries(const fs::path& manifest,
                                         Diagnostics& diags) {
  simdjson::dom::parser parser;
  simdjson::dom::array list;
  if (parser.load(manifest)["entries"].get(list)) {
    return diags.Error(Rule::kIo, Place::File(manifest))
           << "not a manifest with 'entries'";
  }
  std::vector<Entry> entries;
  for (const simdjson::dom::element item : list) {
    std::string_view name, file;
    simdjson::dom::array data;
    if (item["name"].get(name) || item["pte"].get(file) ||
        item["data"].get(data)) {
      return diags.Error(Rule::kUsage, Place::File(manifest))
             << "an entry without 'name', 'pte' or 'data'";
    }
    Entry& entry = entries.emplace_back();
    entry.name = name;
    entry.file = file;
    for (const simdjson::dom::element path : data) {
      entry.data.emplace_back(path.get_string().value_unsafe());
    }
  }
  const fs::path handmade = manifest.parent_path() / "handmade";
  if (!fs::is_directory(handmade)) return entries;
  for (const auto& file : fs::directory_iterator(handmade)) {
    if (file.path().extension() != ".pte") continue;
    const std::string stem = file.path().stem();
    entries.push_back({"handmade/" + stem, "handmade/" + stem + ".pte", {}});
  }
  return entries;
}

bool HaveSameBytes(const std::string& a, const std::string& b) {
  std::string error;
  const auto file_a = MappedFile::Open(a, &error);
  const auto file_b = MappedFile::Open(b, &error);
  return file_a != nullptr && file_b != nullptr &&
         AsText(file_a->bytes()) == AsText(file_b->bytes());
}

class EntryCheck {
 public:
  EntryCheck(const Entry& entry, fs::path from, fs::path to,
             uint64_t inline_limit_bytes)
      : entry_(entry),
        from_(std::move(from)),
        to_(std::move(to)),
        report_(entry.name) {
    options_.inline_limit_bytes = inline_limit_bytes;
  }

  CheckResult Check() {
    for (const std::string& file : entry_.data) CheckData(file);
    CheckProgram();
    return std::move(report_).Finish();
  }

 private:
  void CheckData(const std::string& file) {
    Diagnostics diags;
    auto data = ReadPtd(from_ / file, diags);
    if (!data || !VerifyPtd(*data, diags)) {
      return report_.Fail("data", diags, "refused without an error");
    }
    auto again = WritePtd(*data, to_ / file, diags)
                     ? ReadPtd(to_ / file, diags)
                     : Expected<PtdFile>(Failure{});
    if (!again) return report_.Fail("write data", diags, "failed");
    if (!(*again == *data)) report_.Fail("write data", "another file");
    data_.push_back(std::move(*data));
  }

  void CheckProgram() {
    Diagnostics diags;
    const auto program = ReadPte(from_ / entry_.file, diags);
    if (!program || !Verify(*program, diags)) {
      return report_.Fail("read", diags, "refused without an error");
    }
    const fs::path written = to_ / entry_.file;
    fs::create_directories(written.parent_path());
    const auto report = WritePte(*program, written, options_, diags);
    if (!report) {
      return report_.Fail("write", diags, "failed without an error");
    }
    const auto again = ReadPte(written, diags);
    if (!again || !Verify(*again, diags)) {
      return report_.Fail("read again", diags, "refused without an error");
    }
    if (report->num_moved_payloads == 0 && !(*again == *program)) {
      report_.Fail("read again", "another program");
    }
    const std::string second = written.string() + ".second";
    if (!WritePte(*again, second, options_, diags)) {
      return report_.Fail("write again", diags, "failed without an error");
    }
    if (!HaveSameBytes(written, second)) {
      report_.Fail("write again", "other bytes");
    }
    fs::remove(second);
  }

  bool Verify(const PteProgram& program, Diagnostics& diags) const {
    PteVerifyOptions options;
    for (const PtdFile& file : data_) options.external_data.push_back(&file);
    return VerifyPte(program, options, diags).ok();
  }

  const Entry& entry_;
  const fs::path from_, to_;
  PteWriteOptions options_;
  StepReport report_;
  std::deque<PtdFile> data_;
};

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

int RunPte(const std::string& manifest, const std::string& keep,
           uint64_t inline_limit_bytes, const RunOptions& options) {
  Diagnostics diags;
  const auto entries = ReadEntries(manifest, diags);
  if (!entries) {
    std::fputs(diags.ToString().c_str(), stderr);
    return 2;
  }
  const ScratchFolder scratch;
  const fs::path to = keep.empty() ? scratch.path() : keep;
  return RunEntries(
      entries->size(), [&](size_t i) { return (*entries)[i].name; },
      [&](size_t i) {
        return EntryCheck((*entries)[i], fs::path(manifest).parent_path(), to,
                          inline_limit_bytes)
            .Check();
      },
      options);
}

CheckResult CheckBrokenPte(const std::string& name, const std::string& path,
                           const std::string& must) {
  StepReport report(name);
  Diagnostics diags;
  PteVerifyOptions options;
  options.lint = true;
  const auto program = ReadPte(path, diags);
  const bool accepted = program && VerifyPte(*program, options, diags);
  // "accept or report" and "accept or warn" leave it open.
  const bool is_open = must.starts_with("accept or");
  const bool must_warn =
      Contains(must, "(warn)") || Contains(must, "(report, not refuse)");
  const bool must_accept = must_warn || must.starts_with("accept");
  if (accepted && !must_accept) {
    report.Fail("read", "accepted, expected: " + must);
  } else if (accepted && must_warn && diags.num_warnings() == 0) {
    report.Fail("read", "no warning, expected: " + must);
  } else if (!accepted && must_accept && !is_open) {
    report.Fail("read", diags, "refused without an error");
  } else if (!accepted && !diags.has_errors()) {
    report.Fail("read", "refused without an error");
  }
  CheckResult result = std::move(report).Finish();
  if (result.outcome == Outcome::kPassed) {
    result.lines = "ok " + name + ": " +
                   (diags.all().empty() ? "accepted\n" : diags.ToString());
  }
  return result;
}

}  // namespace tenon::conformance
