#include "text/defaults.h"

#include <algorithm>

#include "support/checked.h"

namespace tenon {
namespace {

// Sizes with more dimensions or factors need their strides stated: working
// them out would take time with the square of their number.
constexpr size_t kMaxDefaultRank = 64;
constexpr size_t kMaxFactors = 64;

// A product: literal * base**power * ..., bases in the order of their text.
class Product {
 public:
  explicit Product(Context* context) : context_(*context) {}

  bool Multiply(const SymInt& size) {
    // A dimension of size 0 still counts as 1 for the strides before it.
    if (size.is_literal()) {
      return MultiplyLiteral(std::max<int64_t>(size.value, 1));
    }
    return MultiplyExpr(size.expr);
  }

  SymInt Value(HintTable* hints) const {
    if (factors_.empty()) return SymInt::Literal(literal_);
    std::vector<ExprId> items;
    if (literal_ != 1) items.push_back(context_.exprs.Integer(literal_));
    for (const Factor& f : factors_) {
      items.push_back(
          f.power == 1 ? f.base
                       : context_.exprs.Call(
                             "Pow", {f.base, context_.exprs.Integer(f.power)}));
    }
    return hints->WithHint(items.size() == 1
                               ? items[0]
                               : context_.exprs.Call("Mul", std::move(items)));
  }

 private:
  struct Factor {
    ExprId base;
    int64_t power;
  };

  bool MultiplyLiteral(int64_t v) {
    const auto product = CheckedMul(literal_, v);
    if (product) literal_ = *product;
    return product.has_value();
  }

  bool MultiplyExpr(ExprId id) {
    const Expr& e = context_.exprs.get(id);
    if (e.kind == ExprKind::kInteger) return MultiplyLiteral(e.a);
    if (e.kind == ExprKind::kCall && context_.view(e.text) == "Mul") {
      return std::all_of(e.args.begin(), e.args.end(), [&](ExprId arg) {
        const Expr& item = context_.exprs.get(arg);
        if (item.kind == ExprKind::kInteger) return MultiplyLiteral(item.a);
        return MultiplyPower(arg);
      });
    }
    return MultiplyPower(id);
  }

  bool MultiplyPower(ExprId id) {
    const Expr& e = context_.exprs.get(id);
    if (e.kind == ExprKind::kCall && context_.view(e.text) == "Pow" &&
        e.args.size() == 2) {
      const Expr& power = context_.exprs.get(e.args[1]);
      if (power.kind == ExprKind::kInteger && power.a > 0) {
        return AddFactor(e.args[0], power.a);
      }
    }
    return AddFactor(id, 1);
  }

  bool AddFactor(ExprId base, int64_t power) {
    auto at = factors_.begin();
    for (; at != factors_.end(); ++at) {
      if (at->base == base) {
        const auto sum = CheckedAdd(at->power, power);
        if (sum) at->power = *sum;
        return sum.has_value();
      }
      if (Precedes(base, at->base)) break;
    }
    factors_.insert(at, {base, power});
    return factors_.size() <= kMaxFactors;
  }

  // Symbols by name, before anything else.
  bool Precedes(ExprId a, ExprId b) const {
    const Expr& x = context_.exprs.get(a);
    const Expr& y = context_.exprs.get(b);
    const bool is_x_symbol = x.kind == ExprKind::kSymbol;
    if (is_x_symbol != (y.kind == ExprKind::kSymbol)) return is_x_symbol;
    return is_x_symbol && context_.view(x.text) < context_.view(y.text);
  }

  Context& context_;
  int64_t literal_ = 1;
  std::vector<Factor> factors_;
};

}  // namespace

void HintTable::Set(ExprId symbol, int64_t hint) {
  symbols_[symbol] = hint;
  known_.clear();
}

std::optional<int64_t> HintTable::Get(ExprId expr) {
  const auto [it, added] = known_.try_emplace(expr);
  if (added) {
    it->second = context_->exprs.EvaluateInt(
        expr, [&](ExprId symbol) -> std::optional<int64_t> {
          const auto s = symbols_.find(symbol);
          if (s == symbols_.end()) return std::nullopt;
          return s->second;
        });
  }
  return it->second;
}

std::optional<std::vector<SymInt>> ContiguousStrides(
    Context* context, HintTable* hints, const std::vector<SymInt>& sizes) {
  if (sizes.size() > kMaxDefaultRank) return std::nullopt;
  std::vector<SymInt> strides(sizes.size());
  Product product(context);
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = product.Value(hints);
    if (i > 0 && !product.Multiply(sizes[i])) return std::nullopt;
  }
  return strides;
}

