// The parser of both notations. One grammar serves: constructor notation is
// infix without operators.
//
//   or      := and ('or'|'|' and)*
//   compare := sum (('<'|'<='|'>'|'>='|'=='|'!=') sum)?
//   sum     := term (('+'|'-') term)*          -> Add, n-ary
//   term    := unary (('*'|'/'|'//'|'%') unary)* -> Mul, n-ary
//   unary   := '-' unary | power
//   power   := atom ('**' unary)?
//   atom    := number | name | name '(' args ')' | '(' or ')'
#include <algorithm>
#include <cctype>
#include <charconv>

#include "ir/expr.h"
#include "support/checked.h"

namespace tenon {
namespace {

// Deeper nesting than this is no size of a tensor, and would exhaust the stack.
constexpr int kMaxDepth = 200;

class Parser {
 public:
  Parser(ExprPool* pool, StringPool* strings, std::string_view text,
         SymbolScope* scope)
      : pool_(pool), strings_(strings), text_(text), scope_(scope) {}

  std::optional<ExprId> Parse() {
    const auto e = Or();
    if (!e) return std::nullopt;
    Space();
    if (at_ != text_.size()) return Error("unexpected text");
    return e;
  }

  const std::string& error() const { return error_; }
  size_t at() const { return at_; }

 private:
  using Result = std::optional<ExprId>;

  std::nullopt_t Error(std::string message) {
    if (error_.empty()) error_ = std::move(message);
    return std::nullopt;
  }

  void Space() {
    while (at_ < text_.size() &&
           std::isspace(static_cast<unsigned char>(text_[at_]))) {
      ++at_;
    }
  }
  bool Peek(std::string_view token) {
    Space();
    return text_.substr(at_, token.size()) == token;
  }
  bool Eat(std::string_view token) {
    if (!Peek(token)) return false;
    at_ += token.size();
    return true;
  }
  static bool IsPlainChar(char c) {
    return c != '\'' && c != '"' && c != '\\' &&
           static_cast<unsigned char>(c) >= 0x20 && c != 0x7F;
  }
  static bool IsNameChar(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  }
  bool EatWord(std::string_view word) {
    if (!Peek(word)) return false;
    const size_t end = at_ + word.size();
    if (end < text_.size() && IsNameChar(text_[end])) return false;
    at_ = end;
    return true;
  }

  Result Binary(std::string_view function, ExprId left, Result right) {
    if (!right) return std::nullopt;
    return pool_->Call(function, {left, *right});
  }

  Result Or() {
    auto left = And();
    while (left && (EatWord("or") || Eat("|"))) {
      left = Binary("Or", *left, And());
    }
    return left;
  }
  Result And() {
    auto left = Compare();
    while (left && (EatWord("and") || Eat("&"))) {
      left = Binary("And", *left, Compare());
    }
    return left;
  }
  Result Compare() {
    if (EatWord("not") || Eat("~")) {
      if (++depth_ > kMaxDepth) return Error("expression nested too deeply");
      const auto e = Compare();
      if (!e) return std::nullopt;
      --depth_;
      return pool_->Call("Not", {*e});
    }
    auto left = Sum();
    if (!left) return std::nullopt;
    static constexpr std::pair<std::string_view, std::string_view> kOps[] = {
        {"<=", "LessThan"},      {">=", "GreaterThan"},
        {"==", "Equality"},      {"!=", "Unequality"},
        {"<", "StrictLessThan"}, {">", "StrictGreaterThan"}};
    for (const auto& [token, function] : kOps) {
      if (Eat(token)) return Binary(function, *left, Sum());
    }
    return left;
  }

  // -x, where a leading integer factor takes the sign.
  Result Negate(ExprId id) {
    const Expr e = pool_->get(id);
    if (e.kind == ExprKind::kInteger) {
      const auto negated = CheckedSub(0, e.a);
      if (!negated) return Error("integer out of range");
      return pool_->Integer(*negated);
    }
    if (e.kind == ExprKind::kCall && strings_->view(e.text) == "Mul" &&
        !e.args.empty() && pool_->get(e.args[0]).kind == ExprKind::kInteger) {
      const auto first = Negate(e.args[0]);
      if (!first) return std::nullopt;
      std::vector<ExprId> args = e.args;
      args[0] = *first;
      return pool_->Call("Mul", std::move(args));
    }
    std::vector<ExprId> args = {pool_->Integer(-1)};
    if (e.kind == ExprKind::kCall && strings_->view(e.text) == "Mul") {
      args.insert(args.end(), e.args.begin(), e.args.end());
    } else {
      args.push_back(id);
    }
    return pool_->Call("Mul", std::move(args));
  }

