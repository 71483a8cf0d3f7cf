// tenon dis: a program as text.
#include <map>

#include "console.h"
#include "pte_verbs.h"
#include "read_program.h"
#include "text/text.h"
#include "verbs.h"
#include "verdict.h"
#include "write_program.h"

namespace tenon::tools {
namespace {

constexpr Option kOptions[] = {
    {"--output", 'o', "FILE", "Writes there instead of to standard output."},
    {"--side-file", 0, "BIN",
     "Where large weights and payloads go. Default: FILE.bin beside the "
     "output; with standard output they are named by digest only."},
    {"--inline-limit", 0, "BYTES",
     "Weights and payloads up to this size stand in the text. Default: 64."},
    {"--no-metadata", 0, "", "Leaves out node metadata and stack traces."},
    {"--method", 'm', "NAME",
     "The method to read. Default: 'model', or the only one."},
};

constexpr uint64_t kMaxInlineBytes = uint64_t{1} << 30;

ExitCode Run(const CommandLine& line, Console& console) {
  if (IsPte(line.arguments()[0])) return DisPte(line, console);
  std::string error;
  const auto limit =
      line.GetCount("--inline-limit", 64, kMaxInlineBytes, &error);
  if (!limit) return FailUsage(error, console);
  const std::string output = line.Get("--output");
  const bool has_file = !output.empty() && output != "-";
  const std::string side_file =
      line.Get("--side-file", has_file ? output + ".bin" : "");

  Diagnostics diags;
  ReadOptions read;
  read.limits = line.read_limits();
  read.method = line.Get("--method");
  read.allow_weightless = true;
  const Expected<LoadedProgram> loaded = ReadProgram(
      line.arguments()[0], std::make_shared<Context>(), read, diags);
  if (!loaded) return Finish(diags, console);

  std::map<Digest, Bytes> payloads;
  PrintOptions print;
  print.metadata = !line.Has("--no-metadata");
  print.inline_limit_bytes = *limit;
  print.side_file = [&](const Digest& digest, Bytes bytes) {
    payloads.emplace(digest, bytes);
  };
  const std::string text = PrintProgram(loaded->program, print);
  if (!payloads.empty() && !side_file.empty() &&
      !WriteSideFile(side_file, payloads, diags)) {
    return Finish(diags, console);
  }
  if (!has_file) {
    console.Out(text);
  } else if (!WriteTextFile(output, text, diags)) {
    return Finish(diags, console);
  }
  const ExitCode code = Finish(diags, console);
  if (!payloads.empty() && side_file.empty()) {
    console.Err("note: " + std::to_string(payloads.size()) +
                (payloads.size() == 1 ? " weight or payload is"
                                      : " weights or payloads are") +
                " named by digest only; --side-file keeps the bytes\n");
  }
  return code;
}

}  // namespace

const Verb kDisVerb = {
    "dis",
    "FILE",
    1,
    1,
    "writes a program as text",
    "Writes a program in the text form, which holds all that the file holds "
    "and which 'tenon asm' reads back. Weights and payloads larger than the "
    "inline limit go to a side file. A .pte becomes a listing of its "
    "methods, values, instructions and segments, which nothing reads back.",
    "tenon dis model.pt2 | less\n"
    "tenon dis model.pt2 -o model.tenon\n",
    kOptions,
    Run};

}  // namespace tenon::tools
