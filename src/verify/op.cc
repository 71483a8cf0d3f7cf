// V-OP: calls of operators against their schemas.
//
// An operator's name has three parts; one that the schema table lacks is
// opaque and passes as it is. Of Python's functions only those that PyTorch
// exports are operators. Arguments bear the names of parameters, each at
// most once; what has no default is there; each kind suits its parameter, as
// PyTorch itself takes it: an int where a float, Scalar or Tensor is meant, one
// int for int[2]. Positional arguments are a gapless prefix of the parameters,
// and keyword-only ones are no part of it. Results are as many, and of the
// kinds, as the schema returns. Functions of scalars get as many operands as
// they take.
#include <algorithm>
#include <string>

#include "verify/verification.h"

namespace tenon {
namespace {

// namespace.name.overload, as torch.ops spells it.
bool IsOperatorName(std::string_view name) {
  size_t parts = 1;
  char last = '.';
  for (const char c : name) {
    if (c == '.' && last == '.') return false;
    if (c == '.') ++parts;
    last = c;
  }
  return parts >= 3 && last != '.';
}

// Python functions that exported programs call: arithmetic of scalars, and
// PyTorch's own switches around it. Any other callable is code that a file
// brings along.
bool IsAllowedFunction(std::string_view name) {
  static constexpr std::string_view kPrefixes[] = {
      "_operator.",      "math.",     "builtins.",         "torch.sym_",
      "torch._sym_",     "torch._C.", "torch._functorch.", "torch.amp.",
      "torch.autocast.", "#"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [name](std::string_view prefix) {
                       return name.substr(0, prefix.size()) == prefix;
                     });
}

struct ScalarArity {
  std::string_view name;
  uint32_t num_operands;
};
constexpr ScalarArity kScalarArities[] = {
    {"_operator.add", 2},      {"_operator.sub", 2}, {"_operator.mul", 2},
    {"_operator.floordiv", 2}, {"_operator.mod", 2}, {"_operator.truediv", 2},
    {"_operator.pow", 2},      {"_operator.eq", 2},  {"_operator.ne", 2},
    {"_operator.lt", 2},       {"_operator.le", 2},  {"_operator.gt", 2},
    {"_operator.ge", 2},       {"_operator.neg", 1}, {"_operator.not_", 1},
    {"math.trunc", 1},         {"math.floor", 1},    {"math.ceil", 1},
    {"torch.sym_float", 1},    {"torch.sym_int", 1}, {"torch.sym_not", 1},
    {"torch.sym_max", 2},      {"torch.sym_min", 2}, {"torch._sym_sqrt", 1},
    {"torch.sym_ite", 3},
};

std::string_view Name(ArgKind kind) {
  switch (kind) {
    case ArgKind::kNone:
      return "none";
    case ArgKind::kValue:
      return "a value";
    case ArgKind::kInt:
      return "an int";
    case ArgKind::kFloat:
      return "a float";
    case ArgKind::kBool:
      return "a bool";
    case ArgKind::kString:
      return "a string";
    case ArgKind::kComplex:
      return "a complex number";
    case ArgKind::kDtype:
      return "a dtype";
    case ArgKind::kLayout:
      return "a layout";
    case ArgKind::kMemoryFormat:
      return "a memory format";
    case ArgKind::kDevice:
      return "a device";
    case ArgKind::kGraph:
      return "a graph";
    case ArgKind::kOperator:
      return "an operator";
    case ArgKind::kObject:
      return "an object";
    case ArgKind::kList:
      return "a list";
    case ArgKind::kDict:
      return "a dict";
  }
  return "";
}

std::string ParameterText(const SchemaArg& a) {
  static constexpr std::string_view kNames[] = {
      "Tensor", "int",    "float",  "bool",          "Scalar",    "str",
      "dtype",  "layout", "device", "memory format", "generator", "object"};
  std::string out(kNames[static_cast<size_t>(a.type)]);
  if (a.is_list) out += "[]";
  if (a.is_optional) out += '?';
  return out;
}

}  // namespace

OpChapter::Family OpChapter::FamilyOf(OpId op) {
  if (op.index >= families_.size()) families_.resize(op.index + 1);
  Family& family = families_[op.index];
  if (family != Family::kNew) return family;
  const OpInfo& info = v_.program.context().op(op);
  const std::string_view name = v_.program.context().op_name(op);
  if (info.is_higher_order) {
    family = Family::kHigherOrder;
  } else if (info.is_python_function) {
    family =
        IsAllowedFunction(name) ? Family::kScalarFunction : Family::kMalformed;
  } else if (info.schema != nullptr || IsOperatorName(name)) {
    family = Family::kPlain;
  } else {
    family = Family::kMalformed;
  }
  return family;
}

bool OpChapter::Check(GraphId g, NodeId n, const BoundArgs* bound,
                      const BindError& error) {
  const Program& p = v_.program;
  switch (FamilyOf(p.node(n).op)) {
    case Family::kPlain:
      if (bound == nullptr) return true;
      CheckArguments(g, n, *bound, error);
      CheckPassing(g, n, *bound);
      return CheckResults(g, n, *bound->schema);
    case Family::kHigherOrder:
      VerifyHigherOrder(v_, g, n);
      return true;
    case Family::kScalarFunction:
      // V-OP-11: as many operands as the function takes.
      for (const ScalarArity& f : kScalarArities) {
        if (f.name == p.op_name(n) && p.node(n).args.count != f.num_operands) {
          v_.Error(Rule::kOp11, g, n)
              << f.name << " gets " << p.node(n).args.count
              << " operands, expected " << f.num_operands;
        }
      }
      return true;
    case Family::kMalformed:
      // V-OP-01: a name that could be an operator's.
      v_.Error(Rule::kOp01, g, n)
          << "'" << p.op_name(n)
          << "' names no operator: expected namespace.name.overload, or a"
             " function of scalars";
      return true;
    case Family::kNew:
      return true;
  }
  return true;
}

void OpChapter::CheckArguments(GraphId g, NodeId n, const BoundArgs& bound,
                               const BindError& error) {
  const Program& p = v_.program;
  if (error.kind != BindError::Kind::kNone) {
    const Arg& a = p.args(n)[error.arg];
    switch (error.kind) {
      case BindError::Kind::kUnknownName:
        // V-OP-02: arguments bear parameters' names.
        v_.Error(Rule::kOp02, g, n)
            << "'" << p.view(a.name) << "' is no parameter of "
            << bound.schema->name;
        break;
      case BindError::Kind::kTwice:
        // V-OP-03: a parameter is bound once.
        v_.Error(Rule::kOp03, g, n)
            << "argument " << error.arg
            << " binds a parameter that is bound already"
            << (p.view(a.name).empty() ? "" : ": ") << p.view(a.name);
        break;
      case BindError::Kind::kTooMany:
        v_.Error(Rule::kOp02, g, n)
            << p.args(n).size() << " arguments, expected at most "
            << bound.schema->args.size();
        break;
      case BindError::Kind::kNone:
        break;
    }
  }
  for (size_t i = 0; i < bound.schema->args.size(); ++i) {
    const SchemaArg& parameter = bound.schema->args[i];
    const Arg* a = bound[i];
    if (a == nullptr) {
      // V-OP-04: what has no default is given.
      if (!parameter.has_default) {
        v_.Error(Rule::kOp04, g, n)
            << "the argument '" << parameter.name << "' of "
            << bound.schema->name << " is missing";
      }
      continue;
    }
    // V-OP-05: the kind suits the parameter.
    if (!Suits(*a, parameter)) {
      v_.Error(Rule::kOp05, g, n)
          << "'" << parameter.name << "' is "
          << (a->is_value() ? v_.TypeText(p.value(a->v.value).type)
                            : std::string(Name(a->kind)))
          << ", expected " << ParameterText(parameter);
    }
  }
}

// V-OP-06: positional arguments are parameters 0, 1, 2, ..., and none of them
// is keyword-only.
void OpChapter::CheckPassing(GraphId g, NodeId n, const BoundArgs& bound) {
  bool has_gap = false;
  for (size_t i = 0; i < bound.schema->args.size(); ++i) {
    const Arg* a = bound[i];
    if (a == nullptr || a->pass != PassKind::kPositional) {
      has_gap = has_gap || a == nullptr || a->pass == PassKind::kKeyword;
      continue;
    }
    const SchemaArg& parameter = bound.schema->args[i];
    if (has_gap || parameter.keyword_only) {
      v_.Error(Rule::kOp06, g, n)
          << "'" << parameter.name << "' is passed by position, but "
          << (parameter.keyword_only ? "it is keyword-only"
                                     : "a parameter before it isn't");
      return;
    }
  }
}

// V-OP-07: as many results as the schema returns; lists by the node's form.
// V-OP-08: each of the kind that is returned.
bool OpChapter::CheckResults(GraphId g, NodeId n, const OpSchema& schema) {
  const Program& p = v_.program;
  const Node& node = p.node(n);
  const auto& returns = schema.returns;
  const auto bad_count = [&](uint64_t found, std::string_view what) {
    v_.Error(Rule::kOp07, g, n) << "the node has " << found << " " << what
                                << ", expected " << returns.size();
    return false;
  };
  const auto check_kind = [&](uint32_t i, const SchemaReturn& r) {
    if (ResultSuits(node.results[i], r.type)) return true;
    v_.Error(Rule::kOp08, g, n)
        << "result " << i << " is "
        << v_.TypeText(p.value(node.results[i]).type) << ", but " << schema.name
        << " returns another kind there";
    return false;
  };
  bool is_fine = true;
  if (!node.form.valid()) {
    if (node.results.count != returns.size()) {
      return bad_count(node.results.count, "results");
    }
    for (uint32_t i = 0; i < node.results.count; ++i) {
      if (returns[i].is_list) {
        v_.Error(Rule::kOp07, g, n)
            << schema.name << " returns a list, but the node states one value";
        return false;
      }
      is_fine = check_kind(i, returns[i]) && is_fine;
    }
    return is_fine;
  }
  const Form& form = p.context().form(node.form);
  const bool is_all_none = std::all_of(
      form.begin(), form.end(),
      [](const FormItem& item) { return item.kind == FormItem::Kind::kNone; });
  if (form.size() != returns.size() && !(returns.empty() && is_all_none)) {
    return bad_count(form.size(), "returns in its form");
  }
  uint64_t at = 0;
  for (size_t r = 0; r < form.size() && r < returns.size(); ++r) {
    const bool is_list = form[r].kind == FormItem::Kind::kList;
    const uint64_t count = is_list ? form[r].list_size
                           : form[r].kind == FormItem::Kind::kValue ? 1
                                                                    : 0;
    if (is_list != returns[r].is_list &&
        form[r].kind != FormItem::Kind::kNone) {
      v_.Error(Rule::kOp07, g, n) << "return " << r << " of " << schema.name
                                  << (is_list ? " is no list" : " is a list");
      return false;
    }
    for (uint64_t i = 0; i < count && at + i < node.results.count; ++i) {
      is_fine =
          check_kind(static_cast<uint32_t>(at + i), returns[r]) && is_fine;
    }
    at += count;
  }
  if (at != node.results.count) {
    v_.Error(Rule::kOp07, g, n) << "the node has " << node.results.count
                                << " results, but its form says " << at;
    return false;
  }
  return is_fine;
}

bool OpChapter::ResultSuits(ValueId result, SchemaType type) const {
  const TypeKind kind = v_.program.type(result).kind;
  if (kind == TypeKind::kNone) return true;  // undefined tensors and the like
  switch (type) {
    case SchemaType::kTensor:
      return kind == TypeKind::kTensor;
    case SchemaType::kInt:
      return kind == TypeKind::kSymInt || kind == TypeKind::kInt;
    case SchemaType::kFloat:
      return kind == TypeKind::kSymFloat || kind == TypeKind::kFloat;
    case SchemaType::kBool:
      return kind == TypeKind::kSymBool || kind == TypeKind::kBool;
    case SchemaType::kScalar:
      return kind != TypeKind::kTensor && kind != TypeKind::kObject &&
             kind != TypeKind::kString;
    case SchemaType::kString:
    case SchemaType::kDtype:
    case SchemaType::kLayout:
    case SchemaType::kDevice:
    case SchemaType::kMemoryFormat:
    case SchemaType::kGenerator:
    case SchemaType::kOther:
      return true;
  }
  return true;
}

bool OpChapter::Suits(const Arg& a, const SchemaArg& parameter) const {
  if (a.kind == ArgKind::kNone) {
    return parameter.is_optional ||
           (parameter.has_default && std::holds_alternative<std::monostate>(
                                         parameter.default_value.value)) ||
           parameter.type == SchemaType::kGenerator ||
           parameter.type == SchemaType::kOther;
  }
  if (!parameter.is_list || parameter.type == SchemaType::kOther) {
    return SuitsElement(a, parameter);
  }
  if (a.kind != ArgKind::kList) {
    // One item may stand for a list of a fixed size.
    return parameter.fixed_size > 0 && SuitsElement(a, parameter);
  }
  const auto items = v_.program.args(a.list);
  return std::all_of(items.begin(), items.end(), [&](const Arg& item) {
    if (item.kind == ArgKind::kNone) return parameter.element_optional;
    return SuitsElement(item, parameter);
  });
}

bool OpChapter::SuitsElement(const Arg& a, const SchemaArg& parameter) const {
  // What a value is, in the terms of literals.
  ArgKind kind = a.kind;
  if (a.is_value()) {
    switch (v_.program.type(a.v.value).kind) {
      case TypeKind::kTensor:
        return parameter.type == SchemaType::kTensor ||
               parameter.type == SchemaType::kScalar ||
               parameter.type == SchemaType::kOther;
      case TypeKind::kSymInt:
      case TypeKind::kInt:
        kind = ArgKind::kInt;
        break;
      case TypeKind::kSymFloat:
      case TypeKind::kFloat:
        kind = ArgKind::kFloat;
        break;
      case TypeKind::kSymBool:
      case TypeKind::kBool:
        kind = ArgKind::kBool;
        break;
      case TypeKind::kString:
        kind = ArgKind::kString;
        break;
      case TypeKind::kObject:
        kind = ArgKind::kObject;
        break;
      case TypeKind::kNone:
        return parameter.is_optional || parameter.element_optional;
    }
  }
  const bool is_int = kind == ArgKind::kInt || kind == ArgKind::kBool;
  const bool is_real = is_int || kind == ArgKind::kFloat;
  switch (parameter.type) {
    case SchemaType::kTensor:
    case SchemaType::kScalar:
      return is_real || kind == ArgKind::kComplex;
    case SchemaType::kInt:
    case SchemaType::kBool:
      return is_int;
    case SchemaType::kFloat:
      return is_real;
    case SchemaType::kString:
      return kind == ArgKind::kString;
    case SchemaType::kDtype:
      return kind == ArgKind::kDtype || kind == ArgKind::kInt;
    case SchemaType::kLayout:
      return kind == ArgKind::kLayout;
    case SchemaType::kDevice:
      return kind == ArgKind::kDevice || kind == ArgKind::kString;
    case SchemaType::kMemoryFormat:
      return kind == ArgKind::kMemoryFormat;
    case SchemaType::kGenerator:
      return kind == ArgKind::kObject;
    case SchemaType::kOther:
      return true;
  }
  return true;
}

}  // namespace tenon
