// Replays recorded operator calls with the reference kernels.
//
// A folder holds NAME.json, an array of calls of operator NAME, beside
// NAME.safetensors with the storages that they point into.
#pragma once

#include <string>

namespace tenon {

// Replays the calls of the folder's operators whose name ("aten.add.Tensor")
// matches the glob `filter` (* and ?; empty = all) and prints a line for each
// call that differs ("NAME case N (SOURCE): WHY"), with `verbose` for every
// call, at the end "N passed, N failed, N skipped". Calls are skipped when the
// operator has no kernel. With `list` it only prints the names.
//
// Zero when nothing failed, 1 otherwise, 2 when the folder can't be read.
int RunOps(const std::string& path, const std::string& filter, bool verbose,
           bool list);

}  // namespace tenon
