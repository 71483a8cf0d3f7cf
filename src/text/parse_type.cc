// Types, sizes and expressions.
#include <charconv>

#include "text/parser.h"

namespace tenon {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

bool Parser::ScanExpression(char close, size_t* begin, size_t* end) {
  const std::string_view text = lexer_.text();
  size_t at = lexer_.position();
  while (at < text.size() && IsSpace(text[at])) ++at;
  *begin = at;
  int depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\'' || c == '"') {
      at = text.find(c, at + 1);
      if (at == std::string_view::npos) break;
    } else if (c == '(') {
      ++depth;
    } else if (depth > 0) {
      if (c == ')') --depth;
    } else if (c == ',' || c == close) {
      break;
    } else if (c == ';' || c == '{' || c == '}') {
      at = text.size();
      break;
    }
  }
  if (at >= text.size()) {
    return Error(*begin,
                 std::string("found no '") + close + "' after this expression");
  }
  lexer_.Seek(at);
  while (at > *begin && IsSpace(text[at - 1])) --at;
  *end = at;
  return true;
}

// Every symbol has to be declared, or written out in full somewhere in the
// expression. Expressions that were found right are remembered.
bool Parser::CheckSymbols(ExprId id, size_t at) {
  if (id.index < known_exprs_.size() && known_exprs_[id.index]) return true;
  const Expr& e = context_.exprs.get(id);
  if (e.kind == ExprKind::kSymbol) {
    const std::string name(context_.view(e.text));
    if (symbols_.find(name) == symbols_.end()) {
      return Error(at, "found '" + name +
                           "', expected a declared symbol: "
                           "'symbol " +
                           name + " (positive=True, integer=True)' further up");
    }
  }
  for (const ExprId arg : e.args) {
    if (!CheckSymbols(arg, at)) return false;
  }
  return true;
}

// Forgets what symbols written out in full have made bare names mean.
void Parser::RestoreSymbols(ExprId id) {
  const Expr& e = context_.exprs.get(id);
  if (e.kind == ExprKind::kSymbol) {
    const std::string name(context_.view(e.text));
    if (const auto it = declared_.find(name); it != declared_.end()) {
      symbols_[name] = it->second;
    } else {
      symbols_.erase(name);
    }
  }
  for (const ExprId arg : e.args) RestoreSymbols(arg);
}

bool Parser::Expression(size_t begin, size_t end, ExprId* out) {
  const std::string_view text = lexer_.text().substr(begin, end - begin);
  if (text.size() > limits_.max_expression_bytes) {
    return Error(
        begin, "an expression of " + std::to_string(text.size()) + " bytes, " +
                   BeyondLimit(limits_, &ReadLimits::max_expression_bytes));
  }
  std::string error;
  size_t at = 0;
  const auto expr = context_.exprs.Parse(text, &symbols_, &error, &at);
  if (!expr) return Error(begin + at, error);
  *out = *expr;
  if (!CheckSymbols(*expr, begin)) return false;
  if (text.find("Symbol") != std::string_view::npos) {
    RestoreSymbols(*expr);
    return true;
  }
  if (expr->index >= known_exprs_.size()) {
    known_exprs_.resize(expr->index + size_t{1});
  }
  known_exprs_[expr->index] = true;
  return true;
}

// EXPR, EXPR hint 4, EXPR no_hint.
bool Parser::SizeFromText(size_t begin, size_t end, SymInt* out) {
  std::string_view text = lexer_.text().substr(begin, end - begin);
  int64_t value = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
  if (r.ec == std::errc() && r.ptr == text.data() + text.size()) {
    *out = SymInt::Literal(value);
    return true;
  }
  constexpr std::string_view kNoHint = " no_hint";
  constexpr std::string_view kHint = " hint ";
  std::optional<int64_t> hint;
  bool states_hint = false;
  if (text.size() > kNoHint.size() &&
      text.substr(text.size() - kNoHint.size()) == kNoHint) {
    states_hint = true;
    end -= kNoHint.size();
  } else if (const size_t at = text.rfind(kHint);
             at != std::string_view::npos) {
    states_hint = true;
    const char* digits = text.data() + at + kHint.size();
    const char* last = text.data() + text.size();
    const auto h = std::from_chars(digits, last, hint.emplace());
    if (h.ec != std::errc() || h.ptr != last) {
      return Error(begin + at + kHint.size(), "expected an integer hint");
    }
    end = begin + at;
  }
  ExprId expr;
  if (!Expression(begin, end, &expr)) return false;
  *out = states_hint ? SymInt::Symbolic(expr, hint) : hints_.WithHint(expr);
  return true;
}

