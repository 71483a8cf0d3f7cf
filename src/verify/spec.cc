// V-SPEC: the calling convention (rules S-1 to S-7).
//
// in_spec is a tuple of the positional arguments, a tuple, and the keyword
// arguments, a dict; its leaves are the user inputs, counted and in order.
// out_spec's leaves are the user outputs. A container with keys has one per
// child, none twice. Parameter names, where a program states them, name each
// argument once and can be Python's.
#include <algorithm>
#include <string>

#include "ir/naming.h"
#include "verify/verification.h"

namespace tenon {
namespace {

// A list of keys that isn't empty, for a container without children.
bool HasKeysWithoutChildren(const TreeSpec& spec) {
  std::string_view keys = spec.context;
  static constexpr std::string_view kMember = "\"dict_context\":";
  if (const size_t at = keys.find(kMember); at != std::string_view::npos) {
    keys.remove_prefix(at + kMember.size());
  }
  const size_t open = keys.find('[');
  if (!spec.children.empty() || open == std::string_view::npos) return false;
  const size_t first = keys.find_first_not_of(" \t\n\r", open + 1);
  return first != std::string_view::npos && keys[first] != ']';
}

void CheckContainer(const Verification& v, const TreeSpec& spec,
                    std::string_view which) {
  // V-SPEC-04: leaves are leaves, and keys are as many as children.
  if (spec.is_leaf) {
    if (!spec.children.empty()) {
      v.Error(Rule::kSpec04) << which << ": a leaf has children";
    }
    return;
  }
  if (spec.has_keys()) {
    std::vector<std::string> keys = spec.KeysJson();
    if (keys.size() != spec.children.size() || HasKeysWithoutChildren(spec)) {
      v.Error(Rule::kSpec04)
          << which << ": a " << spec.type << " of " << spec.children.size()
          << " children has not as many keys: " << spec.context;
    }
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end()) {
      v.Error(Rule::kSpec04)
          << which << ": the key " << *twice << " occurs twice";
    }
  }
  for (const TreeSpec& child : spec.children) CheckContainer(v, child, which);
}

// V-SPEC-01: in_spec is (args, kwargs). V-SPEC-02: its leaves are the user
// inputs.
void CheckInSpec(const Verification& v, const TreeSpec& spec) {
  CheckContainer(v, spec, "in_spec");
  if (!spec.is_tuple() || spec.children.size() != 2 ||
      !spec.children[0].is_tuple() || !spec.children[1].is_dict()) {
    v.Error(Rule::kSpec01)
        << "in_spec is no tuple of a tuple and a dict, but a "
        << (spec.is_leaf ? "leaf" : spec.type);
    return;
  }
  const auto& inputs = v.program.signature.inputs;
  const auto num_user = static_cast<size_t>(std::count_if(
      inputs.begin(), inputs.end(),
      [](const InputSpec& s) { return s.kind == InputKind::kUserInput; }));
  if (spec.num_leaves() != num_user) {
    v.Error(Rule::kSpec02) << "in_spec has " << spec.num_leaves()
                           << " leaves, expected one for each of " << num_user
                           << " user inputs";
  }
}

// V-SPEC-03: out_spec's leaves are the user outputs.
void CheckOutSpec(const Verification& v, const TreeSpec& spec) {
  CheckContainer(v, spec, "out_spec");
  const auto& outputs = v.program.signature.outputs;
  const auto num_user = static_cast<size_t>(
      std::count_if(outputs.begin(), outputs.end(), [](const OutputSpec& s) {
        return s.kind == OutputKind::kUserOutput ||
               s.kind == OutputKind::kLossOutput;
      }));
  if (spec.num_leaves() != num_user) {
    v.Error(Rule::kSpec03) << "out_spec has " << spec.num_leaves()
                           << " leaves, expected one for each of " << num_user
                           << " user outputs";
  }
}

// Python's identifiers may hold letters beyond ASCII; which ones isn't told
// apart here.
bool CanBeParameter(const std::string& name) {
  std::string ascii = name;
  for (char& c : ascii) {
    if (static_cast<unsigned char>(c) >= 0x80) c = 'x';
  }
  return IsPythonIdentifier(ascii);
}

// V-SPEC-05: as many names as arguments, each once, each an identifier.
void CheckArgNames(const Verification& v) {
  const Program& p = v.program;
  if (!p.has_forward_arg_names || p.forward_arg_names.empty()) return;
  std::vector<std::string> names = p.forward_arg_names;
  if (p.in_spec && p.in_spec->children.size() == 2) {
    const size_t expected = p.in_spec->children[0].children.size() +
                            p.in_spec->children[1].children.size();
    if (names.size() != expected) {
      v.Error(Rule::kSpec05) << names.size() << " parameter names, expected "
                             << expected << ", one per argument";
      return;
    }
  }
  for (const std::string& name : names) {
    if (!CanBeParameter(name)) {
      v.Error(Rule::kSpec05) << "'" << name << "' is no parameter name";
    }
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    v.Error(Rule::kSpec05) << "two parameters are called '" << *twice << "'";
  }
}

}  // namespace

void VerifySpecs(const Verification& v) {
  if (v.program.in_spec) CheckInSpec(v, *v.program.in_spec);
  if (v.program.out_spec) CheckOutSpec(v, *v.program.out_spec);
  CheckArgNames(v);
}

}  // namespace tenon
