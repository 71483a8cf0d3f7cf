// The Argument union, as PyTorch's serializer chooses its tags.
#include <algorithm>

#include "formats/pt2/write_graph.h"

namespace tenon {
namespace {

bool AllOf(std::span<const Arg> items, ArgKind kind) {
  return std::all_of(items.begin(), items.end(),
                     [&](const Arg& a) { return a.kind == kind; });
}

bool AllOf(std::span<const Arg> items, ArgKind kind, ArgKind other) {
  return std::all_of(items.begin(), items.end(), [&](const Arg& a) {
    return a.kind == kind || a.kind == other;
  });
}

// The kind of literal that items of a list may be, kNone for lists of values
// only, and whether values may be among them.
struct ItemRule {
  ArgKind literal;
  bool takes_values;
};

ItemRule RuleOf(ListTag tag) {
  switch (tag) {
    case ListTag::kTensors:
      return {ArgKind::kValue, true};
    case ListTag::kOptionalTensors:
      return {ArgKind::kNone, true};
    case ListTag::kNestedTensors:
    case ListTag::kIntLists:
    case ListTag::kFloatLists:
      return {ArgKind::kList, false};
    case ListTag::kInts:
      return {ArgKind::kInt, false};
    case ListTag::kSymInts:
      return {ArgKind::kInt, true};
    case ListTag::kFloats:
      return {ArgKind::kFloat, false};
    case ListTag::kSymFloats:
      return {ArgKind::kFloat, true};
    case ListTag::kBools:
      return {ArgKind::kBool, false};
    case ListTag::kSymBools:
      return {ArgKind::kBool, true};
    case ListTag::kStrings:
      return {ArgKind::kString, false};
  }
  TENON_UNREACHABLE("every list tag has a rule");
}

bool Fits(std::span<const Arg> items, ListTag tag) {
  const ItemRule rule = RuleOf(tag);
  return rule.takes_values ? AllOf(items, rule.literal, ArgKind::kValue)
                           : AllOf(items, rule.literal);
}

}  // namespace

Status GraphWriter::Argument(const Arg& arg, std::string* out) {
  switch (arg.kind) {
    case ArgKind::kValue:
      Reference(arg.v.value, /*literal_inputs=*/false, out);
      return {};
    case ArgKind::kList:
      return List(arg, out);
    default:
      break;
  }
  JsonObjectOut o(out);
  switch (arg.kind) {
    case ArgKind::kNone:
      o.Bool("as_none", true);
      break;
    case ArgKind::kInt:
      o.Int("as_int", arg.i);
      break;
    case ArgKind::kFloat:
      types_.AppendFloat(arg.f, o.Key("as_float"));
      break;
    case ArgKind::kBool:
      o.Bool("as_bool", arg.i != 0);
      break;
    case ArgKind::kString:
      o.Text("as_string", program_.view(arg.text));
      break;
    case ArgKind::kComplex: {
      const auto parts = program_.args(arg.list);
      JsonObjectOut complex(o.Key("as_complex"));
      types_.AppendFloat(parts[0].f, complex.Key("real"));
      types_.AppendFloat(parts[1].f, complex.Key("imag"));
      complex.Close();
      break;
    }
    case ArgKind::kDtype:
      o.Int("as_scalar_type", Code(arg.dtype()));
      break;
    case ArgKind::kLayout:
      o.Int("as_layout", Code(arg.layout()));
      break;
    case ArgKind::kMemoryFormat:
      o.Int("as_memory_format", Code(arg.memory_format()));
      break;
    case ArgKind::kDevice:
      types_.AppendDevice(arg.device.type, arg.device.index,
                          o.Key("as_device"));
      break;
    case ArgKind::kGraph: {
      JsonObjectOut graph(o.Key("as_graph"));
      graph.Text("name", names_.graph(arg.graph));
      TENON_TRY(Graph(arg.graph, graph.Key("graph")));
      graph.Close();
      break;
    }
    case ArgKind::kOperator:
      o.Text("as_operator", Pt2Target(program_.context().op_name(arg.op)));
      break;
    case ArgKind::kObject:
      Object(program_.view(arg.object.name), arg.object.class_fqn,
             o.Key("as_custom_obj"));
      break;
    case ArgKind::kDict: {
      JsonObjectOut dict(o.Key("as_string_to_argument"));
      for (const Arg& item : program_.args(arg.list)) {
        TENON_TRY(Argument(item, dict.Key(program_.view(item.name))));
      }
      dict.Close();
      break;
    }
    case ArgKind::kValue:
    case ArgKind::kList:
      TENON_UNREACHABLE("values and lists were written above");
  }
  o.Close();
  return {};
}

Expected<ListTag> GraphWriter::ChooseTag(const Arg& list) const {
  const auto items = program_.args(list.list);
  if (Fits(items, list.list_tag)) return list.list_tag;
  // A pass has put values where literals were, or the other way round.
  for (const ListTag tag :
       {ListTag::kTensors, ListTag::kOptionalTensors, ListTag::kInts,
        ListTag::kSymInts, ListTag::kFloats, ListTag::kSymFloats,
        ListTag::kBools, ListTag::kSymBools, ListTag::kStrings}) {
    if (Fits(items, tag)) return tag;
  }
  return Error() << "a list of mixed items can't be written to a .pt2";
}

Status GraphWriter::List(const Arg& list, std::string* out) {
  TENON_ASSIGN(const ListTag tag, ChooseTag(list));
  JsonObjectOut o(out);
  TENON_TRY(ListOf(tag, program_.args(list.list), o.Key(Pt2Tag(tag))));
  o.Close();
  return {};
}

Status GraphWriter::ListOf(ListTag tag, std::span<const Arg> items,
                           std::string* out) {
  JsonArrayOut array(out);
  for (const Arg& item : items) {
    array.Item();
    switch (tag) {
      case ListTag::kTensors:
        Named(item.v.value, out);
        break;
      case ListTag::kOptionalTensors:
        if (item.is_value()) {
          *out += "{\"as_tensor\": ";
          Named(item.v.value, out);
          *out += '}';
        } else {
          *out += "{\"as_none\": true}";
        }
        break;
      case ListTag::kInts:
        AppendJsonInt(item.i, out);
        break;
      case ListTag::kFloats:
        types_.AppendFloat(item.f, out);
        break;
      case ListTag::kBools:
        *out += item.i != 0 ? "true" : "false";
        break;
      case ListTag::kStrings:
        AppendJsonString(program_.view(item.text), out);
        break;
      case ListTag::kSymInts:
      case ListTag::kSymFloats:
      case ListTag::kSymBools:
        SymItem(item, out);
        break;
      case ListTag::kNestedTensors:
      case ListTag::kIntLists:
      case ListTag::kFloatLists: {
        const ListTag inner = tag == ListTag::kNestedTensors ? ListTag::kTensors
                              : tag == ListTag::kIntLists    ? ListTag::kInts
                                                             : ListTag::kFloats;
        const auto inner_items = program_.args(item.list);
        if (!Fits(inner_items, inner)) {
          return Error() << "a nested list of mixed items can't be written to "
                            "a .pt2";
        }
        TENON_TRY(ListOf(inner, inner_items, out));
        break;
      }
    }
  }
  array.Close();
  return {};
}

// {"as_name": ...} or {"as_int": 3}, {"as_float": ...}, {"as_bool": ...}.
void GraphWriter::SymItem(const Arg& item, std::string* out) {
  JsonObjectOut o(out);
  if (item.is_value()) {
    o.Text("as_name", names_.value(item.v.value));
  } else if (item.kind == ArgKind::kInt) {
    o.Int("as_int", item.i);
  } else if (item.kind == ArgKind::kFloat) {
    types_.AppendFloat(item.f, o.Key("as_float"));
  } else {
    o.Bool("as_bool", item.i != 0);
  }
  o.Close();
}

}  // namespace tenon
