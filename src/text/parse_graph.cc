// Graphs and nodes.
#include <algorithm>
#include <charconv>

#include "ir/call_binding.h"
#include "ir/naming.h"
#include "text/parser.h"

namespace tenon {

bool Parser::Define(const Mention& m, ValueId v) {
  if (!values_.Define(m.label, m.ordinal, v)) {
    return NotFound('%', m,
                    "another name: a value of this graph has it already, and "
                    "the second with one label is written with '#2' behind it");
  }
  if (!context_.view(m.label).empty()) {
    program_.mutable_value(v).name = m.label;
  }
  return true;
}

bool Parser::InputTarget(InputSpec* spec) {
  const auto kind = token_.kind == TokenKind::kWord ? FindInputKind(token_.text)
                                                    : std::nullopt;
  if (!kind) {
    return FailExpecting(
        "user, parameter, buffer, constant, object, token or missing");
  }
  spec->kind = *kind;
  Advance();
  if (token_.kind == TokenKind::kString && !FindState(&spec->state)) {
    return false;
  }
  spec->is_constant_input = Accept("fixed");
  return true;
}

bool Parser::Input() {
  if (token_.kind != TokenKind::kValue) return FailExpecting("an input");
  const Mention name = MentionOf(token_);
  Advance();
  TypeId type;
  if (!Expect(':') || !ParseType(&type)) return false;
  const ValueId v = program_.AddInput(graph_, type, StringId());
  if (!Define(name, v)) return false;
  if (graph_ != Program::kRoot) return true;
  auto& specs = program_.signature.inputs;
  const size_t index = program_.graph(graph_).inputs.size() - 1;
  if (!token_.is('=')) {
    if (specs.size() == index) specs.emplace_back();
    return true;
  }
  const size_t at = token_.begin;
  Advance();
  if (Accept("missing")) return true;
  if (specs.size() != index) {
    return Error(at,
                 "an input in front of this one has no entry; only the "
                 "last ones can be missing");
  }
  return InputTarget(&specs.emplace_back());
}

bool Parser::ParseGraph() {
  if (token_.kind != TokenKind::kAt) return FailExpecting("a graph's name");
  const Mention name = MentionOf(token_);
  graph_ = program_.AddGraph(context_.view(name.label));
  if (!graphs_.Define(name.label, name.ordinal, graph_)) {
    return NotFound('@', name,
                    "another name: a graph has it already, and the "
                    "second one is written with '#2' behind it");
  }
  Advance();
  values_.Clear();
  if (!Expect('(') || !Items(')', [&] { return Input(); })) return false;
  if (Accept("parameters")) {
    if (!Expect('[') || !Items(']', [&] { return DeclareParameter(); })) {
      return false;
    }
  }
  if (Accept("returns_single")) {
    program_.mutable_graph(graph_).returns_single = true;
  }
  if (!Expect('{')) return false;
  while (!token_.is("return")) {
    if (token_.is('}') || token_.kind == TokenKind::kEnd) {
      return FailExpecting("a node or 'return'");
    }
    if (!Node()) return false;
  }
  return Return() && Expect('}') && FinishGraph();
}

// "name" or "name" = default
bool Parser::DeclareParameter() {
  Parameter parameter;
  if (!InternString(&parameter.name)) return false;
  if (Accept('=')) {
    Arg value;
    const size_t at = token_.begin;
    if (!ArgValue(&value)) return false;
    if (!mentions_.empty() || !IsLiteral(program_, value)) {
      return Error(at, "a default is a literal");
    }
    scratch_.push_back(value);
    parameter.value = StoreFrom(0)[0];
  }
  program_.mutable_graph(graph_).parameters.push_back(parameter);
  return true;
}

// Mentions of values that are defined further down, and the tags of lists that
// depend on what those are.
bool Parser::FinishGraph() {
  for (const ValueFixup& f : value_fixups_) {
    const ValueId v = values_.Find(f.value.label, f.value.ordinal);
    if (!v.valid()) {
      return NotFound('%', f.value, "the name of a value of this graph");
    }
    program_.SetValueArg(f.arg, f.user, v);
  }
  value_fixups_.clear();
  for (const ArgId at : untagged_lists_) {
    Arg list = program_.arg(at);
    list.list_tag = DefaultListTag(program_, program_.args(list.list));
    program_.SetArg(at, list);
  }
  untagged_lists_.clear();
  return true;
}

bool Parser::OutputTarget(OutputSpec* spec) {
  const auto kind = token_.kind == TokenKind::kWord
                        ? FindOutputKind(token_.text)
                        : std::nullopt;
  if (!kind) {
    return FailExpecting(
        "user, loss, buffer_mutation, parameter_mutation, "
        "user_input_mutation, gradient_to_parameter, gradient_to_user_input, "
        "token or missing");
  }
  spec->kind = *kind;
  Advance();
  if (token_.kind == TokenKind::kString && !FindState(&spec->state)) {
    return false;
  }
  if (Accept("input")) return Uint32(&spec->input);
  if (token_.kind != TokenKind::kValue) return true;
  const Mention m = MentionOf(token_);
  const auto& inputs = program_.root().inputs;
  // In `extra_output` after other graphs, the root's names are gone.
  ValueId v;
  if (graph_ == Program::kRoot) {
    v = values_.Find(m.label, m.ordinal);
  } else if (!FindInGraph(Program::kRoot, m, &v)) {
    return false;
  }
  if (!v.valid() || !program_.value(v).is_input()) {
    return FailExpecting("an input of the graph");
  }
  TENON_ASSERT(inputs[program_.value(v).index] == v,
               "an input knows its position");
  spec->input = program_.value(v).index;
  Advance();
  return true;
}

bool Parser::Return() {
  Advance();
  node_ = program_.graph(graph_).output;
  if (!Expect('(')) return false;
  auto& specs = program_.signature.outputs;
  size_t position = 0;
  const bool ok = Items(')', [&] {
    if (!Argument(PassKind::kUnstated, position)) return false;
    const size_t index = position++;
    if (graph_ != Program::kRoot) return true;
    const size_t at = token_.begin;
    if (!Accept("as")) {
      if (specs.size() == index) specs.emplace_back();
      return true;
    }
    if (Accept("missing")) return true;
    if (specs.size() != index) {
      return Error(at,
                   "an output in front of this one has no entry; only the "
                   "last ones can be missing");
    }
    return OutputTarget(&specs.emplace_back());
  });
  if (!ok) return false;
  program_.SetOutputs(graph_, StoreFrom(0));
  scratch_.clear();
  mentions_.clear();
  return NodeWords(node_);
}

bool Parser::Result() {
  if (token_.kind != TokenKind::kValue) return FailExpecting("a result");
  PendingResult& r = results_.emplace_back();
  r.name = MentionOf(token_);
  Advance();
  return Expect(':') && ParseType(&results_.back().type);
}

// %a : T, None, [%b : T, %c : T] =
bool Parser::Results() {
  results_.clear();
  form_.clear();
  const auto item = [&] {
    if (Accept("None")) {
      form_.push_back({FormItem::Kind::kNone, 0});
      return true;
    }
    if (!Accept('[')) {
      form_.push_back({FormItem::Kind::kValue, 0});
      return Result();
    }
    const size_t before = results_.size();
    if (!Items(']', [&] { return Result(); })) return false;
    form_.push_back({FormItem::Kind::kList,
                     static_cast<uint32_t>(results_.size() - before)});
    return true;
  };
  if (token_.kind != TokenKind::kValue && !token_.is('[') &&
      !token_.is("None")) {
    return true;
  }
  do {
    if (!item()) return false;
  } while (Accept(','));
  if (token_.is('=')) {
    Advance();
    return true;
  }
  return FailExpecting("',' or '='");
}

bool Parser::DefineResults(NodeId n) {
  const ValueRange range =
      program_.NewResults(n, static_cast<uint32_t>(results_.size()));
  for (uint32_t i = 0; i < range.count; ++i) {
    program_.mutable_value(range[i]).type = results_[i].type;
    if (!Define(results_[i].name, range[i])) return false;
  }
  if (form_.size() != results_.size() ||
      std::any_of(form_.begin(), form_.end(), [](const FormItem& item) {
        return item.kind != FormItem::Kind::kValue;
      })) {
    program_.mutable_node(n).form = context_.InternForm(form_);
  }
  return true;
}

bool Parser::Callee(NodeId n) {
  if (Accept("call")) {
    program_.mutable_node(n).kind = NodeKind::kChildCall;
    if (Accept("None")) return true;
    if (token_.kind != TokenKind::kAt) return FailExpecting("a graph's name");
    graph_fixups_.push_back(
        {GraphFixup::Target::kChild, n.index, MentionOf(token_)});
    Advance();
    return true;
  }
  if (Accept("delegate")) {
    program_.mutable_node(n).kind = NodeKind::kDelegateCall;
    if (Accept("None")) return true;
    return FindDelegate(&program_.mutable_node(n).delegate);
  }
  if (Accept("get_attr")) {
    program_.mutable_node(n).kind = NodeKind::kGetState;
    return Accept("None") || FindState(&program_.mutable_node(n).state);
  }
  if (Accept("output")) {
    program_.mutable_node(n).kind = NodeKind::kOutput;
    return true;
  }
  if (token_.kind != TokenKind::kWord && token_.kind != TokenKind::kString) {
    return FailExpecting("an operator, 'call' or 'delegate'");
  }
  if (token_.kind == TokenKind::kString && token_.text.empty()) {
    Advance();  // no operator
    return true;
  }
  program_.mutable_node(n).op =
      token_.has_escapes ? context_.InternOp(context_.view(InternText(token_)))
                         : context_.InternOp(token_.text);
  Advance();
  return true;
}

bool Parser::ParseForm(NodeId n) {
  if (!Expect('(')) return false;
  Form form;
  if (!Items(')', [&] {
        FormItem& item = form.emplace_back();
        if (Accept("value")) return true;
        if (Accept("None")) {
          item.kind = FormItem::Kind::kNone;
          return true;
        }
        item.kind = FormItem::Kind::kList;
        return Expect("list") && Uint32(&item.list_size);
      })) {
    return false;
  }
  program_.mutable_node(n).form = context_.InternForm(std::move(form));
  return true;
}

bool Parser::RegionWord(NodeId n) {
  const auto number = static_cast<size_t>(program_.regions.size());
  uint32_t index = 0;
  const char* end = token_.text.data() + token_.text.size();
  if (token_.kind != TokenKind::kInteger ||
      std::from_chars(token_.text.data(), end, index).ptr != end ||
      index >= number) {
    return FailExpecting("the number of a region that was defined before");
  }
  program_.mutable_node(n).region = RegionId(index);
  Advance();
  return true;
}

bool Parser::SingleReturnWord(NodeId n) {
  if (!token_.is("True") && !token_.is("False")) {
    return FailExpecting("True or False");
  }
  program_.mutable_node(n).single_return =
      token_.is("True") ? SingleReturn::kTrue : SingleReturn::kFalse;
  Advance();
  return true;
}

bool Parser::MetadataWord(NodeId n) {
  uint64_t number = 0;
  const char* end = token_.text.data() + token_.text.size();
  if (std::from_chars(token_.text.data(), end, number).ec != std::errc()) {
    return FailExpecting("the number of a 'meta' of this text");
  }
  metadata_fixups_.push_back({n, number, token_.begin});
  Advance();
  return true;
}

// What may follow a node: its name, region, metadata, ...
bool Parser::NodeWords(NodeId n) {
  std::optional<bool> states_name;
  StringId name;
  while (token_.kind == TokenKind::kWord || token_.kind == TokenKind::kMeta) {
    if (token_.kind == TokenKind::kMeta) {
      if (!MetadataWord(n)) return false;
    } else if (Accept("region")) {
      if (!RegionWord(n)) return false;
    } else if (token_.is("name") || token_.is("label")) {
      states_name = token_.is("name");
      Advance();
      if (!InternString(&name)) return false;
    } else if (token_.is("named") || token_.is("unnamed")) {
      states_name = token_.is("named");
      Advance();
    } else if (Accept("single_return")) {
      if (!SingleReturnWord(n)) return false;
    } else if (Accept("form")) {
      if (!ParseForm(n)) return false;
    } else {
      break;
    }
  }
  tenon::Node& node = program_.mutable_node(n);
  const bool shares = IsCalledLikeResult(program_, node);
  node.has_name = states_name.value_or(shares && nodes_are_named_);
  node.name = name;
  if (shares && node.has_name && !name.valid()) {
    node.name = program_.value(node.results[0]).name;
  }
  return true;
}

bool Parser::Node() {
  if (!Results()) return false;
  if (program_.num_nodes() >= limits_.max_nodes) {
    return Error(
        token_.begin,
        "another node, " + BeyondLimit(limits_, &ReadLimits::max_nodes));
  }
  node_ = program_.NewOp(OpId(), StringId());
  if (!DefineResults(node_) || !Callee(node_)) return false;
  // A reference to state takes no arguments.
  const bool is_bare = program_.node(node_).kind == NodeKind::kGetState &&
                       !token_.is('(') && !token_.is('?');
  if (!is_bare && !Arguments(node_)) return false;
  if (!NodeWords(node_)) return false;
  program_.Append(graph_, node_);
  return true;
}

}  // namespace tenon
