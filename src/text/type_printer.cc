#include "text/type_printer.h"

#include <algorithm>

#include "text/spelling.h"

namespace tenon {
namespace {

template <typename IdType>
bool FirstTime(IdType id, std::vector<bool>* seen) {
  if (id.index >= seen->size()) seen->resize(id.index + size_t{1});
  if ((*seen)[id.index]) return false;
  (*seen)[id.index] = true;
  return true;
}

}  // namespace

TypePrinter::TypePrinter(Context* context)
    : context_(*context), hints_(context), is_for_messages_(true) {}

TypePrinter::TypePrinter(const Program& program)
    : context_(program.context()), hints_(&context_), is_for_messages_(false) {
  Gather(program);
}

void TypePrinter::Gather(const Program& program) {
  for (const SymbolRange& range : program.ranges) GatherExpr(range.expr);
  for (const StateEntry& entry : program.state.entries) GatherType(entry.type);
  for (const Delegate& d : program.delegates) {
    for (const TypeId type : d.inputs) GatherType(type);
    for (const TypeId type : d.outputs) GatherType(type);
  }
  for (uint32_t g = 0; g < program.num_graphs(); ++g) {
    if (program.graph(GraphId(g)).is_erased) continue;
    for (const ValueId v : program.graph(GraphId(g)).inputs) {
      GatherType(program.value(v).type);
    }
    for (const NodeId n : program.nodes(GraphId(g))) {
      const ValueRange results = program.node(n).results;
      for (uint32_t i = 0; i < results.count; ++i) {
        GatherType(program.value(results[i]).type);
      }
    }
  }
}

void TypePrinter::GatherType(TypeId id) {
  if (!id.valid() || !FirstTime(id, &seen_types_)) return;
  const Type& type = context_.types.get(id);
  const auto gather = [this](const SymInt& s) {
    if (s.is_literal()) return;
    GatherExpr(s.expr);
    // The first mention of a symbol alone says what its hint is.
    if (IsDeclared(s.expr) && s.has_hint && !hints_.Get(s.expr)) {
      hints_.Set(s.expr, s.value);
    }
  };
  for (const SymInt& s : type.sizes) gather(s);
  for (const SymInt& s : type.strides) gather(s);
  gather(type.storage_offset);
  if (type.kind == TypeKind::kSymInt) {
    gather(type.sym);
  } else if (type.sym.expr.valid()) {
    GatherExpr(type.sym.expr);
  }
}

void TypePrinter::GatherExpr(ExprId id) {
  if (!id.valid() || !FirstTime(id, &seen_exprs_)) return;
  const Expr& e = context_.exprs.get(id);
  if (e.kind == ExprKind::kSymbol) AddSymbol(id);
  for (const ExprId arg : e.args) GatherExpr(arg);
}

void TypePrinter::AddSymbol(ExprId symbol) {
  const std::string name(context_.view(context_.exprs.get(symbol).text));
  // A name that would read as something else is always written out in full.
  std::string error;
  size_t at = 0;
  SymbolScope alone = {{name, symbol}};
  if (!IsWord(name) || name.find('$') != std::string::npos ||
      context_.exprs.Parse(name, &alone, &error, &at) != symbol) {
    return;
  }
  if (scope_.try_emplace(name, symbol).second) symbols_.push_back(symbol);
}

bool TypePrinter::IsDeclared(ExprId id) const {
  const Expr& e = context_.exprs.get(id);
  if (e.kind != ExprKind::kSymbol) return false;
  const auto it = scope_.find(std::string(context_.view(e.text)));
  return it != scope_.end() && it->second == id;
}

bool TypePrinter::AreSymbolsDeclared(ExprId id) const {
  const Expr& e = context_.exprs.get(id);
  if (e.kind == ExprKind::kSymbol) return IsDeclared(id);
  return std::all_of(e.args.begin(), e.args.end(),
                     [this](ExprId arg) { return AreSymbolsDeclared(arg); });
}

// Infix where that reads back to the same expression, else in full.
std::string TypePrinter::ChooseText(ExprId id) {
  std::string infix = context_.exprs.PrintInfix(id);
  if (is_for_messages_) return infix;
  const bool is_short =
      infix.find("Symbol") == std::string::npos && AreSymbolsDeclared(id);
  std::string error;
  size_t at = 0;
  if (is_short && context_.exprs.Parse(infix, &scope_, &error, &at) == id) {
    return infix;
  }
  return context_.exprs.PrintSrepr(id);
}

const std::string& TypePrinter::Text(ExprId id) {
  if (id.index >= expr_texts_.size()) expr_texts_.resize(id.index + size_t{1});
  if (expr_texts_[id.index].empty()) {
    std::string text = ChooseText(id);
    expr_texts_[id.index] = std::move(text);
  }
  return expr_texts_[id.index];
}

const std::string& TypePrinter::Text(TypeId id) {
  static const std::string kNoType = "?";
  if (!id.valid()) return kNoType;
  if (id.index >= type_texts_.size()) type_texts_.resize(id.index + size_t{1});
  if (type_texts_[id.index].empty()) {
    std::string text;
    AppendType(context_.types.get(id), &text);
    type_texts_[id.index] = std::move(text);
  }
  return type_texts_[id.index];
}

void TypePrinter::AppendSymInt(const SymInt& s, std::string* out) {
  if (s.is_literal()) {
    AppendInt(s.value, out);
    return;
  }
  *out += Text(s.expr);
  if (is_for_messages_ || s == hints_.WithHint(s.expr)) return;
  if (s.has_hint) {
    *out += " hint ";
    AppendInt(s.value, out);
  } else {
    *out += " no_hint";
  }
}

void TypePrinter::AppendDims(const std::vector<SymInt>& dims,
                             std::string* out) {
  *out += '[';
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) *out += ", ";
    AppendSymInt(dims[i], out);
  }
  *out += ']';
}

