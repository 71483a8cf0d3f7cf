#include "runtime/binding.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "support/checked.h"

namespace tenon {
namespace {

std::string Kind(const RuntimeValue& v) {
  if (v.is_none()) return "None";
  if (v.is_tensor()) {
    return v.tensor().defined() ? v.tensor().ToString() : "no tensor";
  }
  if (v.is_bool()) return v.bool_value() ? "True" : "False";
  if (v.is_int()) return "int " + std::to_string(v.int_value());
  if (v.is_float()) return "float " + std::to_string(v.float_value());
  if (v.is_string()) return "str '" + v.string() + "'";
  if (v.is_list()) return "a list";
  return "another kind of value";
}

std::string Kind(const TreeSpec& spec) {
  if (spec.is_leaf) return "a leaf";
  return spec.type + " of " + std::to_string(spec.children.size());
}

// Collects the leaves of what was passed in the order of what is expected.
class Flattener {
 public:
  explicit Flattener(Diagnostics& diags) : diags_(diags) {}

  // `next` counts the leaves of `given` that were passed over.
  void Match(const TreeSpec& expected, const TreeSpec& given,
             const std::vector<RuntimeValue>& leaves, size_t first_leaf,
             const std::string& path) {
    if (expected.is_leaf || given.is_leaf) {
      if (expected.is_leaf != given.is_leaf) {
        Wrong(path) << Kind(given) << ", expected " << Kind(expected);
        return;
      }
      out_.push_back(leaves[first_leaf]);
      return;
    }
    if (expected.type != given.type) {
      Wrong(path) << Kind(given) << ", expected " << Kind(expected);
      return;
    }
    if (expected.has_keys()) {
      MatchKeys(expected, given, leaves, first_leaf, path);
      return;
    }
    if (expected.children.size() != given.children.size() ||
        expected.context != given.context) {
      Wrong(path) << Kind(given) << " (" << given.context << "), expected "
                  << Kind(expected) << " (" << expected.context << ")";
      return;
    }
    for (size_t i = 0; i < expected.children.size(); ++i) {
      Match(expected.children[i], given.children[i], leaves, first_leaf,
            path + "." + std::to_string(i));
      first_leaf += given.children[i].num_leaves();
    }
  }

  DiagnosticBuilder Wrong(const std::string& path) {
    ok_ = false;
    DiagnosticBuilder b = diags_.Error(Rule::kS5, Place::Node(path));
    b << "found ";
    return b;
  }

  bool ok() const { return ok_; }
  std::vector<RuntimeValue> Take() { return std::move(out_); }

 private:
  void MatchKeys(const TreeSpec& expected, const TreeSpec& given,
                 const std::vector<RuntimeValue>& leaves, size_t first_leaf,
                 const std::string& path) {
    const std::vector<std::string> want = expected.KeysJson();
    const std::vector<std::string> have = given.KeysJson();
    std::vector<size_t> starts;
    size_t at = first_leaf;
    for (const TreeSpec& child : given.children) {
      starts.push_back(at);
      at += child.num_leaves();
    }
    for (const std::string& key : have) {
      if (std::find(want.begin(), want.end(), key) == want.end()) {
        Wrong(path) << "key " << key << ", expected only " << expected.context;
      }
    }
    for (size_t i = 0; i < want.size(); ++i) {
      const auto it = std::find(have.begin(), have.end(), want[i]);
      if (it == have.end()) {
        Wrong(path) << "no key " << want[i] << ", expected "
                    << expected.context;
        continue;
      }
      const size_t k = static_cast<size_t>(it - have.begin());
      Match(expected.children[i], given.children[k], leaves, starts[k],
            path + "." + expected.PathPart(i));
    }
  }

  Diagnostics& diags_;
  std::vector<RuntimeValue> out_;
  bool ok_ = true;
};

ExprPool::Bindings Lookup(const SymbolValues& symbols) {
  return [&symbols](ExprId id) -> std::optional<int64_t> {
    const auto it = symbols.find(id.index);
    if (it == symbols.end()) return std::nullopt;
    return it->second;
  };
}

class InputChecker {
 public:
  InputChecker(const Program& program, std::span<const Guard> guards,
               Diagnostics& diags)
      : program_(program),
        guards_(guards),
        context_(program.context()),
        diags_(diags),
        paths_(UserInputPaths(program)) {}

