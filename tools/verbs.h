// All verbs, and the choice among them.
#pragma once

#include <span>
#include <string>

#include "command_line.h"

namespace tenon::tools {

// One per file of the same name.
extern const Verb kInfoVerb;
extern const Verb kExportOnnxVerb;
extern const Verb kJoinVerb;
extern const Verb kVerifyVerb;
extern const Verb kScanVerb;
extern const Verb kDisVerb;
extern const Verb kAsmVerb;
extern const Verb kDiffVerb;
extern const Verb kProveVerb;
extern const Verb kPartitionVerb;
extern const Verb kExportVerb;
extern const Verb kRunVerb;
extern const Verb kBenchVerb;
extern const Verb kGenVerb;
extern const Verb kRuleVerb;
extern const Verb kWeightsVerb;
extern const Verb kStripVerb;
extern const Verb kSizeVerb;

// In the order of the help.
std::span<const Verb* const> AllVerbs();

// Runs the words of a command line, without the program's name.
ExitCode RunCommand(std::span<const std::string> words, Console& console);

}  // namespace tenon::tools
