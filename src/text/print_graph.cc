#include "ir/naming.h"
#include "text/printer.h"
#include "text/spelling.h"

namespace tenon {
namespace {

// Inputs and outputs of a graph stand on lines of their own when one line
// would be longer than this.
constexpr size_t kLineLimit = 80;

// The words that begin something else where an operator is expected, or may
// follow a node. An operator called so is quoted.
constexpr std::string_view kReserved[] = {
    "None",  "return",  "output", "call", "delegate",      "name", "label",
    "named", "unnamed", "region", "form", "single_return", "hex",  "get_attr"};

bool IsPlainOpName(std::string_view name) {
  if (!IsWord(name)) return false;
  for (const std::string_view word : kReserved) {
    if (name == word) return false;
  }
  return true;
}

// Whether the form's items take up exactly the node's results.
bool Fits(const Form& form, uint32_t num_results) {
  uint64_t n = 0;
  for (const FormItem& item : form) {
    if (item.kind == FormItem::Kind::kValue) ++n;
    if (item.kind == FormItem::Kind::kList) n += item.list_size;
  }
  return n == num_results;
}

}  // namespace

Printer::Printer(const Program& program, const PrintOptions& options)
    : program_(program),
      context_(program.context()),
      options_(options),
      types_(program),
      parameter_names_(&context_),
      nodes_are_named_(NodesAreNamed()) {
  CountLabels();
}

Printer::Printer(const Program& program)
    : program_(program),
      context_(program.context()),
      types_(&program.context()),
      parameter_names_(&context_) {
  options_.metadata = false;
}

StringId Printer::LabelOf(ValueId v) const {
  const Value& value = program_.value(v);
  if (View(value.name).empty() && value.def.valid() &&
      IsCalledLikeResult(program_, program_.node(value.def))) {
    return program_.node(value.def).name;
  }
  return value.name;
}

void Printer::CountLabels() {
  LabelCounter counter;
  const auto number = [&](auto id, StringId label, std::vector<uint32_t>* to) {
    (*to)[id.index] = counter.Next(View(label).empty() ? StringId() : label);
  };
  value_ordinals_.resize(program_.num_values(), 1);
  graph_of_value_.resize(program_.num_values());
  for (uint32_t g = 0; g < program_.num_graphs(); ++g) {
    if (program_.graph(GraphId(g)).is_erased) continue;
    counter.Clear();
    const auto count = [&](ValueId v) {
      number(v, LabelOf(v), &value_ordinals_);
      graph_of_value_[v.index] = GraphId(g);
    };
    for (const ValueId v : program_.graph(GraphId(g)).inputs) count(v);
    for (const NodeId n : program_.nodes(GraphId(g))) {
      const ValueRange results = program_.node(n).results;
      for (uint32_t i = 0; i < results.count; ++i) count(results[i]);
    }
  }
  counter.Clear();
  graph_ordinals_.resize(program_.num_graphs());
  for (uint32_t g = 0; g < program_.num_graphs(); ++g) {
    const Graph& graph = program_.graph(GraphId(g));
    if (!graph.is_erased) number(GraphId(g), graph.name, &graph_ordinals_);
  }
  counter.Clear();
  delegate_ordinals_.resize(program_.delegates.size());
  for (size_t i = 0; i < program_.delegates.size(); ++i) {
    number(DelegateId(i), program_.delegates[i].name, &delegate_ordinals_);
  }
  counter.Clear();
  state_ordinals_.resize(program_.state.entries.size());
  for (size_t i = 0; i < program_.state.entries.size(); ++i) {
    number(StateId(i), program_.state.entries[i].fqn, &state_ordinals_);
  }
}

// Whether most nodes that share their result's name state it as theirs; the
// minority says so.
bool Printer::NodesAreNamed() const {
  size_t named = 0, unnamed = 0;
  for (uint32_t g = 0; g < program_.num_graphs(); ++g) {
    if (program_.graph(GraphId(g)).is_erased) continue;
    for (const NodeId n : program_.nodes(GraphId(g))) {
      const tenon::Node& node = program_.node(n);
      if (IsCalledLikeResult(program_, node)) {
        ++(node.has_name ? named : unnamed);
      }
    }
  }
  return named > unnamed;
}

std::string Printer::InputText(GraphId g, size_t i) {
  const ValueId v = program_.graph(g).inputs[i];
  std::string before = std::move(out_);
  out_.clear();
  Result(v);
  if (g == Program::kRoot) {
    const auto& specs = program_.signature.inputs;
    if (i >= specs.size()) {
      Put(" = missing");
    } else if (specs[i].kind != InputKind::kUserInput ||
               specs[i].state.valid() || specs[i].is_constant_input) {
      Put(" = ");
      Put(Name(specs[i].kind));
      if (specs[i].state.valid()) {
        Put(" ");
        StateRef(specs[i].state);
      }
      if (specs[i].is_constant_input) Put(" fixed");
    }
  }
  std::string text = std::move(out_);
  out_ = std::move(before);
  return text;
}

std::string Printer::OutputTarget(const OutputSpec& spec) {
  std::string before = std::move(out_);
  out_.clear();
  Put(Name(spec.kind));
  if (spec.state.valid()) {
    Put(" ");
    StateRef(spec.state);
  }
  if (spec.input != OutputSpec::kNoInput) {
    const auto& inputs = program_.root().inputs;
    Put(" ");
    if (spec.input < inputs.size()) {
      ValueRef(inputs[spec.input]);
    } else {
      Put("input ");
      AppendInt(spec.input, &out_);
    }
  }
  std::string text = std::move(out_);
  out_ = std::move(before);
  return text;
}

void Printer::PrintGraph(GraphId g) {
  current_ = g;
  const Graph& graph = program_.graph(g);
  const size_t line_begin = out_.size();
  Put("graph ");
  GraphRef(g);
  Put("(");
  std::vector<std::string> inputs;
  size_t width = out_.size() - line_begin + 3;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    inputs.push_back(InputText(g, i));
    width += inputs.back().size() + 2;
  }
  const bool wraps = width > kLineLimit;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i > 0) Put(wraps ? "," : ", ");
    if (wraps) Put("\n    ");
    Put(inputs[i]);
  }
  Put(")");
  if (!graph.parameters.empty()) {
    Put(" parameters [");
    for (size_t i = 0; i < graph.parameters.size(); ++i) {
      if (i > 0) Put(", ");
      Quoted(View(graph.parameters[i].name));
      if (!graph.parameters[i].value.valid()) continue;
      Put(" = ");
      ArgValue(program_.arg(graph.parameters[i].value));
    }
    Put("]");
  }
  if (graph.returns_single) Put(" returns_single");
  Put(" {\n");
  for (NodeId n = graph.first; n != graph.output; n = program_.node(n).next) {
    Put("  ");
    Node(n);
    Put("\n");
  }
  Returns(g);
  Put("}\n");
  if (g != Program::kRoot) return;
  for (size_t i = graph.inputs.size(); i < program_.signature.inputs.size();
       ++i) {
    const InputSpec& spec = program_.signature.inputs[i];
    Put("extra_input ");
    Put(Name(spec.kind));
    if (spec.state.valid()) {
      Put(" ");
      StateRef(spec.state);
    }
    if (spec.is_constant_input) Put(" fixed");
    Put("\n");
  }
  for (size_t i = program_.outputs(g).size();
       i < program_.signature.outputs.size(); ++i) {
    Put("extra_output ");
    Put(OutputTarget(program_.signature.outputs[i]));
    Put("\n");
  }
}

