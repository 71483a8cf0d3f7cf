// Symbolic scalar expressions over size symbols, as PyTorch writes them.
//
// A file holds sympy's constructor notation, `Add(Mul(Integer(2),
// Symbol('s0', positive=True, integer=True)), Integer(1))`; people read and
// write infix, `2*s0 + 1`. Both parse to the same interned tree and both print
// from it. Nothing is evaluated as code, and nothing is simplified: sympy does
// that again when it reads the file.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/ids.h"

namespace tenon {

enum class ExprKind : uint8_t {
  kInteger,   // `a`
  kRational,  // `a` / `b`
  kFloat,     // digits in `text`, precision in `a`
  kSymbol,    // name in `text`, assumptions in `assumptions`
  kConstant,  // `text`: true, false, oo, -oo, nan, ... by sympy's names
  kCall,      // function or operator `text` over `args`
};

struct Expr {
  ExprKind kind = ExprKind::kInteger;
  int64_t a = 0;
  int64_t b = 0;
  StringId text;
  StringId assumptions;  // "positive=True, integer=True", as in the file
  std::vector<ExprId> args;

  friend bool operator==(const Expr&, const Expr&) = default;
};

// The value of an expression: an exact fraction, a float, or a truth value.
struct ExprValue {
  enum class Kind : uint8_t { kRational, kFloat, kBool } kind = Kind::kRational;
  int64_t numerator = 0;
  int64_t denominator = 1;  // > 0
  double real = 0;
  bool truth = false;

  static ExprValue Int(int64_t v) { return {Kind::kRational, v, 1, 0, false}; }
  static ExprValue Real(double v) { return {Kind::kFloat, 0, 1, v, false}; }
  static ExprValue Bool(bool v) { return {Kind::kBool, 0, 1, 0, v}; }
  bool is_int() const { return kind == Kind::kRational && denominator == 1; }
  double ToDouble() const;
};

// Symbols by name while one file is read: later mentions may be bare names.
using SymbolScope = std::unordered_map<std::string, ExprId>;

// Interned expressions at stable addresses. Equal trees have equal ids.
class ExprPool {
 public:
  explicit ExprPool(StringPool* strings) : strings_(strings) {}
  // The same expressions by the same ids, over a copy of the other's strings.
  ExprPool(const ExprPool& other, StringPool* strings)
      : strings_(strings), exprs_(other.exprs_), by_hash_(other.by_hash_) {}

  const Expr& get(ExprId id) const { return exprs_[id.index]; }
  size_t size() const { return exprs_.size(); }

  ExprId Intern(Expr expr);
  ExprId Integer(int64_t value);
  ExprId Symbol(std::string_view name, std::string_view assumptions);
  ExprId Call(std::string_view function, std::vector<ExprId> args);

  // Either notation. On failure nullopt, with what is wrong in `error` and its
  // byte position in `at`. A bare name is looked up in `scope`, else becomes a
  // symbol without assumptions; symbols with assumptions enter `scope`.
  std::optional<ExprId> Parse(std::string_view text, SymbolScope* scope,
                              std::string* error, size_t* at);

  // sympy's constructor notation.
  std::string PrintSrepr(ExprId id) const;
  // Infix; parses back to the same id when the scope knows the symbols.
  std::string PrintInfix(ExprId id) const;

  // nullopt when a symbol has no value, on overflow, division by zero, and for
  // functions that have no known meaning.
  using Bindings = std::function<std::optional<int64_t>(ExprId symbol)>;
  std::optional<ExprValue> Evaluate(ExprId id, const Bindings& bindings) const;
  // Evaluate, wanting an integer.
  std::optional<int64_t> EvaluateInt(ExprId id, const Bindings& bindings) const;

  // `id` with every symbol of `map` replaced, all at once. Nothing is
  // simplified.
  ExprId Substitute(ExprId id, const std::unordered_map<ExprId, ExprId>& map);

  // Distinct symbols in `id`, in order of first mention, appended to `out`.
  void CollectSymbols(ExprId id, std::vector<ExprId>* out) const;

 private:
  StringPool* strings_;
  std::deque<Expr> exprs_;
  std::unordered_multimap<uint64_t, ExprId> by_hash_;
};

// An integer that may be symbolic; `hint` is its value in the exporter's
// example run. A literal has no expression.
struct SymInt {
  int64_t value = 0;  // the literal, or the hint
  ExprId expr;
  bool has_hint = false;

  static SymInt Literal(int64_t v) { return {v, ExprId(), false}; }
  static SymInt Symbolic(ExprId e, std::optional<int64_t> hint) {
    return {hint.value_or(0), e, hint.has_value()};
  }
  bool is_literal() const { return !expr.valid(); }
  friend bool operator==(const SymInt&, const SymInt&) = default;
};

}  // namespace tenon
