// What can be computed once is computed once: nodes whose arguments are
// literals and constant tensors become constants.
//
//   %c : i64[2] = constant "index"            %clone : i64[2] = constant
//   %clone : i64[2] = aten.clone(%c)     ->       "folded_clone"
//   %y = aten.index_select(%x, 1, %clone)     %y = ..index_select(%x, 1,
//   %clone)
//
// Constants are the tensors of the state table that are constants there, and,
// with `weights`, parameters and buffers. What is written anywhere (in place,
// by a call, through the signature, also by another name of the same storage)
// or returned to a caller, who might write it, is no constant, and neither is
// anything that may share storage with such a value.
//
// Folded are operators without effects that give tensors of fixed sizes: no
// random draws, no uninitialised memory, no asserts, nothing unknown. The
// reference interpreter computes them; where its result has not the dtype and
// the sizes that the program states, or where it fails, the node stays. A new
// constant has the type that the value had, the value's label, and an FQN that
// no other entry bears.
//
// A view of a constant stays a view: it costs nothing when run, and as a tensor
// of its own it would cost its bytes and undo sharing (a transposed tied
// weight, an expanded row). It goes when all that reads it was folded. The same
// holds of operators that happened to return their argument (`to`,
// `contiguous`). aten.detach_ is taken for what it is: no write.
//
// Nested graphs of control flow are folded, too; their new constants become
// operands of what holds them. Graphs that run under autocast, the graphs of
// children and of delegates are left as they are. Constants that only folded
// nodes read leave the program.
//
// What is folded together is decided together: values and constants that are
// connected are folded when the new constants take no more bytes than those
// that leave, or when the difference fits what is left of `max_growth_bytes`.
//
// An expression becomes a number, so the wiring digest is another one after it
// (T-3): proofs are made on what this gives.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

struct FoldConstantsOptions {
  // Parameters and buffers that nothing writes count as constants. Other
  // weights put into the program later don't reach what was folded.
  bool weights = false;
  // By how much the program's tensors may grow in all.
  uint64_t max_growth_bytes = uint64_t{64} << 10;
  // A node with a larger result isn't computed.
  uint64_t max_value_bytes = uint64_t{64} << 20;
  // Computing ends when so much was computed: what is computed is held until
  // it is known what will be folded.
  uint64_t max_computed_bytes = uint64_t{1} << 30;
  // Nodes that stay, whatever their operands; none where it isn't set.
  std::function<bool(const Program&, NodeId)> keeps;
};

struct FoldConstantsReport {
  uint32_t num_nodes = 0;  // that are gone
  // FQNs of the new constants.
  std::vector<std::string> constants;
  uint64_t bytes = 0;          // of the new constants
  uint32_t num_removed = 0;    // constants that left
  uint64_t bytes_removed = 0;  // of storages that left with them
  std::vector<std::string> notes;
};

// On failure the program is unchanged. Only for programs that the verifier
// accepts.
Expected<FoldConstantsReport> FoldConstants(Program* program,
                                            const FoldConstantsOptions& options,
                                            Diagnostics& diags);

}  // namespace tenon
