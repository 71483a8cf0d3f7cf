// tenon asm: text, or another program, to a .pt2.
#include "console.h"
#include "read_program.h"
#include "verbs.h"
#include "verdict.h"
#include "verify/verify.h"
#include "write_program.h"

namespace tenon::tools {
namespace {

constexpr Option kOptions[] = {
    {"--output", 'o', "FILE", "The .pt2 to write. Required."},
    kTorchOption,
    {"--side-file", 0, "BIN",
     "Where the text's weights and payloads are. Default: FILE.bin beside the "
     "text, where it exists."},
    {"--root", 0, "NAME",
     "The archive's root folder. Default: the output's name without its "
     "ending."},
    {"--no-verify", 0, "", "Writes the program even when rules are broken."},
};

ExitCode Run(const CommandLine& line, Console& console) {
  const std::string output = line.Get("--output");
  if (output.empty()) {
    return FailUsage("option --output is missing: where to write", console);
  }
  Diagnostics diags;
  auto write = Pt2OptionsOf(line, output, diags);
  if (!write) return Finish(diags, console);
  write->root = line.Get("--root");
  ReadOptions read;
  read.limits = line.read_limits();
  read.side_file = line.Get("--side-file");
  const Expected<LoadedProgram> loaded = ReadProgram(
      line.arguments()[0], std::make_shared<Context>(), read, diags);
  if (!loaded) return Finish(diags, console);
  const bool verifies = !line.Has("--no-verify");
  if (verifies && !Verify(loaded->program, VerifyOptions(), diags)) {
    return Finish(diags, console);
  }
  const auto report = WritePt2(loaded->program, output, *write, diags);
  const ExitCode code = Finish(diags, console);
  if (report) ShowNotes(*report, console);
  return code;
}

}  // namespace

const Verb kAsmVerb = {
    "asm",
    "FILE",
    1,
    1,
    "writes a .pt2 from text",
    "Reads the text form (or another .pt2), checks it and writes a .pt2 that "
    "torch.export.load opens. The file appears whole or not at all.",
    "tenon asm model.tenon -o model.pt2\n"
    "tenon dis model.pt2 --inline-limit 1000000 | tenon asm - -o copy.pt2\n"
    "tenon asm model.pt2 -o old.pt2 --torch 2.7\n",
    kOptions,
    Run};

}  // namespace tenon::tools