bool TypePrinter::IsContiguous(const Type& type) {
  const auto usual = ContiguousStrides(&context_, &hints_, type.sizes);
  if (!usual) return false;
  return std::equal(usual->begin(), usual->end(), type.strides.begin(),
                    type.strides.end(), [&](const SymInt& a, const SymInt& b) {
                      if (!is_for_messages_ || a.is_literal()) return a == b;
                      return a.expr == b.expr;
                    });
}

void TypePrinter::AppendTensor(const Type& type, std::string* out) {
  *out += ShortName(type.dtype);
  AppendDims(type.sizes, out);
  if (!IsContiguous(type)) {
    *out += " strides ";
    AppendDims(type.strides, out);
  }
  if (type.storage_offset != SymInt::Literal(0)) {
    *out += " offset (";
    AppendSymInt(type.storage_offset, out);
    *out += ')';
  }
  if (context_.view(type.device.type) != "cpu" || type.device.index != -1) {
    *out += " device ";
    AppendWord(context_.view(type.device.type), out);
    if (type.device.index != -1) {
      *out += ':';
      AppendInt(type.device.index, out);
    }
  }
  if (type.layout != Layout::kStrided) {
    out->append(" layout ").append(Name(type.layout));
  }
  if (type.requires_grad) *out += " requires_grad";
}

void TypePrinter::AppendType(const Type& type, std::string* out) {
  switch (type.kind) {
    case TypeKind::kTensor:
      AppendTensor(type, out);
      return;
    case TypeKind::kSymInt:
      *out += "SymInt(";
      AppendSymInt(type.sym, out);
      *out += ')';
      return;
    case TypeKind::kSymFloat:
    case TypeKind::kSymBool: {
      const bool is_float = type.kind == TypeKind::kSymFloat;
      *out += is_float ? "SymFloat(" : "SymBool(";
      if (type.sym.expr.valid()) *out += Text(type.sym.expr);
      if (type.sym.has_hint || !type.sym.expr.valid()) {
        *out += type.sym.has_hint ? " hint " : "literal ";
        if (is_float) {
          AppendDouble(type.real, out);
        } else {
          *out += type.sym.value != 0 ? "True" : "False";
        }
      }
      *out += ')';
      return;
    }
    case TypeKind::kObject:
      *out += "object ";
      AppendQuoted(context_.view(type.text), out);
      return;
    case TypeKind::kNone:
      *out += "None";
      return;
    case TypeKind::kInt:
      *out += "int ";
      AppendInt(type.sym.value, out);
      return;
    case TypeKind::kFloat:
      *out += "float ";
      AppendDouble(type.real, out);
      return;
    case TypeKind::kBool:
      *out += type.sym.value != 0 ? "bool True" : "bool False";
      return;
    case TypeKind::kString:
      *out += "str ";
      AppendQuoted(context_.view(type.text), out);
      return;
  }
}

}  // namespace tenon
