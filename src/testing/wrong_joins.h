// Deliberately wrong passes: each makes one mistake that exporters are known
// for, and leaves the rest to the right pass. A test of such a case runs both:
// a test that the mistake doesn't fail proves nothing.
//
// A mistake is an edit of the hybrid program, so that joining it afterwards
// gives what a tool with that mistake gives. Programs stay well formed.
#pragma once

#include "ir/program.h"

namespace tenon::testing {

// Binds inputs of children by label: an input takes the value of the parent
// that bears its label; those that find none share out what is left of the
// call's arguments, in order. Breaks J-2.
void BindByName(Program* program);

// Binds keyword arguments in the order in which the call wrote them. Breaks
// J-1.
void BindKeywordsByInsertionOrder(Program* program);

// Keeps one output of a child, the first, and takes it for all of its results.
// Breaks J-4, J-5.
void PruneOutputs(Program* program);

// Takes every buffer that it meets for scratch memory. Breaks L-4.
void LosePersistence(Program* program);

// Sorts the keyword arguments of the in_spec, at every depth, by the order in
// which a caller wrote them: here the reverse of the right one. Leaves stay
// with the graph's inputs in order, so values go astray. Breaks S-2.
void OrderKeywordsAsWritten(Program* program);

// One positional argument per user input, a tuple of all user outputs, whatever
// was known of the structure. Breaks S-1.
void RebuildSpecsFlat(Program* program);

// The convention of a call that nobody has shown: nothing in. Breaks S-2, S-4.
void ForgetInSpec(Program* program);

}  // namespace tenon::testing
