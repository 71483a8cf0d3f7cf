// tenon gen: makes programs for tests and benchmarks.
#include "console.h"
#include "testing/generator.h"
#include "text/text.h"
#include "verbs.h"
#include "verdict.h"
#include "write_program.h"

namespace tenon::tools {
namespace {

constexpr Option kOptions[] = {
    {"--nodes", 'n', "N", "How many nodes the graph has. Default: 100."},
    {"--shape", 0, "chain|diamond|wide|layers|random",
     "How the nodes hang together. Default: chain."},
    {"--seed", 's', "S", "Another seed, another program. Default: 0."},
    {"--output", 'o', "FILE",
     "The .pt2 to write. Default: the text form to standard output."},
    kTorchOption,
};

constexpr uint64_t kMaxNodes = 50'000'000;

ExitCode Run(const CommandLine& line, Console& console) {
  std::string error;
  const auto num_nodes = line.GetCount("--nodes", 100, kMaxNodes, &error);
  const auto seed = line.GetCount("--seed", 0, UINT64_MAX, &error);
  if (!num_nodes || !seed) return FailUsage(error, console);
  testing::GeneratorOptions options;
  options.shape = *testing::FindProgramShape(line.Get("--shape", "chain"));
  options.num_nodes = *num_nodes;
  options.seed = *seed;
  const Program program =
      testing::GenerateProgram(options, std::make_shared<Context>());

  Diagnostics diags;
  const std::string output = line.Get("--output");
  if (output.empty()) {
    PrintOptions print;
    print.inline_limit_bytes = SIZE_MAX;
    console.Out(PrintProgram(program, print));
    return ExitCode::kFine;
  }
  const auto write = Pt2OptionsOf(line, output, diags);
  if (write) (void)WritePt2(program, output, *write, diags);
  return Finish(diags, console);
}

}  // namespace

const Verb kGenVerb = {
    "gen",
    "",
    0,
    0,
    "makes a valid program of any size",
    "Makes a program for tests and benchmarks: real ATen operators with the "
    "types that PyTorch would give them. Same options, same program.\n"
    "  chain    each node uses the one before\n"
    "  diamond  each step forks in two and joins again\n"
    "  wide     many independent nodes, joined pairwise\n"
    "  layers   linear, normalise, activate, add back\n"
    "  random   many operators, state, mutations, branches, symbolic sizes\n",
    "tenon gen --nodes 1000000 --shape layers -o big.pt2\n"
    "tenon gen --shape random --seed 7\n",
    kOptions,
    Run};

}  // namespace tenon::tools