bool Parser::Size(char close, SymInt* out) {
  size_t begin = 0, end = 0;
  return ScanExpression(close, &begin, &end) && SizeFromText(begin, end, out);
}

bool Parser::Dims(std::vector<SymInt>* out) {
  if (!token_.is('[')) return FailExpecting("'['");
  out->clear();
  if (lexer_.Peek() == ']') {
    Advance();
    Advance();
    return true;
  }
  do {
    if (!Size(']', &out->emplace_back())) return false;
    Advance();
  } while (token_.is(','));
  return Expect(']');
}

bool Parser::EnclosedExpression(ExprId* out) {
  if (token_.kind == TokenKind::kWord) {
    if (!Expression(token_.begin, token_.end, out)) return false;
    Advance();
    return true;
  }
  if (!token_.is('(')) return FailExpecting("a symbol or '('");
  if (lexer_.Peek() == ')') {
    *out = ExprId();
    Advance();
    Advance();
    return true;
  }
  size_t begin = 0, end = 0;
  if (!ScanExpression(')', &begin, &end) || !Expression(begin, end, out)) {
    return false;
  }
  Advance();
  return Expect(')');
}

// dtype[sizes] with what may follow. Most types of a program repeat, so the
// part up to the first ']' is looked up by its text.
bool Parser::TensorType(TypeId* out) {
  const size_t begin = token_.begin;
  const std::string_view all = lexer_.text();
  const size_t close = all.find_first_of("]\n", begin);
  std::string_view text;
  if (close != std::string_view::npos && all[close] == ']') {
    text = all.substr(begin, close + 1 - begin);
    if (const auto it = tensor_types_.find(text); it != tensor_types_.end()) {
      *out = it->second;
      lexer_.Seek(close + 1);
      Advance();
      return TensorWords(out);
    }
  }
  Type type;
  type.kind = TypeKind::kTensor;
  type.dtype = *FindDType(token_.text);
  type.device.type = context_.Intern("cpu");
  Advance();
  // The token after ']' is read by Dims; the text may be kept when the first
  // ']' was the one that closed the sizes.
  if (!Dims(&type.sizes)) return false;
  size_t dims_end = token_.begin;
  while (dims_end > begin && all[dims_end - 1] != ']') --dims_end;
  auto strides = ContiguousStrides(&context_, &hints_, type.sizes);
  const bool has_default = strides.has_value();
  if (!has_default && !token_.is("strides")) {
    return Error(begin,
                 "the contiguous strides of these sizes can't be worked "
                 "out, expected 'strides'");
  }
  if (has_default) type.strides = std::move(*strides);
  *out = context_.types.Intern(std::move(type));
  if (has_default && dims_end == close + 1) tensor_types_.emplace(text, *out);
  return TensorWords(out);
}

bool Parser::TensorWords(TypeId* out) {
  if (token_.kind != TokenKind::kWord) return true;
  Type type = context_.types.get(*out);
  bool is_changed = true;
  if (Accept("strides")) {
    if (!Dims(&type.strides)) return false;
  } else {
    is_changed = false;
  }
  while (token_.kind == TokenKind::kWord) {
    if (token_.is("offset")) {
      Advance();
      if (!token_.is('(')) return FailExpecting("'('");
      if (!Size(')', &type.storage_offset)) return false;
      Advance();
      if (!Expect(')')) return false;
    } else if (Accept("device")) {
      StringId name;
      if (!WordOrString(&name)) return false;
      type.device.type = context_.view(name).empty() ? StringId() : name;
      const size_t at = token_.begin;
      int64_t index = -1;
      if (Accept(':') && !Int(&index)) return false;
      if (index < INT32_MIN || index > INT32_MAX) {
        return Error(at, "expected a device index of 32 bits");
      }
      type.device.index = static_cast<int32_t>(index);
    } else if (Accept("layout")) {
      const auto layout = token_.kind == TokenKind::kWord
                              ? FindLayout(token_.text)
                              : std::nullopt;
      if (!layout) return FailExpecting("a layout, like sparse_coo");
      type.layout = *layout;
      Advance();
    } else if (Accept("requires_grad")) {
      type.requires_grad = true;
    } else {
      break;
    }
    is_changed = true;
  }
  if (is_changed) *out = context_.types.Intern(std::move(type));
  return true;
}

