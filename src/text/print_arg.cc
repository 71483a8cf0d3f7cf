#include "text/printer.h"
#include "text/spelling.h"

namespace tenon {

void Printer::ValueRef(ValueId v) {
  if (v.index >= program_.num_values()) {
    Put("%#0");  // refers to nothing; doesn't read back
    return;
  }
  uint32_t ordinal = 1;
  if (!value_ordinals_.empty()) {
    ordinal = value_ordinals_[v.index];
    const GraphId home = graph_of_value_[v.index];
    if (!home.valid()) {
      Put("%#0");
      return;
    }
    // A value of another graph, which only a broken program uses.
    if (home != current_) GraphRef(home);
  }
  AppendName('%', View(LabelOf(v)), ordinal, &out_);
}

void Printer::GraphRef(GraphId g) {
  if (g.index >= program_.num_graphs()) {
    Put("@#0");
    return;
  }
  AppendName('@', View(program_.graph(g).name),
             graph_ordinals_.empty() ? 1 : graph_ordinals_[g.index], &out_);
}

void Printer::DelegateRef(DelegateId d) {
  if (d.index >= program_.delegates.size()) {
    Put("@#0");
    return;
  }
  AppendName('@', View(program_.delegates[d.index].name),
             delegate_ordinals_.empty() ? 1 : delegate_ordinals_[d.index],
             &out_);
}

void Printer::StateRef(StateId s) {
  if (s.index >= program_.state.entries.size()) {
    Put("\"\"#0");
    return;
  }
  Quoted(View(program_.state.get(s).fqn));
  if (!state_ordinals_.empty() && state_ordinals_[s.index] != 1) {
    Put("#");
    AppendInt(state_ordinals_[s.index], &out_);
  }
}

void Printer::Arguments(NodeId n) {
  const tenon::Node& node = program_.node(n);
  const std::span<const Arg> args = program_.args(n);
  // The pass kind of all that aren't keywords, when it is the same.
  PassKind usual = PassKind::kPositional;
  if (node.kind == NodeKind::kOutput) {
    usual = PassKind::kUnstated;
  } else if (!args.empty()) {
    PassKind common = PassKind::kKeyword;
    bool is_common = true;
    for (const Arg& a : args) {
      if (a.pass == PassKind::kKeyword) continue;
      if (common == PassKind::kKeyword) common = a.pass;
      is_common = is_common && a.pass == common;
    }
    if (is_common && common != PassKind::kKeyword) usual = common;
    if (usual == PassKind::kUnstated) Put("?");
    if (usual == PassKind::kUnknown) Put("??");
  }
  Put("(");
  for (size_t i = 0; i < args.size(); ++i) {
    if (i > 0) Put(", ");
    Argument(args[i], node.op, i, usual);
  }
  Put(")");
}

void Printer::Argument(const Arg& arg, OpId op, size_t position,
                       PassKind usual) {
  if (arg.pass == PassKind::kKeyword) {
    AppendWord(View(arg.name), &out_);
    Put("=");
    ArgValue(arg);
    return;
  }
  if (arg.pass != usual) {
    switch (arg.pass) {
      case PassKind::kUnstated:
        Put("?");
        break;
      case PassKind::kUnknown:
        Put("??");
        break;
      case PassKind::kPositional:
        Put("!");
        break;
      case PassKind::kKeyword:
        break;
    }
  }
  const StringId expected =
      op.valid() ? parameter_names_.Get(op, position) : StringId();
  if (arg.name != expected && View(arg.name) != View(expected)) {
    AppendWord(View(arg.name), &out_);
    Put(": ");
  }
  ArgValue(arg);
}

void Printer::Items(const Arg& arg) {
  const std::span<const Arg> items = program_.args(arg.list);
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) Put(", ");
    if (arg.kind == ArgKind::kDict) {
      AppendWord(View(items[i].name), &out_);
      Put(": ");
    }
    ArgValue(items[i]);
  }
}

void Printer::ListValue(const Arg& arg) {
  if (arg.list_tag != DefaultListTag(program_, program_.args(arg.list))) {
    Put(Pt2Tag(arg.list_tag));
    Put(" ");
  }
  Put("[");
  Items(arg);
  Put("]");
}

void Printer::ArgValue(const Arg& arg) {
  switch (arg.kind) {
    case ArgKind::kNone:
      Put("None");
      return;
    case ArgKind::kValue:
      ValueRef(arg.v.value);
      return;
    case ArgKind::kInt:
      AppendInt(arg.i, &out_);
      return;
    case ArgKind::kFloat:
      AppendDouble(arg.f, &out_);
      return;
    case ArgKind::kBool:
      Put(arg.i != 0 ? "True" : "False");
      return;
    case ArgKind::kString:
      Quoted(View(arg.text));
      return;
    case ArgKind::kComplex:
      Put("complex(");
      Items(arg);
      Put(")");
      return;
    case ArgKind::kDtype:
      Put(arg.dtype() == DType::kUnknown ? "dtype." : "torch.");
      Put(Name(arg.dtype()));
      return;
    case ArgKind::kLayout:
      Put(arg.layout() == Layout::kUnknown ? "layout." : "torch.");
      Put(Name(arg.layout()));
      return;
    case ArgKind::kMemoryFormat:
      Put(arg.memory_format() == MemoryFormat::kUnknown ? "memory_format."
                                                        : "torch.");
      Put(Name(arg.memory_format()));
      return;
    case ArgKind::kDevice:
      Put("device(");
      Quoted(View(arg.device.type));
      if (arg.device.index != -1) {
        Put(", ");
        AppendInt(arg.device.index, &out_);
      }
      Put(")");
      return;
    case ArgKind::kGraph:
      GraphRef(arg.graph);
      return;
    case ArgKind::kOperator:
      Put("op(");
      AppendWord(context_.op_name(arg.op), &out_);
      Put(")");
      return;
    case ArgKind::kObject:
      Put("object(");
      Quoted(View(arg.object.name));
      Put(", ");
      Quoted(View(arg.object.class_fqn));
      Put(")");
      return;
    case ArgKind::kList:
      ListValue(arg);
      return;
    case ArgKind::kDict:
      Put("{");
      Items(arg);
      Put("}");
      return;
  }
}

}  // namespace tenon
