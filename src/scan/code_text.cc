#include "scan/code_text.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>
#include <vector>

#include "ops/schema.h"

namespace tenon {
namespace {

// What PyTorch writes into sizes, and sympy's own constructors. Sorted.
constexpr std::string_view kSizeFunctions[] = {
    "Abs",
    "Add",
    "And",
    "BooleanFalse",
    "BooleanTrue",
    "CeilDiv",
    "CeilToInt",
    "CleanDiv",
    "Dummy",
    "Eq",
    "Equality",
    "FloatPow",
    "FloatTrueDiv",
    "Float",
    "FloorDiv",
    "FloorToInt",
    "Ge",
    "GreaterThan",
    "Gt",
    "Identity",
    "IntTrueDiv",
    "Integer",
    "IsNonOverlappingAndDenseIndicator",
    "LShift",
    "Le",
    "LessThan",
    "Lt",
    "Max",
    "Min",
    "Mod",
    "ModularIndexing",
    "Mul",
    "Ne",
    "Not",
    "Or",
    "Piecewise",
    "Pow",
    "PowByNatural",
    "PythonMod",
    "RShift",
    "Rational",
    "RoundDecimal",
    "RoundToInt",
    "StrictGreaterThan",
    "StrictLessThan",
    "Symbol",
    "ToFloat",
    "TruncToFloat",
    "TruncToInt",
    "Unequality",
    "Where",
    "Xor",
    "ceiling",
    "floor",
    "sign",
    "sqrt",
};
// The f of OpaqueUnaryFn_f is one of math's.
constexpr std::string_view kOpaqueFunction = "OpaqueUnaryFn_";

constexpr std::string_view kGuardFunctions[] = {
    "abs", "bool", "float", "int", "isinstance", "len", "max", "min", "round",
};
constexpr std::string_view kGuardMethods[] = {
    "dim", "item", "numel", "size", "storage_offset", "stride",
};
constexpr std::string_view kMathFunctions[] = {
    "acos", "asin",  "atan",  "ceil",  "cos",      "cosh",  "exp",
    "fabs", "floor", "fmod",  "inf",   "isfinite", "isinf", "isnan",
    "log",  "log2",  "log10", "nan",   "pow",      "sin",   "sinh",
    "sqrt", "tan",   "tanh",  "trunc",
};
constexpr std::string_view kTorchScalars[] = {
    "_sym_sqrt", "sym_float", "sym_int", "sym_ite",
    "sym_max",   "sym_min",   "sym_not", "sym_sum",
};
constexpr std::string_view kOperatorFunctions[] = {
    "abs",   "add", "and_", "eq",     "floordiv", "ge",  "getitem", "gt",
    "index", "le",  "lt",   "lshift", "mod",      "mul", "ne",      "neg",
    "not_",  "or_", "pos",  "pow",    "rshift",   "sub", "truediv", "xor",
};
// Functions that programs call around their operators, below these.
constexpr std::string_view kTorchFunctionModules[] = {
    "torch._C._functorch.",
    "torch._functorch.predispatch.",
};
constexpr std::string_view kTorchFunctions[] = {
    "builtins.abs",
    "builtins.max",
    "builtins.min",
    "builtins.round",
    "torch._C._set_grad_enabled",
    "torch._functorch.vmap.lazy_load_decompositions",
    "torch.amp.autocast_mode._enter_autocast",
    "torch.amp.autocast_mode._exit_autocast",
    "torch.autograd.grad_mode.set_grad_enabled",
};

struct FileAccess {
  std::string_view target;
  std::string_view what;
};
constexpr FileAccess kFileAccesses[] = {
    {"torch.ops.aten.from_file", "opens the file that an argument names"},
    {"torch.ops.aten.save", "writes a file"},
    {"torch.ops.image.read_file", "reads the file that an argument names"},
    {"torch.ops.image.write_file", "writes the file that an argument names"},
    {"torch.ops.torchaudio.sox_io_load_audio_file", "reads a file"},
    {"torch.ops.torchaudio.sox_io_save_audio_file", "writes a file"},
    {"torch.ops.debugprims.load_tensor", "reads the file that it names"},
};

// Python's words that no size and no plain guard has.
constexpr std::string_view kStatementWords[] = {
    "await", "for", "import", "lambda", "yield",
};
constexpr std::string_view kOperatorWords[] = {
    "and", "else", "if", "in", "is", "not", "or",
};

template <size_t N>
bool IsOneOf(const std::string_view (&list)[N], std::string_view text) {
  return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

bool IsNameStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsNamePart(char c) {
  return IsNameStart(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool IsDunder(std::string_view name) {
  return name.starts_with("__") && name.ends_with("__") && name.size() > 4;
}

// --- tokens ---

struct Token {
  enum class Kind : uint8_t { kName, kNumber, kString, kSign };
  Kind kind;
  std::string_view text;  // of strings what stands between the quotes
};

struct Tokens {
  std::vector<Token> list;
  // False when a string has no end, which Python refuses. What follows its
  // first quote are tokens then.
  bool is_complete = true;
};

// Behind the string whose quotes begin at `at`; npos when it has no end.
size_t EndOfString(std::string_view text, size_t at) {
  const char quote = text[at];
  const bool is_long = text.substr(at, 3) == std::string(3, quote);
  const std::string end(is_long ? 3 : 1, quote);
  for (at += end.size(); at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text.substr(at, end.size()) == end) {
      return at + end.size();
    } else if (text[at] == '\n' && !is_long) {
      break;
    }
  }
  return std::string_view::npos;
}

Tokens Tokenise(std::string_view text) {
  Tokens out;
  size_t at = 0;
  const auto take_while = [&](auto&& belongs) {
    const size_t start = at;
    while (at < text.size() && belongs(text[at])) ++at;
    return text.substr(start, at - start);
  };
  while (at < text.size()) {
    const char c = text[at];
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at;
    } else if (c == '#') {
      take_while([](char d) { return d != '\n'; });
    } else if (IsNameStart(c)) {
      out.list.push_back({Token::Kind::kName, take_while(IsNamePart)});
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      out.list.push_back({Token::Kind::kNumber, take_while([](char d) {
                            return IsNamePart(d) || d == '.';
                          })});
    } else if (c == '\'' || c == '"') {
      const size_t end = EndOfString(text, at);
      if (end == std::string_view::npos) {
        out.is_complete = false;
        ++at;
        continue;
      }
      const size_t quotes = text.substr(at, 3) == std::string(3, c) ? 3 : 1;
      out.list.push_back({Token::Kind::kString,
                          text.substr(at + quotes, end - at - 2 * quotes)});
      at = end;
    } else {
      out.list.push_back({Token::Kind::kSign, text.substr(at++, 1)});
    }
  }
  return out;
}

// Walks over the tokens; what the two kinds of text allow is theirs to say.
class Reader {
 public:
  explicit Reader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  CodeFound ReadExpression() {
    for (at_ = 0; at_ < tokens_.size() && !IsCode(); ++at_) {
      const Token& token = tokens_[at_];
      if (token.kind == Token::Kind::kName) ExpressionName(token.text);
      if (token.kind == Token::Kind::kString) ExpressionString(token.text);
      if (IsSign(at_, ".")) Code("reaches for an attribute");
      CheckCallOfResult();
    }
    return found_;
  }

  CodeFound ReadGuard() {
    for (at_ = 0; at_ < tokens_.size() && !IsCode(); ++at_) {
      const Token& token = tokens_[at_];
      if (token.kind == Token::Kind::kName) GuardName(token.text);
      CheckCallOfResult();
    }
    return found_;
  }

 private:
  bool IsCode() const { return found_.level == CodeFound::Level::kCode; }
  void Code(std::string what) {
    found_ = {CodeFound::Level::kCode, std::move(what)};
  }
  void Unknown(std::string what) {
    if (found_.level == CodeFound::Level::kNothing) {
      found_ = {CodeFound::Level::kUnknown, std::move(what)};
    }
  }
  static std::string Quoted(std::string_view text) {
    return "'" + std::string(text.substr(0, 100)) + "'";
  }

  bool IsSign(size_t i, std::string_view sign) const {
    return i < tokens_.size() && tokens_[i].kind == Token::Kind::kSign &&
           tokens_[i].text == sign;
  }
  bool IsCalled() const { return IsSign(at_ + 1, "("); }
  bool IsAttribute() const { return at_ > 0 && IsSign(at_ - 1, "."); }
  // f"..." evaluates what stands in it.
  bool IsFormat(std::string_view name) const {
    return at_ + 1 < tokens_.size() &&
           tokens_[at_ + 1].kind == Token::Kind::kString && name.size() <= 2 &&
           name.find_first_of("fFtT") != std::string_view::npos;
  }

  // Names of either kind of text. True when nothing is left to check.
  bool CheckName(std::string_view name) {
    if (IsOneOf(kStatementWords, name)) {
      Code("has Python's word " + Quoted(name));
    } else if (IsFormat(name)) {
      Code("has a formatted string");
    } else if (IsDunder(name)) {
      Code((IsCalled() ? "calls " : "names ") + Quoted(name));
    } else if (IsOneOf(kOperatorWords, name)) {
      // "not (...)" is no call.
    } else {
      return false;
    }
    return true;
  }

  void CheckCallOfResult() {
    if (!IsSign(at_, "(") || at_ == 0) return;
    const bool is_call = tokens_[at_ - 1].kind == Token::Kind::kString ||
                         IsSign(at_ - 1, ")") || IsSign(at_ - 1, "]") ||
                         IsSign(at_ - 1, "}");
    if (is_call) Code("calls what isn't a name");
  }

  void ExpressionName(std::string_view name) {
    if (CheckName(name) || !IsCalled()) return;
    if (IsOneOf(kSizeFunctions, name)) return;
    if (name.starts_with(kOpaqueFunction) &&
        IsOneOf(kMathFunctions, name.substr(kOpaqueFunction.size()))) {
      return;
    }
    // Python's functions begin small, and so do those of sympy that run code;
    // S is sympy's short form of one.
    if (std::isupper(static_cast<unsigned char>(name[0])) != 0 &&
        name.size() > 1) {
      Unknown("calls " + Quoted(name) + ", which isn't a known function");
    } else {
      Code("calls " + Quoted(name));
    }
  }

  // Only the names of symbols and the digits of numbers are written as text.
  void ExpressionString(std::string_view text) {
    const bool is_first = at_ >= 2 && IsSign(at_ - 1, "(");
    const std::string_view function = is_first ? tokens_[at_ - 2].text : "";
    if (function == "Symbol" || function == "Dummy") return;
    const bool is_number =
        text.find_first_not_of("0123456789.+-eEinfa") == std::string_view::npos;
    if ((function == "Float" || function == "Integer" ||
         function == "Rational") &&
        is_number) {
      return;
    }
    Code("has the text " + Quoted(text) + ", which is evaluated");
  }

  void GuardName(std::string_view name) {
    if (CheckName(name)) return;
    if (IsAttribute()) return GuardAttribute(name);
    if (!IsCalled()) return;
    if (IsOneOf(kGuardFunctions, name) || IsOneOf(kSizeFunctions, name)) {
      return;
    }
    Code("calls " + Quoted(name));
  }

  void GuardAttribute(std::string_view name) {
    if (!IsCalled()) return;
    const std::string_view of = at_ >= 2 ? tokens_[at_ - 2].text : "";
    if (of == "math" && IsOneOf(kMathFunctions, name)) return;
    if (of == "torch" && IsOneOf(kTorchScalars, name)) return;
    if (IsOneOf(kGuardMethods, name)) return;
    Code("calls " + Quoted(name) + ", which isn't a property of an input");
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  CodeFound found_;
};

// --- targets ---

// "torch.ops.aten.add.Tensor": what loaders look up among operators.
bool NamesOperator(std::string_view target) {
  constexpr std::string_view kOps = "torch.ops.";
  if (!target.starts_with(kOps)) return false;
  std::string_view rest = target.substr(kOps.size());
  if (FindSchema(rest) != nullptr) return true;
  size_t parts = 0;
  while (true) {
    const size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    if (!LooksLikeIdentifier(part) || IsDunder(part)) return false;
    ++parts;
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  // higher_order.NAME has no overload.
  return parts >= 2 && parts <= 3;
}

// "#NAMESPACE:NAME": an entry of a registry.
bool NamesExtension(std::string_view target) {
  const size_t colon = target.find(':');
  return target.starts_with("#") && colon != std::string_view::npos &&
         LooksLikeIdentifier(target.substr(1, colon - 1));
}

template <size_t N>
bool IsFunctionOf(std::string_view target, std::string_view module,
                  const std::string_view (&functions)[N]) {
  return target.starts_with(module) &&
         IsOneOf(functions, target.substr(module.size()));
}

bool NamesFunction(std::string_view target) {
  return IsFunctionOf(target, "_operator.", kOperatorFunctions) ||
         IsFunctionOf(target, "math.", kMathFunctions) ||
         IsFunctionOf(target, "torch.", kTorchScalars) ||
         IsOneOf(kTorchFunctions, target) ||
         std::any_of(
             std::begin(kTorchFunctionModules), std::end(kTorchFunctionModules),
             [target](std::string_view module) {
               return target.starts_with(module) &&
                      LooksLikeIdentifier(target.substr(module.size())) &&
                      !IsDunder(target.substr(module.size()));
             });
}

}  // namespace

CodeFound FindCodeInExpression(std::string_view text) {
  return Reader(Tokenise(text).list).ReadExpression();
}

CodeFound FindCodeInGuard(std::string_view text) {
  return Reader(Tokenise(text).list).ReadGuard();
}

CodeFound FindCodeInFixedText(std::string_view text) {
  const std::string guard = "x == '" + std::string(text) + "'";
  Tokens tokens = Tokenise(guard);
  if (!tokens.is_complete) return {};
  return Reader(std::move(tokens.list)).ReadGuard();
}

CodeFound FindCodeInTarget(std::string_view target) {
  if (NamesOperator(target) || NamesExtension(target) ||
      NamesFunction(target)) {
    return {};
  }
  return {CodeFound::Level::kCode,
          "'" + std::string(target.substr(0, 200)) + "' is no operator"};
}

std::string_view FileAccessOf(std::string_view target) {
  for (const FileAccess& access : kFileAccesses) {
    if (target.starts_with(access.target) &&
        (target.size() == access.target.size() ||
         target[access.target.size()] == '.')) {
      return access.what;
    }
  }
  return {};
}

bool LooksLikeIdentifier(std::string_view name) {
  return !name.empty() && IsNameStart(name[0]) &&
         std::all_of(name.begin(), name.end(), IsNamePart);
}

}  // namespace tenon
