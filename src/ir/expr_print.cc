// Both notations of an expression.
#include "ir/expr.h"

namespace tenon {
namespace {

// Binding strength, weakest first; an operand weaker than its place is put in
// parentheses.
enum Strength { kOr, kAnd, kCompare, kSum, kTerm, kPower, kAtom };

class InfixPrinter {
 public:
  InfixPrinter(const ExprPool& pool, const StringPool& strings)
      : pool_(pool), strings_(strings) {}

  std::string Print(ExprId id, Strength place) const {
    Strength own = kAtom;
    std::string text = Bare(id, &own);
    return own < place ? "(" + text + ")" : text;
  }

 private:
  std::string_view function(const Expr& e) const {
    return strings_.view(e.text);
  }

  std::string Joined(const Expr& e, std::string_view token,
                     Strength item) const {
    std::string out;
    for (size_t i = 0; i < e.args.size(); ++i) {
      if (i > 0) out += token;
      out += Print(e.args[i], item);
    }
    return out;
  }

  // "a - 2*b + c": a negative leading factor becomes the sign of its item.
  std::string Sum(const Expr& e) const {
    std::string out = Print(e.args[0], kTerm);
    for (size_t i = 1; i < e.args.size(); ++i) {
      const Expr& item = pool_.get(e.args[i]);
      if (item.kind == ExprKind::kInteger && item.a < 0 &&
          item.a != INT64_MIN) {
        out += " - " + std::to_string(-item.a);
      } else if (const auto rest = NegatedTerm(item)) {
        out += " - " + *rest;
      } else {
        out += " + " + Print(e.args[i], kTerm);
      }
    }
    return out;
  }

  // For Mul(-k, x, ...), the text of k*x*...; nullopt for other items and where
  // the text would parse to another tree.
  std::optional<std::string> NegatedTerm(const Expr& item) const {
    if (item.kind != ExprKind::kCall || function(item) != "Mul" ||
        item.args.size() < 2) {
      return std::nullopt;
    }
    const Expr& first = pool_.get(item.args[0]);
    if (first.kind != ExprKind::kInteger || first.a >= 0 ||
        first.a == INT64_MIN) {
      return std::nullopt;
    }
    if (first.a != -1) {
      std::string out = std::to_string(-first.a);
      for (size_t i = 1; i < item.args.size(); ++i) {
        out += "*" + Print(item.args[i], kPower);
      }
      return out;
    }
    const Expr& second = pool_.get(item.args[1]);
    if (second.kind == ExprKind::kInteger ||
        (item.args.size() == 2 && second.kind == ExprKind::kCall &&
         function(second) == "Mul")) {
      return std::nullopt;
    }
    std::string out;
    for (size_t i = 1; i < item.args.size(); ++i) {
      out += (i > 1 ? "*" : "") + Print(item.args[i], kPower);
    }
    return out;
  }

  std::string Bare(ExprId id, Strength* own) const {
    const Expr& e = pool_.get(id);
    switch (e.kind) {
      case ExprKind::kInteger:
        if (e.a < 0) *own = kTerm;
        return std::to_string(e.a);
      case ExprKind::kRational:
        return "Rational(" + std::to_string(e.a) + ", " + std::to_string(e.b) +
               ")";
      case ExprKind::kFloat:
        return "Float('" + std::string(strings_.view(e.text)) +
               "', precision=" + std::to_string(e.a) + ")";
      case ExprKind::kSymbol:
      case ExprKind::kConstant:
        return std::string(strings_.view(e.text));
      case ExprKind::kCall:
        return CallText(e, own);
    }
    return "";
  }

  std::string CallText(const Expr& e, Strength* own) const {
    const std::string_view f = function(e);
    static constexpr std::pair<std::string_view, std::string_view> kCompares[] =
        {{"LessThan", " <= "},      {"GreaterThan", " >= "},
         {"Equality", " == "},      {"Unequality", " != "},
         {"StrictLessThan", " < "}, {"StrictGreaterThan", " > "}};
    if (e.args.size() >= 2) {
      if (f == "Add") {
        *own = kSum;
        return Sum(e);
      }
      if (f == "Mul") {
        *own = kTerm;
        return Joined(e, "*", kPower);
      }
    }
    if (e.args.size() == 2) {
      if (f == "Pow") {
        *own = kPower;
        return Print(e.args[0], kAtom) + "**" + Print(e.args[1], kAtom);
      }
      for (const auto& [name, token] : kCompares) {
        if (f == name) {
          *own = kCompare;
          return Joined(e, token, kSum);
        }
      }
    }
    std::string out(f);
    return out + "(" + Joined(e, ", ", kOr) + ")";
  }

  const ExprPool& pool_;
  const StringPool& strings_;
};

}  // namespace

std::string ExprPool::PrintInfix(ExprId id) const {
  return InfixPrinter(*this, *strings_).Print(id, kOr);
}

std::string ExprPool::PrintSrepr(ExprId id) const {
  const Expr& e = get(id);
  const std::string text(strings_->view(e.text));
  switch (e.kind) {
    case ExprKind::kInteger:
      return "Integer(" + std::to_string(e.a) + ")";
    case ExprKind::kRational:
      return "Rational(" + std::to_string(e.a) + ", " + std::to_string(e.b) +
             ")";
    case ExprKind::kFloat:
      return "Float('" + text + "', precision=" + std::to_string(e.a) + ")";
    case ExprKind::kSymbol: {
      const std::string_view assumptions = strings_->view(e.assumptions);
      std::string out = "Symbol('" + text + "'";
      if (!assumptions.empty()) out.append(", ").append(assumptions);
      return out + ")";
    }
    case ExprKind::kConstant:
      return text;
    case ExprKind::kCall: {
      std::string out = text + "(";
      for (size_t i = 0; i < e.args.size(); ++i) {
        if (i > 0) out += ", ";
        out += PrintSrepr(e.args[i]);
      }
      return out + ")";
    }
  }
  return "";
}

}  // namespace tenon