// The number or truth value of a SymFloat or SymBool.
bool Parser::ScalarValue(Type* type) {
  if (type->kind == TypeKind::kSymFloat) return Double(&type->real);
  if (!token_.is("True") && !token_.is("False")) {
    return FailExpecting("True or False");
  }
  type->sym.value = token_.is("True") ? 1 : 0;
  Advance();
  return true;
}

// SymInt(EXPR), SymFloat(EXPR hint 2.5), SymBool(EXPR), SymBool(literal True).
bool Parser::ScalarType(Type* type) {
  Advance();
  if (!token_.is('(')) return FailExpecting("'('");
  if (type->kind == TypeKind::kSymInt) {
    if (!Size(')', &type->sym)) return false;
    Advance();
    return Expect(')');
  }
  size_t begin = 0, end = 0;
  if (!ScanExpression(')', &begin, &end)) return false;
  const std::string_view text = lexer_.text().substr(begin, end - begin);
  constexpr std::string_view kHint = "hint ";
  constexpr std::string_view kLiteral = "literal ";
  size_t value = std::string_view::npos;  // where the value's word begins
  if (text.substr(0, kLiteral.size()) == kLiteral ||
      text.substr(0, kHint.size()) == kHint) {
    value = 0;
  } else if (const size_t at = text.rfind(" hint ");
             at != std::string_view::npos) {
    value = at + 1;
  }
  const bool has_value = value != std::string_view::npos;
  const size_t expression_end = has_value ? begin + value : end;
  if (expression_end > begin &&
      !Expression(begin, expression_end, &type->sym.expr)) {
    return false;
  }
  if (!has_value && !type->sym.expr.valid()) {
    return Error(begin, "found no expression, expected one or 'literal'");
  }
  if (has_value) lexer_.Seek(begin + value);
  Advance();
  if (has_value) {
    type->sym.has_hint = token_.is("hint");
    Advance();
    if (!ScalarValue(type)) return false;
  }
  return Expect(')');
}

bool Parser::LiteralType(Type* type) {
  switch (type->kind) {
    case TypeKind::kInt:
      return Int(&type->sym.value);
    case TypeKind::kFloat:
      return Double(&type->real);
    case TypeKind::kBool:
      if (!token_.is("True") && !token_.is("False")) {
        return FailExpecting("True or False");
      }
      type->sym.value = token_.is("True") ? 1 : 0;
      Advance();
      return true;
    case TypeKind::kString:
    case TypeKind::kObject:
      return InternString(&type->text);
    case TypeKind::kNone:
      return true;
    case TypeKind::kTensor:
    case TypeKind::kSymInt:
    case TypeKind::kSymFloat:
    case TypeKind::kSymBool:
      break;
  }
  TENON_UNREACHABLE("only literals and objects come here");
}

bool Parser::ParseType(TypeId* out) {
  if (Accept('?')) {
    *out = TypeId();
    return true;
  }
  if (token_.kind == TokenKind::kWord) {
    // bool[2] is a tensor, bool True a literal.
    const size_t next = token_.end;
    if (next < lexer_.text().size() && lexer_.text()[next] == '[' &&
        FindDType(token_.text)) {
      return TensorType(out);
    }
    static constexpr std::pair<std::string_view, TypeKind> kWords[] = {
        {"SymInt", TypeKind::kSymInt},   {"SymFloat", TypeKind::kSymFloat},
        {"SymBool", TypeKind::kSymBool}, {"object", TypeKind::kObject},
        {"None", TypeKind::kNone},       {"int", TypeKind::kInt},
        {"float", TypeKind::kFloat},     {"bool", TypeKind::kBool},
        {"str", TypeKind::kString}};
    for (const auto& [word, kind] : kWords) {
      if (!token_.is(word)) continue;
      Type type;
      type.kind = kind;
      if (type.is_symbolic_scalar()) {
        if (!ScalarType(&type)) return false;
      } else {
        Advance();
        if (!LiteralType(&type)) return false;
      }
      *out = context_.types.Intern(std::move(type));
      return true;
    }
  }
  return FailExpecting("a type, like f32[2, 3], SymInt(s0) or None");
}

}  // namespace tenon