  Expected<SymbolValues> Check(const std::vector<RuntimeValue>& inputs) {
    const std::vector<uint32_t> positions = UserInputPositions(program_);
    if (inputs.size() != positions.size()) {
      return diags_.Error(Rule::kS5)
             << "found " << inputs.size() << " inputs, expected "
             << positions.size();
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const TypeId type =
          program_.value(program_.root().inputs[positions[i]]).type;
      CheckKind(i, program_.type(type), inputs[i]);
    }
    if (!ok_) return Failure{};
    // Plain symbols first, so that derived sizes have what they need.
    for (const bool plain : {true, false}) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        const TypeId type =
            program_.value(program_.root().inputs[positions[i]]).type;
        BindSizes(i, program_.type(type), inputs[i], plain);
      }
    }
    CheckRanges();
    CheckGuards(inputs);
    if (!ok_) return Failure{};
    return std::move(symbols_);
  }

 private:
  DiagnosticBuilder Wrong(size_t i, Rule rule = Rule::kS5) {
    ok_ = false;
    return diags_.Error(rule, Place::Node(paths_[i]));
  }

  void CheckKind(size_t i, const Type& type, const RuntimeValue& v) {
    switch (type.kind) {
      case TypeKind::kTensor:
        CheckTensor(i, type, v);
        return;
      case TypeKind::kSymInt:
        if (!v.is_int()) Wrong(i) << "found " << Kind(v) << ", expected an int";
        return;
      case TypeKind::kSymFloat:
        if (!v.is_float() && !v.is_int()) {
          Wrong(i) << "found " << Kind(v) << ", expected a float";
        }
        return;
      case TypeKind::kSymBool:
        if (!v.is_bool())
          Wrong(i) << "found " << Kind(v) << ", expected a bool";
        return;
      case TypeKind::kNone:
        if (!v.is_none()) Fixed(i, v, "None");
        return;
      case TypeKind::kInt:
        if (!v.is_int() || v.int_value() != type.sym.value) {
          Fixed(i, v, "int " + std::to_string(type.sym.value));
        }
        return;
      case TypeKind::kBool:
        if (!v.is_bool() || v.bool_value() != (type.sym.value != 0)) {
          Fixed(i, v, type.sym.value != 0 ? "True" : "False");
        }
        return;
      case TypeKind::kFloat:
        if (!v.is_float() ||
            !(v.float_value() == type.real ||
              (std::isnan(v.float_value()) && std::isnan(type.real)))) {
          Fixed(i, v, "float " + std::to_string(type.real));
        }
        return;
      case TypeKind::kString:
        if (!v.is_string() || v.string() != program_.view(type.text)) {
          Fixed(i, v, "str '" + std::string(program_.view(type.text)) + "'");
        }
        return;
      case TypeKind::kObject:
        Wrong(i, Rule::kUnsupported) << "an opaque object as an input";
        return;
    }
  }

  void Fixed(size_t i, const RuntimeValue& v, const std::string& expected) {
    Wrong(i, Rule::kS6) << "found " << Kind(v) << ", the program was exported "
                        << "with " << expected;
  }

  std::string Expectation(const Type& type) const {
    std::string out(Name(type.dtype));
    out += "[";
    for (size_t d = 0; d < type.sizes.size(); ++d) {
      if (d > 0) out += ", ";
      out += type.sizes[d].is_literal()
                 ? std::to_string(type.sizes[d].value)
                 : context_.exprs.PrintInfix(type.sizes[d].expr);
    }
    return out + "]";
  }

  void CheckTensor(size_t i, const Type& type, const RuntimeValue& v) {
    if (!v.is_tensor() || !v.tensor().defined()) {
      Wrong(i) << "found " << Kind(v) << ", expected " << Expectation(type);
      return;
    }
    const Tensor& t = v.tensor();
    if (t.dtype() != type.dtype || t.dim() != type.rank()) {
      Wrong(i) << "found " << t.ToString() << ", expected "
               << Expectation(type);
      return;
    }
    if (!t.FitsStorage()) {
      Wrong(i) << "the tensor's view doesn't fit its storage";
      return;
    }
    for (int64_t d = 0; d < t.dim(); ++d) {
      const SymInt& want = type.sizes[static_cast<size_t>(d)];
      if (want.is_literal() && want.value != t.size(d)) {
        Wrong(i) << "found " << t.ToString() << ", expected "
                 << Expectation(type);
        return;
      }
    }
  }

  void BindSizes(size_t i, const Type& type, const RuntimeValue& v,
                 bool plain) {
    if (type.kind == TypeKind::kSymInt) {
      Bind(i, type, type.sym.expr, v.int_value(), plain);
      return;
    }
    if (type.kind != TypeKind::kTensor) return;
    for (size_t d = 0; d < type.sizes.size(); ++d) {
      if (type.sizes[d].is_literal()) continue;
      Bind(i, type, type.sizes[d].expr,
           v.tensor().size(static_cast<int64_t>(d)), plain);
    }
  }

