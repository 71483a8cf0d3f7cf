#include "ir/expr.h"

#include <cmath>

namespace tenon {
namespace {

uint64_t HashExpr(const Expr& e) {
  uint64_t h = static_cast<uint64_t>(e.kind);
  const auto mix = [&h](uint64_t v) {
    h = (h ^ v) * 0x9E3779B97F4A7C15ull;
    h ^= h >> 29;
  };
  mix(static_cast<uint64_t>(e.a));
  mix(static_cast<uint64_t>(e.b));
  mix(e.text.index);
  mix(e.assumptions.index);
  for (const ExprId arg : e.args) mix(arg.index);
  return h;
}

}  // namespace

double ExprValue::ToDouble() const {
  switch (kind) {
    case Kind::kRational:
      return static_cast<double>(numerator) / static_cast<double>(denominator);
    case Kind::kFloat:
      return real;
    case Kind::kBool:
      return truth ? 1 : 0;
  }
  return 0;
}

ExprId ExprPool::Intern(Expr expr) {
  const uint64_t hash = HashExpr(expr);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (get(it->second) == expr) return it->second;
  }
  const ExprId id(exprs_.size());
  exprs_.push_back(std::move(expr));
  by_hash_.emplace(hash, id);
  return id;
}

ExprId ExprPool::Integer(int64_t value) {
  Expr e;
  e.kind = ExprKind::kInteger;
  e.a = value;
  return Intern(std::move(e));
}

ExprId ExprPool::Symbol(std::string_view name, std::string_view assumptions) {
  Expr e;
  e.kind = ExprKind::kSymbol;
  e.text = strings_->Intern(name);
  e.assumptions = strings_->Intern(assumptions);
  return Intern(std::move(e));
}

ExprId ExprPool::Call(std::string_view function, std::vector<ExprId> args) {
  Expr e;
  e.kind = ExprKind::kCall;
  e.text = strings_->Intern(function);
  e.args = std::move(args);
  return Intern(std::move(e));
}

std::optional<int64_t> ExprPool::EvaluateInt(ExprId id,
                                             const Bindings& bindings) const {
  const auto value = Evaluate(id, bindings);
  if (!value) return std::nullopt;
  if (value->is_int()) return value->numerator;
  if (value->kind == ExprValue::Kind::kFloat &&
      std::trunc(value->real) == value->real && std::fabs(value->real) < 9e15) {
    return static_cast<int64_t>(value->real);
  }
  return std::nullopt;
}

void ExprPool::CollectSymbols(ExprId id, std::vector<ExprId>* out) const {
  const Expr& e = get(id);
  if (e.kind == ExprKind::kSymbol) {
    for (const ExprId seen : *out) {
      if (seen == id) return;
    }
    out->push_back(id);
  }
  for (const ExprId arg : e.args) CollectSymbols(arg, out);
}

ExprId ExprPool::Substitute(ExprId id,
                            const std::unordered_map<ExprId, ExprId>& map) {
  const auto at = map.find(id);
  if (at != map.end()) return at->second;
  if (get(id).kind != ExprKind::kCall) return id;
  Expr copy = get(id);
  bool is_changed = false;
  for (ExprId& arg : copy.args) {
    const ExprId replaced = Substitute(arg, map);
    is_changed = is_changed || replaced != arg;
    arg = replaced;
  }
  return is_changed ? Intern(std::move(copy)) : id;
}

}  // namespace tenon
