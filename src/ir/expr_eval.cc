// The meaning of expressions: exact fractions where all operands are, else
// double, as sympy's evaluation and torch's own functions give.
#include <charconv>
#include <cmath>
#include <numeric>

#include "ir/expr.h"
#include "support/checked.h"

namespace tenon {
namespace {

using Value = ExprValue;
using Kind = ExprValue::Kind;
using Result = std::optional<ExprValue>;

Result Fraction(int64_t numerator, int64_t denominator) {
  if (denominator == 0) return std::nullopt;
  if (numerator == INT64_MIN || denominator == INT64_MIN) {
    if (denominator == 1) return Value::Int(numerator);
    return std::nullopt;
  }
  const int64_t g = std::gcd(numerator, denominator);
  if (g > 1) {
    numerator /= g;
    denominator /= g;
  }
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  return Value{Kind::kRational, numerator, denominator, 0, false};
}

bool Exact(const Value& a, const Value& b) {
  return a.kind == Kind::kRational && b.kind == Kind::kRational;
}

Result Add(const Value& a, const Value& b) {
  if (!Exact(a, b)) return Value::Real(a.ToDouble() + b.ToDouble());
  const auto x = CheckedMul(a.numerator, b.denominator);
  const auto y = CheckedMul(b.numerator, a.denominator);
  const auto d = CheckedMul(a.denominator, b.denominator);
  if (!x || !y || !d) return std::nullopt;
  const auto n = CheckedAdd(*x, *y);
  if (!n) return std::nullopt;
  return Fraction(*n, *d);
}

Result Multiply(const Value& a, const Value& b) {
  if (!Exact(a, b)) return Value::Real(a.ToDouble() * b.ToDouble());
  const auto n = CheckedMul(a.numerator, b.numerator);
  const auto d = CheckedMul(a.denominator, b.denominator);
  if (!n || !d) return std::nullopt;
  return Fraction(*n, *d);
}

Result Power(const Value& a, const Value& b) {
  if (!Exact(a, b) || b.denominator != 1) {
    return Value::Real(std::pow(a.ToDouble(), b.ToDouble()));
  }
  Value base = a;
  int64_t exponent = b.numerator;
  if (exponent < 0) {
    const auto inverse = Fraction(a.denominator, a.numerator);
    if (!inverse || exponent == INT64_MIN) return std::nullopt;
    base = *inverse;
    exponent = -exponent;
  }
  Value out = Value::Int(1);
  while (exponent > 0) {
    if (exponent & 1) {
      const auto product = Multiply(out, base);
      if (!product) return std::nullopt;
      out = *product;
    }
    exponent >>= 1;
    if (exponent == 0) break;
    const auto square = Multiply(base, base);
    if (!square) return std::nullopt;
    base = *square;
  }
  return out;
}

int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q * b != a && ((a < 0) != (b < 0)) ? q - 1 : q;
}

Result Floor(const Value& v) {
  if (v.kind == Kind::kRational) {
    return Value::Int(FloorDivide(v.numerator, v.denominator));
  }
  const double f = std::floor(v.ToDouble());
  if (!(std::fabs(f) < 9.2e18)) return std::nullopt;
  return Value::Int(static_cast<int64_t>(f));
}

Result Negate(const Value& v) { return Multiply(v, Value::Int(-1)); }

Result Ceiling(const Value& v) {
  const auto negated = Negate(v);
  const auto floor = negated ? Floor(*negated) : std::nullopt;
  return floor ? Negate(*floor) : std::nullopt;
}

bool Negative(const Value& v) { return v.ToDouble() < 0; }

Result Truncate(const Value& v) { return Negative(v) ? Ceiling(v) : Floor(v); }

Result Divide(const Value& a, const Value& b) {
  if (!Exact(a, b)) return Value::Real(a.ToDouble() / b.ToDouble());
  const auto inverse = Fraction(b.denominator, b.numerator);
  return inverse ? Multiply(a, *inverse) : std::nullopt;
}

Result FloorDiv(const Value& a, const Value& b) {
  const auto q = Divide(a, b);
  return q ? Floor(*q) : std::nullopt;
}

Result Modulo(const Value& a, const Value& b) {
  const auto q = FloorDiv(a, b);
  const auto product = q ? Multiply(*q, b) : std::nullopt;
  const auto negated = product ? Negate(*product) : std::nullopt;
  return negated ? Add(a, *negated) : std::nullopt;
}

// < 0, 0, > 0; exact for fractions.
std::optional<int> Compare(const Value& a, const Value& b) {
  if (Exact(a, b)) {
    const __int128 l = static_cast<__int128>(a.numerator) * b.denominator;
    const __int128 r = static_cast<__int128>(b.numerator) * a.denominator;
    return l < r ? -1 : l > r ? 1 : 0;
  }
  const double x = a.ToDouble(), y = b.ToDouble();
  if (std::isnan(x) || std::isnan(y)) return std::nullopt;
  return x < y ? -1 : x > y ? 1 : 0;
}

Result Shift(const Value& a, const Value& b, bool left) {
  if (!a.is_int() || !b.is_int() || b.numerator < 0 || b.numerator > 62) {
    return std::nullopt;
  }
  const int64_t factor = int64_t{1} << b.numerator;
  return left ? Multiply(a, Value::Int(factor))
              : FloorDiv(a, Value::Int(factor));
}

// Python's round: half to even.
Result RoundToInt(const Value& v) {
  const double r = std::nearbyint(v.ToDouble());
  if (!(std::fabs(r) < 9.2e18)) return std::nullopt;
  return Value::Int(static_cast<int64_t>(r));
}

Result Unary(std::string_view f, const Value& a) {
  if (f == "Identity") return a;
  if (f == "floor" || f == "FloorToInt") return Floor(a);
  if (f == "ceiling" || f == "CeilToInt") return Ceiling(a);
  if (f == "TruncToInt") return Truncate(a);
  if (f == "TruncToFloat") return Value::Real(std::trunc(a.ToDouble()));
  if (f == "RoundToInt") return RoundToInt(a);
  if (f == "ToFloat") return Value::Real(a.ToDouble());
  if (f == "Abs") return Negative(a) ? Negate(a) : Result(a);
  if (f == "Not") return Value::Bool(a.ToDouble() == 0);
  static constexpr std::string_view kPrefix = "OpaqueUnaryFn_";
  if (f.substr(0, kPrefix.size()) == kPrefix) f.remove_prefix(kPrefix.size());
  struct Function {
    std::string_view name;
    double (*apply)(double);
  };
  static constexpr Function kFunctions[] = {
      {"sqrt", std::sqrt},   {"cos", std::cos},   {"cosh", std::cosh},
      {"sin", std::sin},     {"sinh", std::sinh}, {"tan", std::tan},
      {"tanh", std::tanh},   {"asin", std::asin}, {"acos", std::acos},
      {"atan", std::atan},   {"exp", std::exp},   {"log", std::log},
      {"asinh", std::asinh}, {"log2", std::log2},
  };
  for (const Function& function : kFunctions) {
    if (function.name == f) return Value::Real(function.apply(a.ToDouble()));
  }
  return std::nullopt;
}

Result Binary(std::string_view f, const Value& a, const Value& b) {
  if (f == "Pow" || f == "PowByNatural") return Power(a, b);
  if (f == "FloatPow") {
    return Value::Real(std::pow(a.ToDouble(), b.ToDouble()));
  }
  if (f == "FloorDiv") return FloorDiv(a, b);
  if (f == "CleanDiv") return Divide(a, b);
  if (f == "CeilDiv") {
    const auto q = Divide(a, b);
    return q ? Ceiling(*q) : std::nullopt;
  }
  if (f == "FloatTrueDiv" || f == "IntTrueDiv") {
    if (b.ToDouble() == 0) return std::nullopt;
    return Value::Real(a.ToDouble() / b.ToDouble());
  }
  if (f == "PythonMod" || f == "Mod") return Modulo(a, b);
  if (f == "LShift") return Shift(a, b, true);
  if (f == "RShift") return Shift(a, b, false);
  if (f == "RoundDecimal") {
    const double scale = std::pow(10.0, b.ToDouble());
    return Value::Real(std::nearbyint(a.ToDouble() * scale) / scale);
  }
  const auto order = Compare(a, b);
  if (!order) return std::nullopt;
  if (f == "Equality" || f == "Eq") return Value::Bool(*order == 0);
  if (f == "Unequality" || f == "Ne") return Value::Bool(*order != 0);
  if (f == "StrictLessThan" || f == "Lt") return Value::Bool(*order < 0);
  if (f == "StrictGreaterThan" || f == "Gt") return Value::Bool(*order > 0);
  if (f == "LessThan" || f == "Le") return Value::Bool(*order <= 0);
  if (f == "GreaterThan" || f == "Ge") return Value::Bool(*order >= 0);
  return std::nullopt;
}

// Left to right over any number of operands.
Result Fold(std::string_view f, const std::vector<Value>& v) {
  const auto step = [&](const Value& a, const Value& b) -> Result {
    if (f == "Add") return Add(a, b);
    if (f == "Mul") return Multiply(a, b);
    if (f == "And") return Value::Bool(a.ToDouble() != 0 && b.ToDouble() != 0);
    if (f == "Or") return Value::Bool(a.ToDouble() != 0 || b.ToDouble() != 0);
    const auto order = Compare(a, b);
    if (!order) return std::nullopt;
    return (f == "Max") == (*order < 0) ? b : a;
  };
  if (f != "Add" && f != "Mul" && f != "And" && f != "Or" && f != "Max" &&
      f != "Min") {
    return std::nullopt;
  }
  Result out = v[0];
  for (size_t i = 1; i < v.size() && out; ++i) out = step(*out, v[i]);
  return out;
}

}  // namespace