  void Bind(size_t i, const Type& type, ExprId expr, int64_t value,
            bool plain) {
    if (!expr.valid()) return;
    const bool is_symbol = context_.exprs.get(expr).kind == ExprKind::kSymbol;
    if (is_symbol != plain) return;
    if (is_symbol) {
      const auto [it, added] = symbols_.try_emplace(expr.index, value);
      if (added) first_path_[expr.index] = paths_[i];
      if (it->second != value) {
        Wrong(i) << "found size " << value << " for "
                 << context_.exprs.PrintInfix(expr) << ", which is "
                 << it->second << " by " << first_path_[expr.index];
      }
      return;
    }
    const auto want = context_.exprs.EvaluateInt(expr, Lookup(symbols_));
    if (!want) {
      if (!SolveSymbol(context_, expr, value, &symbols_)) {
        Wrong(i) << "found size " << value << ", which no value of the symbols "
                 << "in " << context_.exprs.PrintInfix(expr) << " gives";
      }
      return;
    }
    if (*want != value) {
      Wrong(i) << "found size " << value << ", expected "
               << context_.exprs.PrintInfix(expr) << " = " << *want << " in "
               << (type.is_tensor() ? Expectation(type) : "this scalar");
    }
  }

  void CheckRanges() {
    for (const SymbolRange& range : program_.ranges) {
      if (!range.expr.valid()) continue;
      const auto value =
          context_.exprs.EvaluateInt(range.expr, Lookup(symbols_));
      if (!value) continue;  // unbacked: bound while the program runs
      if ((range.min && *value < *range.min) ||
          (range.max && *value > *range.max)) {
        ok_ = false;
        const auto path = first_path_.find(range.expr.index);
        diags_.Error(Rule::kS5,
                     Place::Node(path == first_path_.end() ? std::string()
                                                           : path->second))
            << "found " << context_.exprs.PrintInfix(range.expr) << " = "
            << *value << ", expected "
            << (range.min ? std::to_string(*range.min) : "-inf") << " to "
            << (range.max ? std::to_string(*range.max) : "inf");
      }
    }
  }

  // relations that stand only in the file's guards.
  void CheckGuards(const std::vector<RuntimeValue>& inputs) {
    const auto resolve = [&](uint32_t leaf, Guard::Property property,
                             uint32_t dim) -> std::optional<int64_t> {
      if (leaf >= inputs.size()) return std::nullopt;
      const RuntimeValue& v = inputs[leaf];
      if (property == Guard::Property::kValue) {
        if (v.is_int()) return v.int_value();
        if (v.is_bool()) return v.bool_value() ? 1 : 0;
        return std::nullopt;
      }
      if (!v.is_tensor()) return std::nullopt;
      const Tensor& t = v.tensor();
      if (property == Guard::Property::kOffset) return t.offset();
      if (dim >= static_cast<uint32_t>(t.dim())) return std::nullopt;
      return property == Guard::Property::kSize
                 ? t.size(dim)
                 : t.strides()[static_cast<size_t>(dim)];
    };
    for (const Guard& guard : guards_) {
      if (guard.Holds(resolve) != false) continue;
      const std::vector<uint32_t> leaves = guard.Leaves();
      ok_ = false;
      diags_.Error(Rule::kS5,
                   Place::Node(leaves.empty() || leaves[0] >= paths_.size()
                                   ? std::string()
                                   : paths_[leaves[0]]))
          << "expected " << guard.text() << ", which doesn't hold";
    }
  }

  const Program& program_;
  std::span<const Guard> guards_;
  const Context& context_;
  Diagnostics& diags_;
  std::vector<std::string> paths_;
  SymbolValues symbols_;
  std::unordered_map<uint32_t, std::string> first_path_;
  bool ok_ = true;
};

}  // namespace

std::vector<uint32_t> UserInputPositions(const Program& program) {
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < program.signature.inputs.size(); ++i) {
    if (program.signature.inputs[i].kind == InputKind::kUserInput) {
      out.push_back(i);
    }
  }
  return out;
}

std::vector<std::string> UserInputPaths(const Program& program) {
  std::vector<std::string> paths;
  if (program.in_spec) paths = CallLeafPaths(*program.in_spec);
  const size_t count = UserInputPositions(program).size();
  for (size_t i = paths.size(); i < count; ++i) {
    paths.push_back("args." + std::to_string(i));
  }
  return paths;
}

