// Nodes as a user lists them: by operator or by name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/dependencies.h"
#include "ir/program.h"

namespace tenon {

// Calls visit(name) for the names that a node answers to: its own and its
// results'.
template <typename Visit>
void ForEachNameOf(const Program& program, NodeId n, Visit&& visit) {
  const Node& node = program.node(n);
  if (node.name.valid()) visit(program.view(node.name));
  for (uint32_t i = 0; i < node.results.count; ++i) {
    const StringId name = program.value(node.results[i]).name;
    if (name.valid() && name != node.name) visit(program.view(name));
  }
}

// "" for a node without names.
std::string_view FirstNameOf(const Program& program, NodeId n);

// "aten.add.Tensor" is one overload, "aten.add" all of them, "%relu_1" each
// node of that name.
class NodeList {
 public:
  // `items` must outlive the list.
  NodeList(const Program& program, const Dependencies& dependencies,
           std::span<const std::string> items);

  // Whether the list holds the node at `position`, as an operator's call or by
  // name.
  bool Contains(uint32_t position);
  // Names that no node bears, with their '%', in the order of the items.
  const std::vector<std::string_view>& unmatched() const { return unmatched_; }

 private:
  bool ContainsOp(OpId op);

  const Program& program_;
  const Dependencies& dependencies_;
  std::vector<std::string_view> ops_;
  std::vector<int8_t> contains_op_;  // by operator; -1: not asked yet
  std::vector<bool> is_named_;       // by position; empty: no names
  std::vector<std::string_view> unmatched_;
};

}  // namespace tenon