  Result Sum() {
    if (++depth_ > kMaxDepth) return Error("expression nested too deeply");
    const auto first = Term();
    if (!first) return std::nullopt;
    std::vector<ExprId> items = {*first};
    while (true) {
      const bool minus = Peek("-");
      if (!minus && !Peek("+")) break;
      ++at_;
      auto item = Term();
      if (item && minus) item = Negate(*item);
      if (!item) return std::nullopt;
      items.push_back(*item);
    }
    --depth_;
    if (items.size() == 1) return items[0];
    return pool_->Call("Add", std::move(items));
  }

  Result Term() {
    auto left = Unary();
    if (!left) return std::nullopt;
    std::vector<ExprId> factors = {*left};
    const auto fold = [&] {
      return factors.size() == 1 ? factors[0]
                                 : pool_->Call("Mul", std::move(factors));
    };
    while (true) {
      if (Peek("**")) break;
      std::string_view function;
      if (Eat("//")) {
        function = "FloorDiv";
      } else if (Eat("%")) {
        function = "PythonMod";
      } else if (Eat("/")) {
        function = "/";
      } else if (Eat("*")) {
        function = "*";
      } else {
        break;
      }
      const auto right = Unary();
      if (!right) return std::nullopt;
      if (function == "*") {
        factors.push_back(*right);
      } else if (function == "/") {
        factors.push_back(pool_->Call("Pow", {*right, pool_->Integer(-1)}));
      } else {
        const ExprId l = fold();
        factors = {pool_->Call(function, {l, *right})};
      }
    }
    return fold();
  }

  Result Unary() {
    if (++depth_ > kMaxDepth) return Error("expression nested too deeply");
    Result out;
    if (Eat("-")) {
      const auto e = Unary();
      out = e ? Negate(*e) : std::nullopt;
    } else if (Eat("+")) {
      out = Unary();
    } else {
      out = Power();
    }
    --depth_;
    return out;
  }

  Result Power() {
    const auto base = Atom();
    if (!base || !Eat("**")) return base;
    return Binary("Pow", *base, Unary());
  }

  Result Number() {
    int64_t value = 0;
    const char* begin = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    const auto [ptr, ec] = std::from_chars(begin, end, value);
    if (ptr != end && (*ptr == '.' || *ptr == 'e' || *ptr == 'E')) {
      double real = 0;
      const auto r = std::from_chars(begin, end, real);
      if (r.ec != std::errc()) return Error("bad number");
      Expr e;
      e.kind = ExprKind::kFloat;
      e.a = 53;
      e.text = strings_->Intern(std::string_view(begin, r.ptr));
      at_ += static_cast<size_t>(r.ptr - begin);
      return pool_->Intern(std::move(e));
    }
    if (ec != std::errc()) return Error("integer out of range");
    at_ += static_cast<size_t>(ptr - begin);
    return pool_->Integer(value);
  }

  std::optional<std::string> Quoted() {
    Space();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) {
      return Error("expected a quoted name"), std::nullopt;
    }
    const char quote = text_[at_];
    const size_t close = text_.find(quote, at_ + 1);
    if (close == std::string_view::npos) {
      return Error("unterminated string"), std::nullopt;
    }
    std::string out(text_.substr(at_ + 1, close - at_ - 1));
    at_ = close + 1;
    return out;
  }

  // Text up to the closing parenthesis of a flat keyword list.
  std::string_view RestOfCall() {
    Space();
    const size_t close = std::min(text_.find(')', at_), text_.size());
    const std::string_view rest = text_.substr(at_, close - at_);
    at_ = close;
    return rest;
  }

  Result SymbolCall() {
    const auto name = Quoted();
    if (!name) return std::nullopt;
    // It is written between quotes again, in what Python evaluates.
    if (!std::all_of(name->begin(), name->end(), IsPlainChar)) {
      return Error(
          "a symbol's name can't contain quotes, backslashes or "
          "control characters");
    }
    const std::string_view assumptions = Eat(",") ? RestOfCall() : "";
    if (!Eat(")")) return Error("expected ')'");
    const ExprId id = pool_->Symbol(*name, assumptions);
    if (scope_ != nullptr) scope_->insert_or_assign(*name, id);
    return id;
  }

