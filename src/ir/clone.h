// Copies of graphs, inside a program and out of it.
#pragma once

#include <vector>

#include "ir/program.h"

namespace tenon {

// Remembers copies by original id, so that several graphs can be copied with
// shared nested graphs.
struct CloneMap {
  std::vector<ValueId> values;  // by original index; invalid = not copied
  std::vector<GraphId> graphs;

  ValueId value(ValueId v) const {
    return v.index < values.size() ? values[v.index] : ValueId();
  }
};

// A new graph of `to` that equals `graph` of `from`, nested graphs, children
// and delegates included. Both programs share one context; they may be the
// same program.
GraphId CloneGraph(const Program& from, GraphId graph, Program* to,
                   CloneMap* map);

// A node's results can't grow in place: a node of its kind, with its delegate
// or child, arguments and labels and with results of `types`, takes its place.
// Uses of its results become uses of the new ones at the same positions; there
// have to be at least as many.
NodeId ReplaceCall(Program* program, GraphId graph, NodeId call,
                   const std::vector<TypeId>& types);

// A program of its own whose root is a copy of `graph`: all inputs are user
// inputs, all outputs user outputs, ranges of the symbols come along, state
// doesn't.
Program ExtractGraph(const Program& program, GraphId graph);

}  // namespace tenon
