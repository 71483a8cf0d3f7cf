#include "conformance/pt2/check.h"

#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "analysis/digest.h"
#include "conformance/pt2/step_report.h"
#include "formats/pt2/pt2.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon::conformance {
namespace {

std::optional<Program> Read(const std::string& path, const std::string& method,
                            Diagnostics& diags) {
  Pt2ReadOptions options;
  options.method = method;
  options.check_crc = true;
  auto program = ReadPt2(path, std::make_shared<Context>(), options, diags);
  if (!program) return std::nullopt;
  return std::move(*program);
}

void CheckVerify(const Program& program, StepReport* report) {
  Diagnostics diags;
  if (!Verify(program, VerifyOptions(), diags)) {
    report->Fail("verify", diags, "failed without an error");
  }
}

// The first line at which two texts part.
std::string FirstDifference(const std::string& a, const std::string& b) {
  size_t line = 1, start = 0;
  for (size_t i = 0; i < a.size() && i < b.size() && a[i] == b[i]; ++i) {
    if (a[i] != '\n') continue;
    ++line;
    start = i + 1;
  }
  const auto line_of = [start](const std::string& text) {
    return start < text.size()
               ? text.substr(start, text.find('\n', start) - start)
               : std::string("the end");
  };
  return "line " + std::to_string(line) + ": '" + line_of(b) +
         "' instead of '" + line_of(a) + "'";
}

void CheckText(const Program& program, StepReport* report) {
  std::map<Digest, Bytes> side;
  PrintOptions options;
  options.side_file = [&side](const Digest& digest, Bytes bytes) {
    side.emplace(digest, bytes);
  };
  const std::string text = PrintProgram(program, options);
  const PayloadSource payloads = [&side](const Digest& digest) {
    const auto found = side.find(digest);
    return std::pair(found == side.end() ? Bytes() : found->second,
                     std::shared_ptr<const void>());
  };
  Diagnostics diags;
  auto parsed = ParseProgram(text, "printed", std::make_shared<Context>(),
                             payloads, diags);
  if (!parsed) {
    report->Fail("text", diags, "printed text doesn't parse");
    return;
  }
  const std::string again = PrintProgram(*parsed, options);
  if (again != text) {
    report->Fail("text", "printed again: " + FirstDifference(text, again));
  }
  if (WiringDigest(*parsed) != WiringDigest(program)) {
    report->Fail("text", "the parsed program has another digest");
  }
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void CheckWrite(const Program& program, const std::string& folder,
                StepReport* report) {
  Diagnostics diags;
  const std::string path = folder + "/once.pt2";
  const std::string path_again = folder + "/again.pt2";
  Pt2WriteOptions options;
  options.root = "program";
  if (!WritePt2(program, path, options, diags)) {
    report->Fail("write", diags, "failed without an error");
    return;
  }
  auto read = Read(path, "", diags);
  if (!read) {
    report->Fail("write", diags, "the written file can't be read");
    return;
  }
  if (!Verify(*read, VerifyOptions(), diags)) {
    report->Fail("write", diags, "the program read back is wrong");
  }
  if (WiringDigest(*read) != WiringDigest(program)) {
    report->Fail("write", "the program read back has another digest");
  }
  if (!WritePt2(*read, path_again, options, diags)) {
    report->Fail("write", diags, "the program read back can't be written");
  } else if (ReadFile(path) != ReadFile(path_again)) {
    report->Fail("write", "written again, the bytes differ");
  }
}

}  // namespace

CheckResult CheckProgram(const CorpusProgram& entry) {
  StepReport report(entry.name);
  const ScratchFolder scratch;
  if (scratch.path().empty()) {
    report.Fail("process", "no temporary folder");
    return std::move(report).Finish();
  }
  Diagnostics diags;
  auto program = Read(entry.path, entry.method, diags);
  if (!program) {
    report.Fail("read", diags, "failed without an error");
    return std::move(report).Finish();
  }
  CheckVerify(*program, &report);
  CheckText(*program, &report);
  CheckWrite(*program, scratch.path(), &report);
  return std::move(report).Finish();
}

}  // namespace tenon::conformance
