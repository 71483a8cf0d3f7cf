#include "export/expression_text.h"

#include <charconv>
#include <string_view>

#include "text/text.h"

namespace tenon {
namespace {

constexpr size_t kMaxItems = 8;
constexpr size_t kMaxText = 40;

std::string Items(const Program& program, ArgRange range, int depth) {
  std::string out;
  size_t i = 0;
  for (const Arg& item : program.args(range)) {
    if (i > 0) out += ", ";
    if (i++ == kMaxItems) return out + "...";
    if (!program.view(item.name).empty()) {
      out.append(program.view(item.name)).append(": ");
    }
    out += ExpressionText(program, item, depth);
  }
  return out;
}

std::string Quoted(std::string_view text) {
  const bool is_long = text.size() > kMaxText;
  return "\"" + std::string(text.substr(0, kMaxText)) +
         (is_long ? "...\"" : "\"");
}

std::string Label(const Program& program, ValueId value) {
  const Value& v = program.value(value);
  std::string_view label = program.view(v.name);
  if (label.empty() && v.def.valid()) {
    label = program.view(program.node(v.def).name);
  }
  if (!label.empty()) return "%" + std::string(label);
  if (!v.def.valid()) return "%input" + std::to_string(v.index);
  return "%" + std::to_string(value.index);
}

std::string Callee(const Program& program, NodeId n) {
  const Node& node = program.node(n);
  switch (node.kind) {
    case NodeKind::kOp:
      return std::string(program.op_name(n));
    case NodeKind::kChildCall:
      return "call @" +
             (node.child.valid()
                  ? std::string(program.view(program.graph(node.child).name))
                  : "none");
    case NodeKind::kDelegateCall:
      return "delegate @" +
             (node.delegate.index < program.delegates.size()
                  ? std::string(program.view(
                        program.delegates[node.delegate.index].name))
                  : "none");
    case NodeKind::kGetState:
      return "get_state " +
             (node.state.index < program.state.entries.size()
                  ? std::string(program.view(program.state.get(node.state).fqn))
                  : "none");
    case NodeKind::kOutput:
      return "return";
  }
  return "";
}

}  // namespace

std::string ExpressionText(const Program& program, const Arg& arg, int depth) {
  switch (arg.kind) {
    case ArgKind::kNone:
      return "None";
    case ArgKind::kValue:
      return ExpressionText(program, arg.value(), depth);
    case ArgKind::kInt:
      return std::to_string(arg.i);
    case ArgKind::kBool:
      return arg.i != 0 ? "True" : "False";
    case ArgKind::kFloat: {
      char buffer[32];
      const auto end = std::to_chars(buffer, buffer + sizeof buffer, arg.f).ptr;
      std::string text(buffer, end);
      const bool reads_as_int =
          text.find_first_not_of("-0123456789") == std::string::npos;
      return reads_as_int ? text + ".0" : text;
    }
    case ArgKind::kString:
      return Quoted(program.view(arg.text));
    case ArgKind::kDtype:
      return std::string(Name(arg.dtype()));
    case ArgKind::kLayout:
      return std::string(Name(arg.layout()));
    case ArgKind::kMemoryFormat:
      return std::string(Name(arg.memory_format()));
    case ArgKind::kDevice: {
      std::string out(program.view(arg.device.type));
      if (arg.device.index >= 0) out += ":" + std::to_string(arg.device.index);
      return out;
    }
    case ArgKind::kGraph:
      return "@" + std::string(program.view(program.graph(arg.graph).name));
    case ArgKind::kOperator:
      return std::string(program.context().op_name(arg.op));
    case ArgKind::kObject:
      return std::string(program.view(arg.object.name));
    case ArgKind::kList:
    case ArgKind::kComplex:
      return "[" + Items(program, arg.list, depth) + "]";
    case ArgKind::kDict:
      return "{" + Items(program, arg.list, depth) + "}";
  }
  return "";
}

std::string ExpressionText(const Program& program, ValueId value, int depth) {
  const Value& v = program.value(value);
  if (!v.def.valid()) {
    // An input of the program by what it stands for.
    const auto& inputs = program.root().inputs;
    const bool is_root = v.index < inputs.size() && inputs[v.index] == value;
    if (is_root && v.index < program.signature.inputs.size()) {
      const InputSpec& spec = program.signature.inputs[v.index];
      if (spec.state.valid()) {
        return std::string(Name(spec.kind)) + " " +
               std::string(program.view(program.state.get(spec.state).fqn));
      }
    }
    return Label(program, value);
  }
  if (depth <= 0) return Label(program, value);
  std::string out = ExpressionText(program, v.def, depth);
  if (program.node(v.def).results.count > 1) {
    out += "[" + std::to_string(v.index) + "]";
  }
  return out;
}

std::string ExpressionText(const Program& program, NodeId node, int depth) {
  std::string out = Callee(program, node) + "(";
  bool is_first = true;
  for (const Arg& arg : program.args(node)) {
    if (!is_first) out += ", ";
    is_first = false;
    if (arg.pass == PassKind::kKeyword) {
      out.append(program.view(arg.name)).append("=");
    }
    out += ExpressionText(program, arg, depth - 1);
  }
  return out + ")";
}

// A stack trace is Python's: pairs of `  File "a.py", line 3, in f` and a line
// of code, the innermost call last.
std::string SourceLine(const Program& program, NodeId node) {
  const MetadataId metadata = program.node(node).metadata;
  if (!metadata.valid()) return "";
  for (const auto& [key, text] : program.context().metadata(metadata)) {
    if (program.view(key) != "stack_trace") continue;
    std::string_view trace = program.view(text);
    constexpr std::string_view kFile = "File \"";
    const size_t at = trace.rfind(kFile);
    if (at == std::string_view::npos) return "";
    trace.remove_prefix(at + kFile.size());
    trace = trace.substr(0, trace.find('\n'));
    const size_t quote = trace.find('"');
    if (quote == std::string_view::npos) return "";
    std::string_view rest = trace.substr(quote + 1);
    constexpr std::string_view kLine = ", line ";
    if (!rest.starts_with(kLine)) return "";
    rest.remove_prefix(kLine.size());
    return std::string(trace.substr(0, quote)) + ":" + std::string(rest);
  }
  return "";
}

}  // namespace tenon
