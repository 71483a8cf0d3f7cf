#include "partition/node_list.h"

#include <algorithm>
#include <unordered_map>

namespace tenon {

std::string_view FirstNameOf(const Program& program, NodeId n) {
  std::string_view first;
  ForEachNameOf(program, n, [&](std::string_view name) {
    if (first.empty()) first = name;
  });
  return first;
}

NodeList::NodeList(const Program& program, const Dependencies& dependencies,
                   std::span<const std::string> items)
    : program_(program), dependencies_(dependencies) {
  std::unordered_map<std::string_view, bool> names;  // whether a node bears it
  for (const std::string_view item : items) {
    if (item.starts_with('%')) {
      names.try_emplace(item.substr(1), false);
    } else {
      ops_.push_back(item);
    }
  }
  if (names.empty()) return;
  is_named_.resize(dependencies.size(), false);
  for (uint32_t i = 0; i < dependencies.size(); ++i) {
    ForEachNameOf(program, dependencies.nodes()[i], [&](std::string_view name) {
      const auto it = names.find(name);
      if (it == names.end()) return;
      is_named_[i] = it->second = true;
    });
  }
  for (const std::string_view item : items) {
    if (item.starts_with('%') && !names.at(item.substr(1))) {
      unmatched_.push_back(item);
    }
  }
}

bool NodeList::Contains(uint32_t position) {
  if (!is_named_.empty() && is_named_[position]) return true;
  const Node& node = program_.node(dependencies_.nodes()[position]);
  return !ops_.empty() && node.kind == NodeKind::kOp && ContainsOp(node.op);
}

bool NodeList::ContainsOp(OpId op) {
  if (op.index >= contains_op_.size()) contains_op_.resize(op.index + 1, -1);
  int8_t& known = contains_op_[op.index];
  if (known < 0) {
    const std::string_view name = program_.context().op_name(op);
    known = std::any_of(ops_.begin(), ops_.end(), [&](std::string_view item) {
      return name == item ||
             (name.starts_with(item) && name[item.size()] == '.');
    });
  }
  return known > 0;
}

}  // namespace tenon
