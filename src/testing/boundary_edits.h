// Other ways to call children that mean the same: what a join must see through.
//
//   %a, %b = call @c(%x, %y)   ->   %b1, %u, %a, %b2 = call @c(%y, %x)
//
// The wiring digest stays, and so do results. For children whose calls pass
// values by position; others are left alone.
#pragma once

#include <functional>

#include "ir/program.h"
#include "testing/choices.h"

namespace tenon::testing {

// Each child's inputs in another order, with its calls' arguments.
void ShuffleInputs(Program* program, Choices* choices);

// Each child's outputs in another order, some twice, and values of the child
// that nobody uses among them. Uses of a doubled one are shared out.
void ShuffleOutputs(Program* program, Choices* choices);

// Calls for which `may_repeat` holds, which must have no effects, stand there
// twice; uses of their results are shared out.
void RepeatCalls(Program* program, Choices* choices,
                 const std::function<bool(NodeId)>& may_repeat);

// A call's last arguments by keyword, in any order, under names that children
// declare, each the label of another input. The last edit: the others leave
// calls with keywords alone.
void PassByKeyword(Program* program, Choices* choices);

}  // namespace tenon::testing
