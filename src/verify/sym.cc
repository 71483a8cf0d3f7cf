// V-SYM: symbols, expressions, ranges (rules ).
//
// A range isn't empty, and an expression has one. Functions in expressions have
// a known meaning, so that sizes can be computed. A symbol that occurs in a
// type comes from somewhere: the type of a program input, or a node's result
// that introduces it (an unbacked symbol). A symbol that a size of an input
// needs has a range.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "verify/verification.h"

namespace tenon {
namespace {

class SymbolChecker {
 public:
  explicit SymbolChecker(const Verification& v)
      : v_(v),
        p_(v.program),
        exprs_(p_.context().exprs),
        stage_(exprs_.size(), kNew),
        is_type_seen_(p_.context().types.size(), false) {}

  void Run() {
    CheckRanges();
    if (exprs_.size() == 0) return;
    for (const ValueId input : p_.root().inputs) {
      input_ = input;
      ForEachExpr(p_.value(input).type, [&](ExprId e) { Introduce(e); });
    }
    // A result introduces the symbols that it is first to mention: whoever
    // computes the value finds out what they are. Literals in the graphs'
    // inputs and outputs introduce nothing.
    for (uint32_t i = 0; i < p_.num_graphs(); ++i) {
      if (!p_.graph(GraphId(i)).is_erased) CheckGraph(GraphId(i));
    }
  }

 private:
  enum Stage : uint8_t { kNew, kKnown };

  template <typename Visit>
  void ForEachExpr(TypeId id, Visit&& visit) {
    if (is_type_seen_[id.index]) return;
    is_type_seen_[id.index] = true;
    const Type& t = p_.type(id);
    if (t.sym.expr.valid()) visit(t.sym.expr);
    for (const SymInt& s : t.sizes) {
      if (s.expr.valid()) visit(s.expr);
    }
    for (const SymInt& s : t.strides) {
      if (s.expr.valid()) visit(s.expr);
    }
    if (t.storage_offset.expr.valid()) visit(t.storage_offset.expr);
  }

  // Marks the symbols of an input's expression as known; looks at each
  // expression once.
  void Introduce(ExprId e) {
    if (stage_[e.index] == kKnown) return;
    stage_[e.index] = kKnown;
    const Expr& expr = exprs_.get(e);
    CheckFunction(expr);
    if (expr.kind == ExprKind::kSymbol) CheckHasRange(e);
    for (const ExprId arg : expr.args) Introduce(arg);
  }

  // An unbacked symbol as PyTorch names them: u0, zuf3.
  bool IsUnbacked(const Expr& symbol) const {
    const std::string_view name = p_.view(symbol.text);
    return name.substr(0, 1) == "u" || name.substr(0, 3) == "zuf";
  }

  void CheckGraph(GraphId g) {
    for (const NodeId n : p_.nodes(g)) {
      const ValueRange results = p_.node(n).results;
      for (uint32_t i = 0; i < results.count; ++i) {
        ForEachExpr(p_.value(results[i]).type,
                    [&](ExprId e) { CheckKnown(g, n, e); });
      }
    }
  }

  // V-SYM-03: a symbol of a result is an input's, or is unbacked and enters
  // here.
  void CheckKnown(GraphId g, NodeId n, ExprId e) {
    if (stage_[e.index] == kKnown) return;
    stage_[e.index] = kKnown;
    const Expr& expr = exprs_.get(e);
    CheckFunction(expr);
    if (expr.kind == ExprKind::kSymbol && !IsUnbacked(expr)) {
      v_.Error(Rule::kSym03, g, n)
          << "the symbol " << p_.view(expr.text)
          << " occurs in a result, but in no input of the program";
    }
    for (const ExprId arg : expr.args) CheckKnown(g, n, arg);
  }

  // V-SYM-04: a symbol that callers choose has a range.
  void CheckHasRange(ExprId symbol) {
    if (ranged_names_.contains(exprs_.get(symbol).text)) return;
    v_.Error(Rule::kSym04) << "the symbol " << p_.view(exprs_.get(symbol).text)
                           << ", which the input " << v_.ValueText(input_)
                           << " depends on, has no range";
  }

  // V-SYM-05: functions have a known meaning.
  void CheckFunction(const Expr& e) {
    if (e.kind != ExprKind::kCall) return;
    static constexpr std::string_view kFunctions[] = {
        "Abs",
        "Add",
        "And",
        "CeilDiv",
        "CeilToInt",
        "CleanDiv",
        "Eq",
        "Equality",
        "FloatPow",
        "FloatTrueDiv",
        "FloorDiv",
        "FloorToInt",
        "Ge",
        "GreaterThan",
        "Gt",
        "Identity",
        "IntTrueDiv",
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
        "RoundDecimal",
        "RoundToInt",
        "StrictGreaterThan",
        "StrictLessThan",
        "ToFloat",
        "TruncToFloat",
        "TruncToInt",
        "Unequality",
        "Where",
        "ceiling",
        "floor",
        "sqrt"};
    const std::string_view name = p_.view(e.text);
    static constexpr std::string_view kOpaque = "OpaqueUnaryFn_";
    if (name.substr(0, kOpaque.size()) == kOpaque) return;
    for (const std::string_view f : kFunctions) {
      if (f == name) return;
    }
    v_.Error(Rule::kSym05) << "the function " << name
                           << " in an expression has no known meaning";
  }

  void CheckRanges() {
    std::unordered_map<ExprId, uint32_t> seen;
    for (uint32_t i = 0; i < p_.ranges.size(); ++i) {
      const SymbolRange& range = p_.ranges[i];
      const std::string& key = range.key;
      // V-SYM-01: a range holds a number.
      if (range.min && range.max && *range.min > *range.max) {
        v_.Error(Rule::kSym01)
            << "the range of " << key << " is empty: " << *range.min << " to "
            << *range.max;
      }
      if (!range.expr.valid()) continue;
      // V-SYM-02: one range per expression.
      if (!seen.emplace(range.expr, i).second) {
        v_.Error(Rule::kSym02) << key << " has two ranges";
      }
      const Expr& e = exprs_.get(range.expr);
      if (e.kind == ExprKind::kSymbol) ranged_names_.emplace(e.text, i);
    }
  }

  const Verification& v_;
  const Program& p_;
  const ExprPool& exprs_;
  ValueId input_;               // being looked at
  std::vector<uint8_t> stage_;  // by expression
  std::vector<bool> is_type_seen_;
  // By name: a range's key may lack the assumptions that types state.
  std::unordered_map<StringId, uint32_t> ranged_names_;
};

}  // namespace

void VerifySymbols(const Verification& v) { SymbolChecker(v).Run(); }

}  // namespace tenon