void Printer::Returns(GraphId g) {
  const std::span<const Arg> outputs = program_.outputs(g);
  const auto& specs = program_.signature.outputs;
  std::vector<std::string> items;
  size_t width = sizeof "  return ()";
  std::string before = std::move(out_);
  for (size_t i = 0; i < outputs.size(); ++i) {
    out_.clear();
    Argument(outputs[i], OpId(), i, PassKind::kUnstated);
    if (g == Program::kRoot) {
      if (i >= specs.size()) {
        Put(" as missing");
      } else if (!(specs[i].kind == OutputKind::kUserOutput &&
                   !specs[i].state.valid() &&
                   specs[i].input == OutputSpec::kNoInput)) {
        Put(" as " + OutputTarget(specs[i]));
      }
    }
    width += out_.size() + 2;
    items.push_back(std::move(out_));
  }
  out_ = std::move(before);
  const bool wraps = width > kLineLimit;
  Put("  return (");
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) Put(wraps ? "," : ", ");
    if (wraps) Put("\n      ");
    Put(items[i]);
  }
  Put(")");
  NodeName(program_.graph(g).output);
  Put("\n");
}

void Printer::Result(ValueId v) {
  ValueRef(v);
  Put(" : ");
  Put(types_.Text(program_.value(v).type));
}

