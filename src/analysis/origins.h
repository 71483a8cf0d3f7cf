// What each value of a graph shares its storage with, for certain: views and
// in-place results lead back to what they were made of. (AliasClasses says what
// may share storage.)
#pragma once

#include <vector>

#include "ir/program.h"

namespace tenon {

struct Origin {
  // An input of the graph, a state reference's result, or a value with a
  // storage of its own; never a view.
  ValueId value;
  // The value has the origin's geometry, too: it went through in-place
  // operators and declared writes only.
  bool is_whole = true;
};

class Origins {
 public:
  Origins(const Program& program, GraphId graph);

  // Of a value of the graph; others are their own.
  Origin of(ValueId v) const {
    const uint32_t at = v.index - first_;  // wraps around below first_
    if (at >= origins_.size() || !origins_[at].value.valid()) return {v, true};
    return origins_[at];
  }

 private:
  void Visit(NodeId n);
  void Link(NodeId n, const SchemaReturn& returned, ValueId result);

  const Program& program_;
  // The graph's values lie close together in the program's table.
  uint32_t first_ = 0;
  std::vector<Origin> origins_;  // by value, from first_ on
};

}  // namespace tenon
