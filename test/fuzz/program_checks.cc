#include "fuzz/program_checks.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include "analysis/digest.h"
#include "formats/pt2/pt2.h"
#include "fuzz/scratch_file.h"
#include "fuzz/target.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon::fuzz {
namespace {

using SideFile = std::map<Digest, std::string>;

std::string Print(const Program& program, SideFile* side) {
  PrintOptions options;
  options.side_file = [&](const Digest& digest, Bytes bytes) {
    (*side)[digest] = AsText(bytes);
  };
  return PrintProgram(program, options);
}

Program ReparsedProgram(const Program& program) {
  SideFile side;
  const std::string text = Print(program, &side);
  const auto payloads = [&](const Digest& digest)
      -> std::pair<Bytes, std::shared_ptr<const void>> {
    const auto it = side.find(digest);
    if (it == side.end()) return {};
    const auto copy = std::make_shared<const std::string>(it->second);
    return {AsBytes(*copy), copy};
  };
  Diagnostics diags;
  auto parsed = ParseProgram(text, "printed.tenon", std::make_shared<Context>(),
                             payloads, diags);
  Expect(parsed.ok(), "what was printed parses", diags.ToString() + text);
  Expect(Print(*parsed, &side) == text, "a parsed text prints the same",
         text + "\n---\n" + Print(*parsed, &side));
  return std::move(*parsed);
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void CheckWritten(const Program& program) {
  const ScratchFile first("-1.pt2"), second("-2.pt2");
  Pt2WriteOptions options;
  options.root = "m";
  Diagnostics diags;
  if (!WritePt2(program, first.path, options, diags)) {
    Expect(diags.has_errors(), "a refusal to write says why");
    return;
  }
  Pt2ReadOptions read_options;
  read_options.allow_weightless = true;
  auto read =
      ReadPt2(first.path, std::make_shared<Context>(), read_options, diags);
  Expect(read.ok(), "what was written can be read", diags.ToString());
  Expect(Verify(*read, VerifyOptions(), diags).ok(),
         "what was written holds the rules", diags.ToString());
  Expect(WiringDigest(*read) == WiringDigest(program),
         "what was written is the same program");
  Expect(WritePt2(*read, second.path, options, diags).ok(),
         "what was read can be written", diags.ToString());
  Expect(ReadFile(first.path) == ReadFile(second.path),
         "written once more: the same bytes");
}

}  // namespace

void CheckTextForm(const Program& program) { ReparsedProgram(program); }

void CheckProgram(const Program& program) {
  const Program parsed = ReparsedProgram(program);
  Diagnostics diags;
  if (!Verify(program, VerifyOptions(), diags)) {
    Expect(diags.has_errors(), "a refusal to verify says why");
    return;
  }
  Expect(Verify(parsed, VerifyOptions(), diags).ok(),
         "a printed program holds the same rules", diags.ToString());
  Expect(WiringDigest(parsed) == WiringDigest(program),
         "a printed program is the same program");
  CheckWritten(program);
}

}  // namespace tenon::fuzz
