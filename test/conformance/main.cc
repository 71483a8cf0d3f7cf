// conformance KIND PATH [--filter GLOB] [--list] [-v] [-j N] [--timeout S]
//
//   pt2     PATH is a manifest of exported programs: what Tenon makes of each
//           is compared with what PyTorch recorded
//   pte     PATH is a manifest of ExecuTorch programs, read, checked, written
//           and read again
//   export-onnx  PATH is a manifest of exported programs, written as ONNX
//   export-pte  PATH is a manifest of exported programs, written as .pte
//   broken  PATH is a manifest of damaged files; --known FILE says what is
//           said of each
//   hybrid  PATH is a folder of hybrid graphs with recorded calls
//   bugs    PATH is a manifest of acceptance cases from bug reports
//   show    PATH is a manifest; --filter NAME --program FILE: FILE's results
//           beside those that PyTorch recorded for NAME
//   ops     PATH is a folder of recorded operator calls
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/bugs/bugs.h"
#include "conformance/hybrid/hybrid.h"
#include "conformance/onnx/export_onnx.h"
#include "conformance/ops/ops.h"
#include "conformance/pt2/broken.h"
#include "conformance/pt2/run.h"
#include "conformance/pt2/side_by_side.h"
#include "conformance/pte/export.h"
#include "conformance/pte/pte.h"
#include "executorch/delegate_regions.h"

namespace tenon::conformance {
namespace {

constexpr char kUsage[] =
    "usage: conformance KIND PATH [options]\n"
    "  pt2 MANIFEST     exported programs against PyTorch's recorded results\n"
    "  pte MANIFEST     ExecuTorch programs: read, checked, written, read "
    "again\n"
    "                   --keep FOLDER leaves what was written there;\n"
    "                   --inline-limit N moves payloads of more bytes out of\n"
    "                   the tables\n"
    "  export-onnx MANIFEST  exported programs and TensorRT's regions of them "
    "as\n"
    "                   ONNX, with calls, into --keep FOLDER\n"
    "  export-pte MANIFEST|N  exported or generated programs as .pte, with "
    "calls, into\n"
    "                   --keep FOLDER; --delegate NAME takes what it can\n"
    "  broken MANIFEST  damaged files, to be refused with an error\n"
    "                   --known FILE tells it: rule, place and message\n"
    "  hybrid FOLDER    hybrid graphs: joined, run, written; or refused\n"
    "  bugs MANIFEST    acceptance cases from public bug reports\n"
    "  show MANIFEST    with --filter NAME --program FILE: FILE's results "
    "beside\n"
    "                   those recorded for NAME\n"
    "  ops FOLDER       recorded operator calls against the kernels\n"
    "                   --known FILE lists calls that are known to differ,\n"
    "                   --keep FOLDER gets each call as an ONNX model,\n"
    "                   --types FILE operators whose results the type rules\n"
    "                   don't say whole\n"
    "options:\n"
    "  --filter GLOB    only entries whose name matches\n"
    "  --list           print the names, check nothing\n"
    "  -v               a line for each entry that passed, too\n"
    "  -j N             N programs at a time (pt2; default: one per "
    "processor)\n"
    "  --timeout S      seconds for one program (pt2; default 300)\n";

struct Command {
  std::string kind, path, program, known, types, keep;
  std::vector<const Backend*> delegates;
  uint64_t inline_limit_bytes = 1 << 20;
  RunOptions options;
};

std::optional<int> ParsePositive(const char* text) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < 1 || value > 1'000'000) {
    return std::nullopt;
  }
  return static_cast<int>(value);
}

std::optional<Command> ParseCommand(int argc, char** argv) {
  Command command;
  std::vector<std::string> places;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool has_next = i + 1 < argc;
    if (word == "-v") {
      command.options.verbose = true;
    } else if (word == "--list") {
      command.options.list = true;
    } else if (word == "--filter" && has_next) {
      command.options.filter = argv[++i];
    } else if (word == "--program" && has_next) {
      command.program = argv[++i];
    } else if (word == "--delegate" && has_next) {
      command.delegates.push_back(executorch::FindDelegateBackend(argv[++i]));
      if (command.delegates.back() == nullptr) return std::nullopt;
    } else if (word == "--keep" && has_next) {
      command.keep = argv[++i];
    } else if (word == "--inline-limit" && has_next) {
      const auto number = ParsePositive(argv[++i]);
      if (!number) return std::nullopt;
      command.inline_limit_bytes = *number;
    } else if (word == "--known" && has_next) {
      command.known = argv[++i];
    } else if (word == "--types" && has_next) {
      command.types = argv[++i];
    } else if ((word == "-j" || word == "--timeout") && has_next) {
      const auto number = ParsePositive(argv[++i]);
      if (!number) return std::nullopt;
      (word == "-j" ? command.options.jobs : command.options.timeout_seconds) =
          *number;
    } else if (word.starts_with("-")) {
      return std::nullopt;
    } else {
      places.emplace_back(word);
    }
  }
  if (places.size() != 2) return std::nullopt;
  command.kind = places[0];
  command.path = places[1];
  return command;
}

std::optional<OpsLists> ReadLists(const Command& command) {
  OpsLists lists;
  const auto complain = [](const std::string& path) {
    std::fprintf(stderr, "%s: can't be read\n", path.c_str());
    return std::nullopt;
  };
  if (!command.known.empty() &&
      !ReadKnownFailures(command.known, &lists.failures)) {
    return complain(command.known);
  }
  if (!command.types.empty() &&
      !ReadTypeGaps(command.types, &lists.type_gaps.emplace())) {
    return complain(command.types);
  }
  return lists;
}

int Main(int argc, char** argv) {
  const auto command = ParseCommand(argc, argv);
  if (command && command->kind == "pt2") {
    return RunPt2(command->path, command->options);
  }
  if (command && command->kind == "pte") {
    return RunPte(command->path, command->keep, command->inline_limit_bytes,
                  command->options);
  }
  if (command && command->kind == "export-onnx" && !command->keep.empty()) {
    return RunExportOnnx(command->path, command->keep, command->options);
  }
  if (command && command->kind == "export-pte" && !command->keep.empty()) {
    // A number stands for so many generated programs.
    const auto count = ParsePositive(command->path.c_str());
    return count ? RunExportRandom(*count, command->keep, command->delegates,
                                   command->options)
                 : RunExportPte(command->path, command->keep,
                                command->delegates, command->options);
  }
  if (command && command->kind == "broken") {
    return RunBroken(command->path, command->known, command->options);
  }
  if (command && command->kind == "hybrid") {
    return RunHybrid(command->path, command->options);
  }
  if (command && command->kind == "bugs") {
    return RunBugs(command->path, command->options);
  }
  if (command && command->kind == "show" && !command->program.empty()) {
    return ShowSideBySide(command->path, command->options.filter,
                          command->program);
  }
  if (command && command->kind == "ops") {
    auto lists = ReadLists(*command);
    if (!lists) return 2;
    lists->onnx_folder = command->keep;
    return RunOps(command->path, command->options.filter,
                  command->options.verbose, command->options.list, *lists);
  }
  std::fputs(kUsage, stderr);
  return 2;
}

}  // namespace
}  // namespace tenon::conformance

int main(int argc, char** argv) { return tenon::conformance::Main(argc, argv); }
