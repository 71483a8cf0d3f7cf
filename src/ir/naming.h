// Unique names for formats that refer by name.
#pragma once

#include <string_view>
#include <vector>

#include "ir/program.h"

namespace tenon {

// Names of inputs, results, nodes and nested graphs, unique in their graph
// (nested graphs: in the graph that holds them). Made from the labels: the
// first that bears a label keeps it, later ones get _1, _2, ... after it; what
// has no label is named after its operator. With kPythonIdentifier, labels
// that Python couldn't use as a variable are rewritten first. Deterministic,
// linear (rule J-2).
//
// Holds for the program as it was when the table was made.
class NameTable {
 public:
  enum class Rule { kAnyText, kPythonIdentifier };

  explicit NameTable(const Program& program, Rule rule = Rule::kAnyText);

  std::string_view value(ValueId v) const { return View(values_[v.index]); }
  // A node that returns one bare value is called like that.
  std::string_view node(NodeId n) const { return View(nodes_[n.index]); }
  // The name under which its holder refers to a nested or child graph.
  std::string_view graph(GraphId g) const { return View(graphs_[g.index]); }

 private:
  class Namer;

  std::string_view View(StringId id) const { return program_->view(id); }

  const Program* program_;
  std::vector<StringId> values_, nodes_, graphs_;
};

// A node that returns one bare value: it and the value share their name. Lists
// and tuples of one are other things than their element, and higher-order
// operators return tuples unless they say otherwise.
bool IsCalledLikeResult(const Program& program, const Node& node);

// A legal Python variable name: an identifier that is no keyword.
bool IsPythonIdentifier(std::string_view text);

}  // namespace tenon