Expected<std::vector<RuntimeValue>> FlattenCall(const Program& program,
                                                const CallArguments& arguments,
                                                Diagnostics& diags) {
  TreeSpec expected;
  if (program.in_spec) {
    expected = *program.in_spec;
  } else {
    expected = TreeSpec::Tuple(
        {TreeSpec::Tuple(std::vector<TreeSpec>(
             UserInputPositions(program).size(), TreeSpec::Leaf())),
         TreeSpec::Dict({}, {})});
  }
  if (expected.children.size() != 2) {
    return diags.Error(Rule::kS5) << "the program's in_spec isn't a pair of "
                                  << "positional and keyword arguments";
  }
  Flattener flattener(diags);
  std::vector<TreeSpec> positional, named;
  std::vector<std::string> keys;
  std::vector<RuntimeValue> leaves, named_leaves;
  for (const PyTree& arg : arguments.args) {
    positional.push_back(arg.spec);
    leaves.insert(leaves.end(), arg.leaves.begin(), arg.leaves.end());
  }
  for (const auto& [key, arg] : arguments.kwargs) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) {
      flattener.Wrong("kwargs." + key) << "this argument twice";
      continue;
    }
    keys.push_back(key);
    named.push_back(arg.spec);
    named_leaves.insert(named_leaves.end(), arg.leaves.begin(),
                        arg.leaves.end());
  }
  const TreeSpec given_args = TreeSpec::Tuple(std::move(positional));
  const TreeSpec given_kwargs = TreeSpec::Dict(keys, std::move(named));
  flattener.Match(expected.children[0], given_args, leaves, 0, "args");
  flattener.Match(expected.children[1], given_kwargs, named_leaves, 0,
                  "kwargs");
  if (!flattener.ok()) return Failure{};
  return flattener.Take();
}

bool SolveSymbol(const Context& context, ExprId expr, int64_t value,
                 SymbolValues* symbols) {
  std::vector<ExprId> all;
  context.exprs.CollectSymbols(expr, &all);
  ExprId unknown;
  for (const ExprId s : all) {
    if (symbols->count(s.index) > 0) continue;
    if (unknown.valid()) return false;
    unknown = s;
  }
  if (!unknown.valid()) return false;
  const auto at = [&](int64_t x) {
    SymbolValues trial = *symbols;
    trial[unknown.index] = x;
    return context.exprs.EvaluateInt(expr, Lookup(trial));
  };
  // Linear in the unknown: two points give the line, a third check proves it.
  const auto f0 = at(0), f1 = at(1);
  if (!f0 || !f1 || *f0 == *f1) return false;
  const auto slope = CheckedSub(*f1, *f0);
  const auto rise = CheckedSub(value, *f0);
  if (!slope || !rise || *rise % *slope != 0) return false;
  const int64_t x = *rise / *slope;
  if (at(x) != value) return false;
  (*symbols)[unknown.index] = x;
  return true;
}

Expected<SymbolValues> CheckUserInputs(const Program& program,
                                       const std::vector<RuntimeValue>& inputs,
                                       std::span<const Guard> guards,
                                       Diagnostics& diags) {
  return InputChecker(program, guards, diags).Check(inputs);
}

std::vector<Guard> ParseGuards(const Program& program) {
  std::vector<Guard> out;
  for (const std::string& text : program.file.guards_code) {
    std::string unused;
    auto guard = Guard::Parse(program, text, &unused);
    if (guard && !guard->ExcludesSpecialSizes()) {
      out.push_back(std::move(*guard));
    }
  }
  return out;
}

std::optional<size_t> FindUserInput(const Program& program,
                                    std::span<const std::string> paths,
                                    std::string_view address) {
  std::string path(address);
  const std::string_view head = address.substr(0, address.find('.'));
  const std::string rest(address.substr(head.size()));
  const auto& names = program.forward_arg_names;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] != head) continue;
    const bool is_positional = program.in_spec && !program.in_spec->is_leaf &&
                               !program.in_spec->children.empty() &&
                               i < program.in_spec->children[0].children.size();
    path =
        (is_positional ? "args." + std::to_string(i) : "kwargs." + names[i]) +
        rest;
  }
  for (size_t i = 0; i < paths.size(); ++i) {
    if (paths[i] == address || paths[i] == path) return i;
  }
  size_t number = 0;
  const char* end = address.data() + address.size();
  const auto parsed = std::from_chars(address.data(), end, number);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == end;
  if (is_number && number < paths.size()) return number;
  return std::nullopt;
}

std::optional<RuntimeValue> FixedInput(const Program& program,
                                       const Type& type) {
  switch (type.kind) {
    case TypeKind::kNone:
      return RuntimeValue();
    case TypeKind::kInt:
      return RuntimeValue(type.sym.value);
    case TypeKind::kFloat:
      return RuntimeValue(type.real);
    case TypeKind::kBool:
      return RuntimeValue(type.sym.value != 0);
    case TypeKind::kString:
      return RuntimeValue(std::string(program.view(type.text)));
    case TypeKind::kTensor:
    case TypeKind::kSymInt:
    case TypeKind::kSymFloat:
    case TypeKind::kSymBool:
    case TypeKind::kObject:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace tenon