namespace {

// What an item says about the list that holds it.
enum class ItemKind : uint8_t {
  kTensor,
  kNone,
  kInt,
  kSymInt,
  kFloat,
  kSymFloat,
  kBool,
  kSymBool,
  kString,
  kInts,
  kFloats,
  kTensors,
};

ItemKind KindOfValue(const Program& program, ValueId v) {
  if (!v.valid()) return ItemKind::kTensor;
  const TypeId type = program.value(v).type;
  if (!type.valid()) return ItemKind::kTensor;
  switch (program.type(type).kind) {
    case TypeKind::kSymInt:
    case TypeKind::kInt:
      return ItemKind::kSymInt;
    case TypeKind::kSymFloat:
    case TypeKind::kFloat:
      return ItemKind::kSymFloat;
    case TypeKind::kSymBool:
    case TypeKind::kBool:
      return ItemKind::kSymBool;
    case TypeKind::kString:
      return ItemKind::kString;
    case TypeKind::kTensor:
    case TypeKind::kObject:
    case TypeKind::kNone:
      return ItemKind::kTensor;
  }
  return ItemKind::kTensor;
}

ItemKind KindOfItem(const Program& program, const Arg& item) {
  switch (item.kind) {
    case ArgKind::kValue:
      return KindOfValue(program, item.v.value);
    case ArgKind::kInt:
      return ItemKind::kInt;
    case ArgKind::kFloat:
      return ItemKind::kFloat;
    case ArgKind::kBool:
      return ItemKind::kBool;
    case ArgKind::kString:
      return ItemKind::kString;
    case ArgKind::kNone:
      return ItemKind::kNone;
    case ArgKind::kList:
      if (item.list_tag == ListTag::kInts) return ItemKind::kInts;
      if (item.list_tag == ListTag::kFloats) return ItemKind::kFloats;
      return ItemKind::kTensors;
    case ArgKind::kComplex:
    case ArgKind::kDtype:
    case ArgKind::kLayout:
    case ArgKind::kMemoryFormat:
    case ArgKind::kDevice:
    case ArgKind::kGraph:
    case ArgKind::kOperator:
    case ArgKind::kObject:
    case ArgKind::kDict:
      return ItemKind::kTensor;
  }
  return ItemKind::kTensor;
}

}  // namespace

ListTag DefaultListTag(const Program& program, std::span<const Arg> items) {
  if (items.empty()) return ListTag::kInts;
  uint32_t seen = 0;
  for (const Arg& item : items) {
    seen |= 1u << static_cast<int>(KindOfItem(program, item));
  }
  const auto has = [&](ItemKind kind) {
    return (seen >> static_cast<int>(kind) & 1) != 0;
  };
  if (has(ItemKind::kInts)) return ListTag::kIntLists;
  if (has(ItemKind::kFloats)) return ListTag::kFloatLists;
  if (has(ItemKind::kTensors)) return ListTag::kNestedTensors;
  if (has(ItemKind::kNone)) return ListTag::kOptionalTensors;
  if (has(ItemKind::kTensor)) return ListTag::kTensors;
  if (has(ItemKind::kSymInt)) return ListTag::kSymInts;
  if (has(ItemKind::kSymFloat)) return ListTag::kSymFloats;
  if (has(ItemKind::kSymBool)) return ListTag::kSymBools;
  if (has(ItemKind::kFloat)) return ListTag::kFloats;
  if (has(ItemKind::kInt)) return ListTag::kInts;
  if (has(ItemKind::kBool)) return ListTag::kBools;
  return ListTag::kStrings;
}

StringId ParameterNames::Get(OpId op, size_t position) {
  if (op.index >= by_op_.size()) by_op_.resize(op.index + size_t{1});
  Entry& entry = by_op_[op.index];
  if (!entry.known) {
    entry.known = true;
    if (const OpSchema* schema = context_->op(op).schema) {
      for (const SchemaArg& arg : schema->args) {
        entry.names.push_back(context_->Intern(arg.name));
      }
    } else if (context_->op(op).is_python_function) {
      entry.names = {context_->Intern("a"), context_->Intern("b")};
    }
  }
  return position < entry.names.size() ? entry.names[position] : StringId();
}

}  // namespace tenon
