// Replays recorded operator calls with the reference kernels.
//
// A folder holds NAME.json, an array of calls of operator NAME, beside
// NAME.safetensors with the storages that they point into.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "conformance/ops/type_gaps.h"

namespace tenon {

// Calls that are known to differ, with the reason: by operator and number.
using KnownFailures = std::map<std::pair<std::string, int>, std::string>;

// Lines "OPERATOR<tab>NUMBER<tab>REASON"; '#' begins a comment line. False when
// the file can't be read or a line has another form.
bool ReadKnownFailures(const std::string& path, KnownFailures* known);

// What is expected to fall short.
struct OpsLists {
  KnownFailures failures;
  // Without it nothing is asked of how much the type rules say.
  std::optional<TypeGaps> type_gaps;
  // A folder that gets every call as an ONNX model (onnx_calls.h); "": none.
  std::string onnx_folder;
};

// Replays the calls of the folder's operators whose name ("aten.add.Tensor")
// matches the glob `filter` (* and ?; empty = all) and prints a line for each
// call that differs ("NAME case N (SOURCE): WHY"), with `verbose` for every
// call, at the end "N passed, N failed, N skipped". Calls are skipped when the
// operator has no kernel, or when they are known to fail and do; one that is
// known to fail and passes is a failure, so that the list stays true. So is an
// operator whose results are said otherwise than `lists.type_gaps` has it. With
// `list` it only prints the names.
//
// Zero when nothing failed, 1 otherwise, 2 when the folder can't be read.
int RunOps(const std::string& path, const std::string& filter, bool verbose,
           bool list, const OpsLists& lists);

}  // namespace tenon