  Result FloatCall() {
    Space();
    std::string digits;
    if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) {
      const auto quoted = Quoted();
      if (!quoted) return std::nullopt;
      digits = *quoted;
    } else {
      const size_t end = std::min(text_.find_first_of(",)", at_), text_.size());
      digits = text_.substr(at_, end - at_);
      at_ = end;
    }
    double unused = 0;
    const auto r =
        std::from_chars(digits.data(), digits.data() + digits.size(), unused);
    if (r.ec == std::errc::invalid_argument ||
        r.ptr != digits.data() + digits.size()) {
      return Error("bad number in Float");
    }
    Expr e;
    e.kind = ExprKind::kFloat;
    e.a = 53;
    e.text = strings_->Intern(digits);
    if (Eat(",")) {
      std::string_view rest = RestOfCall();
      const size_t equals = rest.find('=');
      if (equals != std::string_view::npos) rest.remove_prefix(equals + 1);
      std::from_chars(rest.data(), rest.data() + rest.size(), e.a);
    }
    if (!Eat(")")) return Error("expected ')'");
    return pool_->Intern(std::move(e));
  }

  Result Arguments(std::string_view name) {
    std::vector<ExprId> args;
    if (!Eat(")")) {
      do {
        const auto arg = Or();
        if (!arg) return std::nullopt;
        if (Eat("=")) {
          // evaluate=False and the like say nothing about the value.
          if (!Or()) return std::nullopt;
          continue;
        }
        args.push_back(*arg);
      } while (Eat(","));
      if (!Eat(")")) return Error("expected ',' or ')'");
    }
    const auto integer = [&](size_t i) -> std::optional<int64_t> {
      if (i >= args.size()) return std::nullopt;
      const Expr& e = pool_->get(args[i]);
      if (e.kind != ExprKind::kInteger) return std::nullopt;
      return e.a;
    };
    if (name == "Integer") {
      if (args.size() != 1 || !integer(0))
        return Error("Integer needs a number");
      return args[0];
    }
    if (name == "Rational") {
      if (args.size() != 2 || !integer(0) || !integer(1) || *integer(1) == 0) {
        return Error("Rational needs two numbers, the second not 0");
      }
      Expr e;
      e.kind = ExprKind::kRational;
      e.a = *integer(0);
      e.b = *integer(1);
      return pool_->Intern(std::move(e));
    }
    if (name.find("__") != std::string_view::npos) {
      return Error("a function name can't contain '__'");
    }
    return pool_->Call(name, std::move(args));
  }

  Result Atom() {
    Space();
    if (at_ >= text_.size()) return Error("expected an expression");
    const char c = text_[at_];
    if (c == '(') {
      ++at_;
      const auto e = Or();
      if (!e) return std::nullopt;
      if (!Eat(")")) return Error("expected ')'");
      return e;
    }
    if (std::isdigit(static_cast<unsigned char>(c)) || c == '.') {
      return Number();
    }
    if (!std::isalpha(static_cast<unsigned char>(c)) && c != '_') {
      return Error("expected an expression");
    }
    const size_t begin = at_;
    while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (name == "not" || name == "and" || name == "or") {
      at_ = begin;
      return Error("expected an expression, found a word between two");
    }
    if (Eat("(")) {
      if (name == "Symbol") return SymbolCall();
      if (name == "Float") return FloatCall();
      return Arguments(name);
    }
    return Name(name);
  }

  Result Name(std::string_view name) {
    static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
        {"true", "true"},     {"True", "true"}, {"false", "false"},
        {"False", "false"},   {"oo", "oo"},     {"Infinity", "oo"},
        {"int_oo", "int_oo"}, {"zoo", "zoo"},   {"nan", "nan"}};
    for (const auto& [text, constant] : kNames) {
      if (name == text) {
        Expr e;
        e.kind = ExprKind::kConstant;
        e.text = strings_->Intern(constant);
        return pool_->Intern(std::move(e));
      }
    }
    if (scope_ != nullptr) {
      if (const auto it = scope_->find(std::string(name));
          it != scope_->end()) {
        return it->second;
      }
    }
    return pool_->Symbol(name, "");
  }

  ExprPool* pool_;
  StringPool* strings_;
  std::string_view text_;
  SymbolScope* scope_;
  size_t at_ = 0;
  int depth_ = 0;
  std::string error_;
};

}  // namespace

std::optional<ExprId> ExprPool::Parse(std::string_view text, SymbolScope* scope,
                                      std::string* error, size_t* at) {
  Parser parser(this, strings_, text, scope);
  const auto e = parser.Parse();
  if (!e) {
    *error = parser.error();
    *at = parser.at();
  }
  return e;
}

}  // namespace tenon