bool Printer::Results(NodeId n) {
  const tenon::Node& node = program_.node(n);
  if (!node.form.valid() ||
      !Fits(context_.form(node.form), node.results.count)) {
    for (uint32_t i = 0; i < node.results.count; ++i) {
      if (i > 0) Put(", ");
      Result(node.results[i]);
    }
    if (node.results.count > 0) Put(" = ");
    return !node.form.valid();
  }
  uint32_t next = 0;
  bool is_first = true;
  for (const FormItem& item : context_.form(node.form)) {
    if (!is_first) Put(", ");
    is_first = false;
    switch (item.kind) {
      case FormItem::Kind::kValue:
        Result(node.results[next++]);
        break;
      case FormItem::Kind::kNone:
        Put("None");
        break;
      case FormItem::Kind::kList:
        Put("[");
        for (uint32_t i = 0; i < item.list_size; ++i) {
          if (i > 0) Put(", ");
          Result(node.results[next++]);
        }
        Put("]");
        break;
    }
  }
  Put(" = ");
  return true;
}

void Printer::Callee(NodeId n) {
  const tenon::Node& node = program_.node(n);
  switch (node.kind) {
    case NodeKind::kOp:
      if (!node.op.valid()) {
        Put("\"\"");
      } else if (IsPlainOpName(program_.op_name(n))) {
        Put(program_.op_name(n));
      } else {
        Quoted(program_.op_name(n));
      }
      return;
    case NodeKind::kChildCall:
      Put("call ");
      if (node.child.valid()) {
        GraphRef(node.child);
      } else {
        Put("None");
      }
      return;
    case NodeKind::kDelegateCall:
      Put("delegate ");
      if (node.delegate.valid()) {
        DelegateRef(node.delegate);
      } else {
        Put("None");
      }
      return;
    case NodeKind::kGetState:
      Put("get_attr ");
      if (node.state.valid()) {
        StateRef(node.state);
      } else {
        Put("None");
      }
      return;
    case NodeKind::kOutput:
      Put("output");
      return;
  }
}

void Printer::FormText(FormId form) {
  Put(" form (");
  bool is_first = true;
  for (const FormItem& item : context_.form(form)) {
    if (!is_first) Put(", ");
    is_first = false;
    switch (item.kind) {
      case FormItem::Kind::kValue:
        Put("value");
        break;
      case FormItem::Kind::kNone:
        Put("None");
        break;
      case FormItem::Kind::kList:
        Put("list ");
        AppendInt(item.list_size, &out_);
        break;
    }
  }
  Put(")");
}

void Printer::NodeName(NodeId n) {
  const tenon::Node& node = program_.node(n);
  const bool shares = IsCalledLikeResult(program_, node);
  const std::string_view shown =
      shares ? View(LabelOf(node.results[0])) : std::string_view();
  std::string_view own = View(node.name);
  if (own.empty()) own = shown;
  if (own != shown) {
    Put(node.has_name ? " name " : " label ");
    Quoted(own);
  } else if (node.has_name != (shares && nodes_are_named_)) {
    Put(node.has_name ? " named" : " unnamed");
  }
  if (node.single_return != SingleReturn::kUnstated) {
    Put(node.single_return == SingleReturn::kTrue ? " single_return True"
                                                  : " single_return False");
  }
  if (node.region.valid()) {
    Put(" region ");
    AppendInt(node.region.index, &out_);
  }
  if (!node.metadata.valid() || !options_.metadata) return;
  if (node.metadata.index >= metadata_numbers_.size()) {
    metadata_numbers_.resize(node.metadata.index + size_t{1});
  }
  uint32_t& number = metadata_numbers_[node.metadata.index];
  if (number == 0) {
    used_metadata_.push_back(node.metadata);
    number = static_cast<uint32_t>(used_metadata_.size());
  }
  Put(" #");
  AppendInt(number - 1, &out_);
}

void Printer::Node(NodeId n) {
  const bool form_is_shown = Results(n);
  Callee(n);
  const tenon::Node& node = program_.node(n);
  if (node.kind != NodeKind::kGetState || !node.args.empty()) Arguments(n);
  if (!form_is_shown) FormText(program_.node(n).form);
  NodeName(n);
}

void Printer::PrintNode(NodeId n) {
  if (program_.node(n).kind == NodeKind::kOutput) {
    Put("return ");
    Arguments(n);
    return;
  }
  Node(n);
}

}  // namespace tenon
