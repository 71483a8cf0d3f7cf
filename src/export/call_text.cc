#include "export/call_text.h"

#include <utility>
#include <vector>

#include "export/expression_text.h"
#include "text/text.h"

namespace tenon {
namespace {

// Types print as "bool True" where a value is fixed; in a signature that is
// "bool = True".
std::string WithDefault(std::string type) {
  for (const char* kind : {"int ", "float ", "bool ", "str "}) {
    if (type.starts_with(kind)) {
      type.replace(std::string_view(kind).size() - 1, 1, " = ");
    }
  }
  return type;
}

// Renders a structure; each leaf is the next text of `leaves`.
class Structure {
 public:
  explicit Structure(std::vector<std::string> leaves)
      : leaves_(std::move(leaves)) {}

  std::string Text(const TreeSpec& spec) {
    if (spec.is_leaf) return NextLeaf();
    const std::vector<std::string> keys = spec.Keys();
    std::string out;
    for (size_t i = 0; i < spec.children.size(); ++i) {
      if (i > 0) out += ", ";
      if (i < keys.size()) out += keys[i] + ": ";
      out += Text(spec.children[i]);
    }
    if (spec.is_tuple()) {
      return "(" + out + (spec.children.size() == 1 ? ",)" : ")");
    }
    if (spec.is_list()) return "[" + out + "]";
    if (spec.is_dict()) return "{" + out + "}";
    return spec.type + "(" + out + ")";
  }

 private:
  std::string NextLeaf() {
    return next_ < leaves_.size() ? leaves_[next_++] : "?";
  }

  std::vector<std::string> leaves_;
  size_t next_ = 0;
};

struct UserInput {
  std::string name, type;
};

std::vector<UserInput> UserInputs(const Program& program) {
  std::vector<UserInput> out;
  const Graph& root = program.root();
  for (size_t i = 0; i < root.inputs.size(); ++i) {
    const bool is_user =
        i >= program.signature.inputs.size() ||
        program.signature.inputs[i].kind == InputKind::kUserInput;
    if (!is_user) continue;
    const Value& v = program.value(root.inputs[i]);
    out.push_back(
        {std::string(program.view(v.name)), PrintType(program, v.type)});
  }
  return out;
}

bool IsUserOutput(const Program& program, size_t i) {
  return i >= program.signature.outputs.size() ||
         program.signature.outputs[i].kind == OutputKind::kUserOutput ||
         program.signature.outputs[i].kind == OutputKind::kLossOutput;
}

std::string FlatCall(const std::vector<UserInput>& inputs) {
  std::string out = "forward(";
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i > 0) out += ", ";
    out += inputs[i].name + ": " + WithDefault(inputs[i].type);
  }
  return out + ")";
}

}  // namespace

std::string CallText(const Program& program) {
  const std::vector<UserInput> inputs = UserInputs(program);
  const bool has_spec = program.in_spec && program.in_spec->is_tuple() &&
                        program.in_spec->children.size() == 2;
  if (!has_spec) return FlatCall(inputs);
  const TreeSpec& args = program.in_spec->children[0];
  const TreeSpec& kwargs = program.in_spec->children[1];
  std::vector<std::string> leaves;
  for (const UserInput& input : inputs) leaves.push_back(input.type);
  Structure structure(std::move(leaves));

  std::string out = "forward(";
  std::string_view separator = "";
  for (size_t i = 0; i < args.children.size(); ++i) {
    // A vararg is one name for many arguments, so names may run out.
    const std::string name = i < program.forward_arg_names.size()
                                 ? program.forward_arg_names[i]
                                 : "args_" + std::to_string(i);
    out += separator;
    out += name + ": " + WithDefault(structure.Text(args.children[i]));
    separator = ", ";
  }
  if (!kwargs.children.empty()) {
    out += separator;
    out += "*";
    separator = ", ";
  }
  const std::vector<std::string> keys = kwargs.Keys();
  for (size_t i = 0; i < kwargs.children.size(); ++i) {
    out += separator;
    out += (i < keys.size() ? keys[i] : std::to_string(i)) + ": " +
           WithDefault(structure.Text(kwargs.children[i]));
  }
  return out + ")";
}

std::string ReturnText(const Program& program) {
  std::vector<std::string> leaves;
  const std::span<const Arg> outputs = program.outputs(Program::kRoot);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!IsUserOutput(program, i)) continue;
    leaves.push_back(
        outputs[i].is_value()
            ? PrintType(program, program.value(outputs[i].value()).type)
            : ExpressionText(program, outputs[i], 0));
  }
  if (!program.out_spec) {
    const std::vector<TreeSpec> flat(leaves.size());
    return Structure(std::move(leaves)).Text(TreeSpec::Tuple(flat));
  }
  return Structure(std::move(leaves)).Text(*program.out_spec);
}

std::vector<std::string> UserOutputPaths(const Program& program) {
  std::vector<std::string> paths;
  if (program.out_spec) {
    CollectLeafPaths(*program.out_spec, "", &paths);
    return paths;
  }
  const std::span<const Arg> outputs = program.outputs(Program::kRoot);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (IsUserOutput(program, i)) paths.push_back(std::to_string(paths.size()));
  }
  return paths;
}

}  // namespace tenon