Result ExprPool::Evaluate(ExprId id, const Bindings& bindings) const {
  const Expr& e = get(id);
  const std::string_view text = strings_->view(e.text);
  switch (e.kind) {
    case ExprKind::kInteger:
      return Value::Int(e.a);
    case ExprKind::kRational:
      return Fraction(e.a, e.b);
    case ExprKind::kFloat: {
      double value = 0;
      std::from_chars(text.data(), text.data() + text.size(), value);
      return Value::Real(value);
    }
    case ExprKind::kSymbol: {
      const auto value = bindings(id);
      if (!value) return std::nullopt;
      return Value::Int(*value);
    }
    case ExprKind::kConstant:
      if (text == "true" || text == "false") return Value::Bool(text == "true");
      if (text == "oo" || text == "int_oo") return Value::Real(INFINITY);
      return std::nullopt;
    case ExprKind::kCall:
      break;
  }
  std::vector<Value> args;
  args.reserve(e.args.size());
  for (const ExprId arg : e.args) {
    const auto value = Evaluate(arg, bindings);
    if (!value) return std::nullopt;
    args.push_back(*value);
  }
  if (args.empty()) return std::nullopt;
  if (args.size() == 1) {
    if (const auto v = Unary(text, args[0])) return v;
  }
  if (args.size() == 2) {
    if (const auto v = Binary(text, args[0], args[1])) return v;
  }
  if (args.size() == 3) {
    if (text == "ModularIndexing") {
      const auto q = FloorDiv(args[0], args[1]);
      return q ? Modulo(*q, args[2]) : std::nullopt;
    }
    if (text == "Where") return args[0].ToDouble() != 0 ? args[1] : args[2];
  }
  return Fold(text, args);
}

}  // namespace tenon
