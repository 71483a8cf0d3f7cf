// tenon strip: a program without its weights.
#include "console.h"
#include "read_program.h"
#include "support/byte_text.h"
#include "support/counted.h"
#include "verbs.h"
#include "verdict.h"
#include "verify/verify.h"
#include "weights/strip_weights.h"
#include "write_program.h"

namespace tenon::tools {
namespace {

constexpr Option kOptions[] = {
    {"--output", 'o', "FILE",
     "The .pt2 to write, or a .tenon for the text form. Required."},
    {"--constants", 0, "",
     "Takes out constants and buffers outside the state dict, too."},
    {"--method", 'm', "NAME",
     "The method to read. Default: 'model', or the only one."},
};

ExitCode Run(const CommandLine& line, Console& console) {
  if (!line.Has("--output")) {
    return FailUsage("option --output is missing: where to write", console);
  }
  Diagnostics diags;
  ReadOptions read;
  read.method = line.Get("--method");
  Expected<LoadedProgram> loaded = ReadProgram(
      line.arguments()[0], std::make_shared<Context>(), read, diags);
  if (!loaded || !Verify(loaded->program, VerifyOptions(), diags)) {
    return Finish(diags, console);
  }
  StripOptions options;
  options.with_constants = line.Has("--constants");
  const auto report = StripWeights(options, &loaded->program, diags);
  if (!report || !WriteProgram(loaded->program, line.Get("--output"),
                               Pt2WriteOptions(), console, diags)) {
    return Finish(diags, console);
  }
  for (const std::string& note : report->notes) {
    console.Err("note: " + note + "\n");
  }
  console.Out(Count(report->num_tensors, "tensor") + ", " +
              ByteText(report->bytes) + " taken out\n");
  return Finish(diags, console);
}

}  // namespace

const Verb kStripVerb = {
    "strip",
    "FILE",
    1,
    1,
    "takes the weights out of a program",
    "Writes the program without the bytes of its state dict. Names, shapes, "
    "dtypes, strides and shared storages stay: the file can be shown, "
    "verified, compared and partitioned, but not run. PyTorch refuses it with "
    "a sentence that says so. 'tenon weights FILE --from' puts weights back "
    "and says whether they are those that were taken out.",
    "tenon strip model.pt2 -o small.pt2\n"
    "tenon weights model.pt2 --to model.safetensors\n"
    "tenon weights small.pt2 --from model.safetensors -o model2.pt2\n",
    kOptions,
    Run};

}  // namespace tenon::tools
