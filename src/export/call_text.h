// A program's calling convention as people write it in Python.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace tenon {

// "forward(x: f32[s0, 4], past: (f32[2], f32[2]), *, flag: bool = True)".
std::string CallText(const Program& program);
// "{y: f32[s0], n: SymInt(s0)}".
std::string ReturnText(const Program& program);

// Where each user output comes back: "0", "y.0", "" for a single value. By
// number where the program has no out_spec.
std::vector<std::string> UserOutputPaths(const Program& program);

}  // namespace tenon
