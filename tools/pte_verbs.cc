#include "pte_verbs.h"

#include <deque>
#include <vector>

#include "formats/pte/ptd.h"
#include "formats/pte/pte.h"
#include "formats/pte/pte_text.h"
#include "formats/pte/verify_pte.h"
#include "json_writer.h"
#include "read_program.h"
#include "sequence_diff.h"
#include "support/assert.h"
#include "support/hash.h"
#include "support/mapped_file.h"
#include "verdict.h"
#include "write_program.h"

namespace tenon::tools {
namespace {

std::string JoinLines(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

// The text of a .pte, or of one method of it.
Expected<std::vector<std::string>> TextOf(const std::string& path,
                                          const CommandLine& line,
                                          bool with_traces,
                                          Diagnostics& diags) {
  TENON_ASSIGN(PteProgram program, ReadPte(path, diags));
  const std::string method = line.Get("--method");
  if (!method.empty()) {
    const size_t num_plans = std::erase_if(
        program.plans, [&](const PtePlan& p) { return p.name != method; });
    if (program.plans.empty()) {
      return diags.Error(Rule::kUsage, Place::File(path))
             << "none of its " << num_plans << " methods is '" << method << "'";
    }
  }
  return PrintPte(program, with_traces);
}

std::vector<uint64_t> KeysOf(const std::vector<std::string>& lines) {
  std::vector<uint64_t> keys;
  for (const std::string& line : lines) {
    keys.push_back(HashBytes(line.data(), line.size()).low);
  }
  return keys;
}

}  // namespace

bool IsPte(const std::string& path) {
  std::string error;
  const auto file = MappedFile::Open(path, &error);
  return file != nullptr &&
         RecogniseFile(file->bytes()) == FileKind::kExecuTorch;
}

ExitCode DisPte(const CommandLine& line, Console& console) {
  Diagnostics diags;
  const auto text =
      TextOf(line.arguments()[0], line, !line.Has("--no-metadata"), diags);
  if (!text) return Finish(diags, console);
  const std::string output = line.Get("--output");
  if (output.empty() || output == "-") {
    console.Out(JoinLines(*text));
    return Finish(diags, console);
  }
  const Status written = WriteTextFile(output, JoinLines(*text), diags);
  TENON_ASSERT(written.ok() != diags.has_errors(), "a failure is reported");
  return Finish(diags, console);
}

ExitCode DiffPte(const CommandLine& line, Console& console) {
  Diagnostics diags;
  const auto a = TextOf(line.arguments()[0], line, false, diags);
  const auto b = TextOf(line.arguments()[1], line, false, diags);
  if (!a || !b) return Finish(diags, console);
  std::vector<std::string> changes;
  for (const Edit& edit : DiffSequences(KeysOf(*a), KeysOf(*b))) {
    if (edit.kind == Edit::Kind::kRemove)
      changes.push_back("- " + (*a)[edit.a]);
    if (edit.kind == Edit::Kind::kAdd) changes.push_back("+ " + (*b)[edit.b]);
  }
  if (line.Has("--json")) {
    JsonWriter json;
    json.BeginObject();
    json.Member("same_program", changes.empty());
    json.Key("changes");
    json.BeginArray();
    for (const std::string& change : changes) json.String(change);
    json.EndArray();
    json.EndObject();
    console.Out(json.Take());
  } else {
    console.Out(changes.empty() ? "same program\n" : "different programs\n");
    console.Out(JoinLines(changes));
  }
  const ExitCode code = Finish(diags, console);
  if (code != ExitCode::kFine) return code;
  return changes.empty() ? ExitCode::kFine : ExitCode::kFinding;
}

std::optional<size_t> ReadAndVerifyPte(const std::string& path,
                                       const CommandLine& line,
                                       Diagnostics& diags) {
  PteVerifyOptions options;
  options.lint = line.Has("--lint");
  std::deque<PtdFile> data;
  for (const std::string& file : line.GetAll("--data")) {
    auto read = ReadPtd(file, diags);
    if (!read || !VerifyPtd(*read, diags)) return std::nullopt;
    data.push_back(std::move(*read));
    options.external_data.push_back(&data.back());
  }
  const auto program = ReadPte(path, diags);
  if (!program || !VerifyPte(*program, options, diags)) return std::nullopt;
  size_t num_instructions = 0;
  for (const PtePlan& plan : program->plans) {
    for (const PteChain& chain : plan.chains) {
      num_instructions += chain.instructions.size();
    }
  }
  return num_instructions;
}

}  // namespace tenon::tools
