// Makes a failing program smaller.
#pragma once

#include <functional>

#include "ir/program.h"

namespace tenon::testing {

// Drops nodes, one after the other, as long as `fails` stays true: what read a
// dropped node's result reads one of its operands, or an input of the graph, of
// the same type. Graphs that nothing refers to any more are erased.
//
// `fails` must say no of programs that aren't valid. It is asked about once per
// node and pass over the program, so programs should have at most some hundred
// nodes. Ends with a program from which no single node can be dropped.
Program Reduce(const Program& program,
               const std::function<bool(const Program&)>& fails);

}  // namespace tenon::testing
