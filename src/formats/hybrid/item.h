// What a name of a hybrid graph stands for: a value, a literal, or a structure
// of them.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace tenon::hybrid {

struct Module;

struct Item {
  enum class Kind : uint8_t {
    kLeaf,  // `arg`: a value or a literal
    kTuple,
    kList,
    kDict,    // `keys`, one per item
    kSlice,   // start, stop, step
    kModule,  // a graph as an operand
  };

  Kind kind = Kind::kLeaf;
  Arg arg;
  std::vector<Item> items;
  std::vector<StringId> keys;
  Module* module = nullptr;

  Item() = default;
  explicit Item(const Arg& leaf) : arg(leaf) {}
  static Item Value(ValueId v) {
    Arg arg;
    arg.kind = ArgKind::kValue;
    arg.v = {v, UseId()};
    return Item(arg);
  }
  static Item Structure(Kind kind, std::vector<Item> items) {
    Item item;
    item.kind = kind;
    item.items = std::move(items);
    return item;
  }

  bool is_leaf() const { return kind == Kind::kLeaf; }
  bool is_value() const { return is_leaf() && arg.is_value(); }
  bool is_sequence() const {
    return kind == Kind::kTuple || kind == Kind::kList;
  }
};

// Calls visit(Arg&) for each leaf, depth first.
template <typename ItemType, typename Visit>
void ForEachLeaf(ItemType& item, Visit&& visit) {
  if (item.is_leaf()) {
    visit(item.arg);
    return;
  }
  for (auto& part : item.items) ForEachLeaf(part, visit);
}

// The structure and literals as text: equal texts are alike but for which
// values they hold.
void AppendPattern(const Context& context, const Item& item, std::string* out);

// The structure as a pytree; literals and values are leaves.
TreeSpec SpecOf(const Context& context, const Item& item);

}  // namespace tenon::hybrid
