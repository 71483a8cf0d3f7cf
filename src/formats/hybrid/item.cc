#include "formats/hybrid/item.h"

#include <bit>

namespace tenon::hybrid {
namespace {

void AppendText(std::string_view text, std::string* out) {
  *out += std::to_string(text.size());
  *out += ':';
  *out += text;
}

void AppendLeaf(const Context& context, const Arg& arg, std::string* out) {
  *out += static_cast<char>('A' + static_cast<int>(arg.kind));
  switch (arg.kind) {
    case ArgKind::kInt:
    case ArgKind::kBool:
    case ArgKind::kDtype:
    case ArgKind::kLayout:
    case ArgKind::kMemoryFormat:
      *out += std::to_string(arg.i);
      break;
    case ArgKind::kFloat:
      *out += std::to_string(std::bit_cast<uint64_t>(arg.f));
      break;
    case ArgKind::kString:
      AppendText(context.view(arg.text), out);
      break;
    case ArgKind::kDevice:
      AppendText(context.view(arg.device.type), out);
      *out += std::to_string(arg.device.index);
      break;
    case ArgKind::kNone:
    case ArgKind::kValue:
    case ArgKind::kComplex:
    case ArgKind::kGraph:
    case ArgKind::kOperator:
    case ArgKind::kObject:
    case ArgKind::kList:
    case ArgKind::kDict:
      break;  // no other literals occur
  }
  *out += ',';
}

}  // namespace

void AppendPattern(const Context& context, const Item& item, std::string* out) {
  static constexpr char kOpen[] = {'\0', '(', '[', '{', '/', '@'};
  if (item.is_leaf()) {
    AppendLeaf(context, item.arg, out);
    return;
  }
  *out += kOpen[static_cast<int>(item.kind)];
  if (item.kind == Item::Kind::kModule) {
    *out += std::to_string(reinterpret_cast<uintptr_t>(item.module));
  }
  for (size_t i = 0; i < item.items.size(); ++i) {
    if (item.kind == Item::Kind::kDict) {
      AppendText(context.view(item.keys[i]), out);
    }
    AppendPattern(context, item.items[i], out);
  }
  *out += ')';
}

TreeSpec SpecOf(const Context& context, const Item& item) {
  if (item.is_leaf()) return TreeSpec::Leaf();
  std::vector<TreeSpec> children;
  for (const Item& part : item.items) {
    children.push_back(SpecOf(context, part));
  }
  if (item.kind == Item::Kind::kTuple) {
    return TreeSpec::Tuple(std::move(children));
  }
  if (item.kind == Item::Kind::kDict) {
    std::vector<std::string> keys;
    for (const StringId key : item.keys) keys.emplace_back(context.view(key));
    return TreeSpec::Dict(keys, std::move(children));
  }
  return TreeSpec::List(std::move(children));
}

}  // namespace tenon::hybrid
