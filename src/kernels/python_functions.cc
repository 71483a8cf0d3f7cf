#include "kernels/python_functions.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <map>
#include <optional>

#include "kernels/arithmetic.h"
#include "kernels/elements.h"
#include "support/checked.h"

namespace tenon {
namespace {

// Python's numbers: bool counts as int; int is 64 bits here, and what doesn't
// fit is an error, not a wrong number.
struct Number {
  bool is_int = true;
  int64_t i = 0;
  double f = 0;

  double AsFloat() const { return is_int ? static_cast<double>(i) : f; }
  bool IsZero() const { return is_int ? i == 0 : f == 0; }
};

bool NumberOf(KernelCall& call, size_t arg, Number* out) {
  RuntimeValue value = call.arg(arg);
  if (value.is_tensor() && value.tensor().numel() == 1) {
    value = ItemOf(value.tensor());
  }
  if (value.is_float()) {
    *out = {false, 0, value.float_value()};
    return true;
  }
  if (value.is_int() || value.is_bool()) {
    *out = {true, ScalarAs<int64_t>(value), 0};
    return true;
  }
  return call.Fail("argument " + std::to_string(arg) + " isn't a number");
}

bool ReturnInt(KernelCall& call, std::optional<int64_t> value) {
  if (!value) return call.Fail("the result doesn't fit 64 bits");
  call.Return(*value);
  return true;
}
bool ReturnFloat(KernelCall& call, double value) {
  call.Return(value);
  return true;
}
bool ReturnBool(KernelCall& call, bool value) {
  call.Return(value);
  return true;
}

// A binary operator of two numbers, by its form on ints and on floats.
template <std::optional<int64_t> (*kInt)(int64_t, int64_t),
          double (*kFloat)(double, double)>
bool Arithmetic(KernelCall& call) {
  Number a, b;
  if (!NumberOf(call, 0, &a) || !NumberOf(call, 1, &b)) return false;
  if (a.is_int && b.is_int) return ReturnInt(call, kInt(a.i, b.i));
  return ReturnFloat(call, kFloat(a.AsFloat(), b.AsFloat()));
}

double AddFloats(double a, double b) { return a + b; }
double SubFloats(double a, double b) { return a - b; }
double MulFloats(double a, double b) { return a * b; }

bool TrueDivide(KernelCall& call) {
  Number a, b;
  if (!NumberOf(call, 0, &a) || !NumberOf(call, 1, &b)) return false;
  if (b.IsZero()) return call.Fail("division by zero");
  if (a.is_int && b.is_int) {
    // Wide enough to hold both exactly.
    return ReturnFloat(call,
                       static_cast<double>(static_cast<long double>(a.i) /
                                           static_cast<long double>(b.i)));
  }
  return ReturnFloat(call, a.AsFloat() / b.AsFloat());
}

bool FloorDivide(KernelCall& call) {
  Number a, b;
  if (!NumberOf(call, 0, &a) || !NumberOf(call, 1, &b)) return false;
  if (b.IsZero()) return call.Fail("division by zero");
  if (!a.is_int || !b.is_int) {
    return ReturnFloat(call, DivFloor(a.AsFloat(), b.AsFloat()));
  }
  if (b.i == -1) return ReturnInt(call, CheckedSub(0, a.i));
  return ReturnInt(call, DivFloor(a.i, b.i));
}

bool Modulo(KernelCall& call) {
  Number a, b;
  if (!NumberOf(call, 0, &a) || !NumberOf(call, 1, &b)) return false;
  if (b.IsZero()) return call.Fail("modulo by zero");
  if (a.is_int && b.is_int) return ReturnInt(call, Remainder(a.i, b.i));
  return ReturnFloat(call, Remainder(a.AsFloat(), b.AsFloat()));
}

std::optional<int64_t> PowInts(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (true) {
    if (exponent % 2 != 0) {
      const auto product = CheckedMul(result, base);
      if (!product) return std::nullopt;
      result = *product;
    }
    exponent /= 2;
    if (exponent == 0) return result;
    const auto square = CheckedMul(base, base);
    if (!square) return std::nullopt;
    base = *square;
  }
}

bool Power(KernelCall& call) {
  Number a, b;
  if (!NumberOf(call, 0, &a) || !NumberOf(call, 1, &b)) return false;
  if (a.is_int && b.is_int && b.i >= 0) {
    return ReturnInt(call, PowInts(a.i, b.i));
  }
  if (a.IsZero() && b.AsFloat() < 0) return call.Fail("0 to a negative power");
  if (a.AsFloat() < 0 && std::isfinite(b.AsFloat()) &&
      b.AsFloat() != std::floor(b.AsFloat())) {
    return call.Fail("a negative number to a fractional power is complex");
  }
  return ReturnFloat(call, std::pow(a.AsFloat(), b.AsFloat()));
}

bool Negate(KernelCall& call) {
  Number a;
  if (!NumberOf(call, 0, &a)) return false;
  return a.is_int ? ReturnInt(call, CheckedSub(0, a.i))
                  : ReturnFloat(call, -a.f);
}

bool Plus(KernelCall& call) {
  Number a;
  if (!NumberOf(call, 0, &a)) return false;
  return a.is_int ? ReturnInt(call, a.i) : ReturnFloat(call, a.f);
}

bool Absolute(KernelCall& call) {
  Number a;
  if (!NumberOf(call, 0, &a)) return false;
  if (!a.is_int) return ReturnFloat(call, std::abs(a.f));
  return ReturnInt(call, a.i < 0 ? CheckedSub(0, a.i) : a.i);
}

// --- comparisons; Python compares int and float by their exact values ---

std::partial_ordering Order(const Number& a, const Number& b) {
  if (a.is_int && b.is_int) return a.i <=> b.i;
  const auto exact = [](const Number& n) {
    return n.is_int ? static_cast<long double>(n.i)
                    : static_cast<long double>(n.f);
  };
  return exact(a) <=> exact(b);
}

template <bool (*kAccepts)(std::partial_ordering)>
bool Comparison(KernelCall& call) {
  const RuntimeValue &x = call.arg(0), &y = call.arg(1);
  if (x.is_string() && y.is_string()) {
    return ReturnBool(call, kAccepts(x.string() <=> y.string()));
  }
  Number a, b;
  if (!NumberOf(call, 0, &a) || !NumberOf(call, 1, &b)) return false;
  return ReturnBool(call, kAccepts(Order(a, b)));
}

// --- logic and bits ---

template <int64_t (*kBits)(int64_t, int64_t)>
bool Bitwise(KernelCall& call) {
  Number a, b;
  if (!NumberOf(call, 0, &a) || !NumberOf(call, 1, &b)) return false;
  if (!a.is_int || !b.is_int) return call.Fail("bits of a float");
  const int64_t bits = kBits(a.i, b.i);
  if (call.arg(0).is_bool() && call.arg(1).is_bool()) {
    return ReturnBool(call, bits != 0);
  }
  return ReturnInt(call, bits);
}
int64_t And(int64_t a, int64_t b) { return a & b; }
int64_t Or(int64_t a, int64_t b) { return a | b; }
int64_t Xor(int64_t a, int64_t b) { return a ^ b; }

bool Invert(KernelCall& call) {
  Number a;
  if (!NumberOf(call, 0, &a)) return false;
  if (!a.is_int) return call.Fail("bits of a float");
  return ReturnInt(call, ~a.i);
}

bool ShiftLeft(KernelCall& call) {
  Number a, b;
  if (!NumberOf(call, 0, &a) || !NumberOf(call, 1, &b)) return false;
  if (!a.is_int || !b.is_int || b.i < 0) return call.Fail("a bad shift");
  if (a.i == 0) return ReturnInt(call, 0);
  if (b.i > 62) return ReturnInt(call, std::nullopt);
  return ReturnInt(call, CheckedMul(a.i, int64_t{1} << b.i));
}

bool ShiftRight(KernelCall& call) {
  Number a, b;
  if (!NumberOf(call, 0, &a) || !NumberOf(call, 1, &b)) return false;
  if (!a.is_int || !b.is_int || b.i < 0) return call.Fail("a bad shift");
  return ReturnInt(call, a.i >> std::min<int64_t>(b.i, 63));
}

bool Not(KernelCall& call) {
  Number a;
  return NumberOf(call, 0, &a) && ReturnBool(call, a.IsZero());
}

bool Truth(KernelCall& call) {
  Number a;
  return NumberOf(call, 0, &a) && ReturnBool(call, !a.IsZero());
}

// --- rounding to int ---

template <double (*kRound)(double)>
bool ToInt(KernelCall& call) {
  Number a;
  if (!NumberOf(call, 0, &a)) return false;
  if (a.is_int) return ReturnInt(call, a.i);
  const double rounded = kRound(a.f);
  if (!(rounded >= -0x1p63 && rounded < 0x1p63)) {
    return ReturnInt(call, std::nullopt);
  }
  return ReturnInt(call, static_cast<int64_t>(rounded));
}
double Ceil(double x) { return std::ceil(x); }
double Floor(double x) { return std::floor(x); }
double Trunc(double x) { return std::trunc(x); }
double RoundEven(double x) { return std::nearbyint(x); }

bool ToFloat(KernelCall& call) {
  Number a;
  return NumberOf(call, 0, &a) && ReturnFloat(call, a.AsFloat());
}

// --- functions of floats ---

template <double (*kFunction)(double)>
bool FloatFunction(KernelCall& call) {
  Number a;
  if (!NumberOf(call, 0, &a)) return false;
  const double result = kFunction(a.AsFloat());
  if (std::isnan(result) && !std::isnan(a.AsFloat())) {
    return call.Fail("the argument lies outside the function's domain");
  }
  return ReturnFloat(call, result);
}
double Sqrt(double x) { return std::sqrt(x); }
double Exp(double x) { return std::exp(x); }
double Log2(double x) { return x > 0 ? std::log2(x) : std::nan(""); }
double Log(double x) { return x > 0 ? std::log(x) : std::nan(""); }
double Cos(double x) { return std::cos(x); }
double Cosh(double x) { return std::cosh(x); }
double Sin(double x) { return std::sin(x); }
double Sinh(double x) { return std::sinh(x); }
double Tan(double x) { return std::tan(x); }
double Tanh(double x) { return std::tanh(x); }
double Asin(double x) { return std::asin(x); }
double Acos(double x) { return std::acos(x); }
double Atan(double x) { return std::atan(x); }

// --- torch.sym_* ---

// A float result when either is a float, as sympy's Max has it.
bool Extremum(KernelCall& call, bool want_max) {
  Number a, b;
  if (!NumberOf(call, 0, &a) || !NumberOf(call, 1, &b)) return false;
  const bool take_b = want_max ? Order(a, b) < 0 : Order(b, a) < 0;
  const Number& taken = take_b ? b : a;
  if (a.is_int && b.is_int) return ReturnInt(call, taken.i);
  return ReturnFloat(call, taken.AsFloat());
}
bool SymMax(KernelCall& call) { return Extremum(call, true); }
bool SymMin(KernelCall& call) { return Extremum(call, false); }

bool SymIte(KernelCall& call) {
  Number condition;
  if (!NumberOf(call, 0, &condition)) return false;
  call.Return(condition.IsZero() ? call.arg(2) : call.arg(1));
  return true;
}

bool SymSum(KernelCall& call) {
  if (!call.arg(0).is_list()) return call.Fail("sym_sum takes a list");
  std::optional<int64_t> sum = 0;
  for (const RuntimeValue& item : call.arg(0).list()) {
    if (!item.is_int() && !item.is_bool()) {
      return call.Fail("sym_sum adds integers");
    }
    if (sum) sum = CheckedAdd(*sum, ScalarAs<int64_t>(item));
  }
  return ReturnInt(call, sum);
}

bool GetItem(KernelCall& call) {
  Number index;
  if (!call.arg(0).is_list()) return call.Fail("getitem takes a list");
  if (!NumberOf(call, 1, &index)) return false;
  const auto& list = call.arg(0).list();
  const int64_t size = static_cast<int64_t>(list.size());
  const int64_t at = index.i < 0 ? index.i + size : index.i;
  if (!index.is_int || at < 0 || at >= size) {
    return call.Fail("the index is outside a list of " + std::to_string(size));
  }
  call.Return(list[static_cast<size_t>(at)]);
  return true;
}

struct PythonFunction {
  std::string_view name;
  int arity;
  Kernel kernel;
};

constexpr PythonFunction kFunctions[] = {
    {"_operator.add", 2, Arithmetic<CheckedAdd, AddFloats>},
    {"_operator.sub", 2, Arithmetic<CheckedSub, SubFloats>},
    {"_operator.mul", 2, Arithmetic<CheckedMul, MulFloats>},
    {"_operator.truediv", 2, TrueDivide},
    {"_operator.floordiv", 2, FloorDivide},
    {"_operator.mod", 2, Modulo},
    {"_operator.pow", 2, Power},
    {"_operator.neg", 1, Negate},
    {"_operator.pos", 1, Plus},
    {"_operator.abs", 1, Absolute},
    {"_operator.eq", 2, Comparison<std::is_eq>},
    {"_operator.ne", 2, Comparison<std::is_neq>},
    {"_operator.lt", 2, Comparison<std::is_lt>},
    {"_operator.le", 2, Comparison<std::is_lteq>},
    {"_operator.gt", 2, Comparison<std::is_gt>},
    {"_operator.ge", 2, Comparison<std::is_gteq>},
    {"_operator.and_", 2, Bitwise<And>},
    {"_operator.or_", 2, Bitwise<Or>},
    {"_operator.xor", 2, Bitwise<Xor>},
    {"_operator.invert", 1, Invert},
    {"_operator.lshift", 2, ShiftLeft},
    {"_operator.rshift", 2, ShiftRight},
    {"_operator.not_", 1, Not},
    {"_operator.truth", 1, Truth},
    {"_operator.getitem", 2, GetItem},
    {"math.ceil", 1, ToInt<Ceil>},
    {"math.floor", 1, ToInt<Floor>},
    {"math.trunc", 1, ToInt<Trunc>},
    {"math.sqrt", 1, FloatFunction<Sqrt>},
    {"builtins.round", 1, ToInt<RoundEven>},
    {"torch.sym_int", 1, ToInt<Trunc>},
    {"torch.sym_float", 1, ToFloat},
    {"torch.sym_max", 2, SymMax},
    {"torch.sym_min", 2, SymMin},
    {"torch.sym_not", 1, Not},
    {"torch.sym_ite", 3, SymIte},
    {"torch.sym_sum", 1, SymSum},
    {"torch._sym_sqrt", 1, FloatFunction<Sqrt>},
    {"torch._sym_exp", 1, FloatFunction<Exp>},
    {"torch._sym_log2", 1, FloatFunction<Log2>},
    {"torch._sym_log", 1, FloatFunction<Log>},
    {"torch._sym_cos", 1, FloatFunction<Cos>},
    {"torch._sym_cosh", 1, FloatFunction<Cosh>},
    {"torch._sym_sin", 1, FloatFunction<Sin>},
    {"torch._sym_sinh", 1, FloatFunction<Sinh>},
    {"torch._sym_tan", 1, FloatFunction<Tan>},
    {"torch._sym_tanh", 1, FloatFunction<Tanh>},
    {"torch._sym_asin", 1, FloatFunction<Asin>},
    {"torch._sym_acos", 1, FloatFunction<Acos>},
    {"torch._sym_atan", 1, FloatFunction<Atan>},
};

OpSchema SchemaOf(const PythonFunction& function) {
  OpSchema schema;
  schema.name = function.name;
  for (int i = 0; i < function.arity; ++i) {
    SchemaArg arg;
    arg.name = std::string(1, static_cast<char>('a' + i));
    schema.args.push_back(std::move(arg));
  }
  schema.returns.emplace_back();
  return schema;
}

}  // namespace

std::span<const KernelEntry> PythonFunctionKernels() {
  static const auto* entries = [] {
    auto* all = new std::vector<KernelEntry>();
    for (const PythonFunction& f : kFunctions) {
      all->push_back({f.name, f.kernel});
    }
    return all;
  }();
  return *entries;
}

const OpSchema* FindCallSchema(std::string_view name) {
  static const auto* functions = [] {
    auto* all = new std::map<std::string_view, OpSchema>();
    for (const PythonFunction& f : kFunctions) {
      all->emplace(f.name, SchemaOf(f));
    }
    return all;
  }();
  const auto at = functions->find(name);
  return at != functions->end() ? &at->second : FindSchema(name);
}

}  // namespace tenon
