#include "lower/node_builder.h"

#include <algorithm>

#include "support/checked.h"

namespace tenon::lower {
namespace {

// a * b; nothing is simplified but literals.
SymInt Product(const SymInt& a, const SymInt& b, Context* context) {
  if (a.is_literal() && b.is_literal()) {
    return SymInt::Literal(CheckedMul(a.value, b.value).value_or(0));
  }
  if (a.is_literal() && a.value == 1) return b;
  if (b.is_literal() && b.value == 1) return a;
  const auto expr_of = [&](const SymInt& s) {
    return s.is_literal() ? context->exprs.Integer(s.value) : s.expr;
  };
  const ExprId e = context->exprs.Call("Mul", {expr_of(a), expr_of(b)});
  std::optional<int64_t> hint;
  if ((a.is_literal() || a.has_hint) && (b.is_literal() || b.has_hint)) {
    hint = CheckedMul(a.value, b.value);
  }
  return SymInt::Symbolic(e, hint);
}

bool SameSize(const SymInt& a, const SymInt& b) {
  return a.is_literal() ? b.is_literal() && a.value == b.value
                        : a.expr == b.expr;
}

}  // namespace

Operand Operand::List(ListTag tag, std::vector<Operand> items) {
  Operand out;
  out.is_list = true;
  out.tag = tag;
  out.items = std::move(items);
  return out;
}

Operand Operand::Ints(std::span<const int64_t> values) {
  std::vector<Operand> items;
  for (const int64_t v : values) items.push_back(Int(v));
  return List(ListTag::kInts, std::move(items));
}

Operand Operand::Sizes(std::vector<Operand> items) {
  const bool is_literal =
      std::all_of(items.begin(), items.end(),
                  [](const Operand& o) { return o.literal_int().has_value(); });
  return List(is_literal ? ListTag::kInts : ListTag::kSymInts,
              std::move(items));
}

Operand Operand::Tensors(std::span<const ValueId> values) {
  std::vector<Operand> items(values.begin(), values.end());
  return List(ListTag::kTensors, std::move(items));
}

Type Contiguous(const Type& type, Context* context) {
  Type out = type;
  out.storage_offset = SymInt::Literal(0);
  SymInt step = SymInt::Literal(1);
  out.strides.assign(out.sizes.size(), step);
  for (size_t d = out.sizes.size(); d-- > 0;) {
    out.strides[d] = step;
    const bool is_empty = out.sizes[d].is_literal() && out.sizes[d].value == 0;
    if (!is_empty) step = Product(step, out.sizes[d], context);
  }
  return out;
}

bool IsContiguous(const Type& type, Context* context) {
  const Type wanted = Contiguous(type, context);
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    if (type.sizes[d].is_literal() && type.sizes[d].value == 0) return true;
  }
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    if (type.sizes[d].is_literal() && type.sizes[d].value == 1) continue;
    const SymInt &a = type.strides[d], &b = wanted.strides[d];
    if (SameSize(a, b)) continue;
    // Spelled otherwise, "2*s0" and "s0*2": told apart by the example's value.
    const bool is_hinted =
        (a.is_literal() || a.has_hint) && (b.is_literal() || b.has_hint);
    if (!is_hinted || a.value != b.value) return false;
  }
  return true;
}

NodeBuilder::NodeBuilder(Program* program, GraphId graph, NodeId source)
    : program_(*program), graph_(graph), source_(source) {}

TypeId NodeBuilder::TensorType(DType dtype, const Shape& sizes) {
  Type type;
  type.kind = TypeKind::kTensor;
  type.dtype = dtype;
  type.device.type = program_.context().Intern("cpu");
  type.sizes = sizes;
  return program_.context().types.Intern(Contiguous(type, &program_.context()));
}

TypeId NodeBuilder::TypeLike(ValueId v, DType dtype) {
  Type type = TypeOf(v);
  if (!type.is_tensor()) return program_.value(v).type;
  if (dtype != DType::kUnknown) type.dtype = dtype;
  return program_.context().types.Intern(Contiguous(type, &program_.context()));
}

namespace {

PassKind PassOf(const SchemaArg& parameter) {
  return parameter.keyword_only ? PassKind::kKeyword : PassKind::kPositional;
}

}  // namespace

NodeId NodeBuilder::NewNode(std::string_view op) {
  const NodeId n = program_.NewOp(program_.context().InternOp(op), StringId());
  Node& node = program_.mutable_node(n);
  node.metadata = program_.node(source_).metadata;
  node.region = program_.node(source_).region;
  return n;
}

void NodeBuilder::SetOperand(ArgId at, NodeId user, const Operand& operand) {
  if (operand.value.valid()) {
    program_.SetValueArg(at, user, operand.value);
  } else if (operand.is_list) {
    const ArgRange items =
        program_.NewArgs(static_cast<uint32_t>(operand.items.size()));
    for (uint32_t i = 0; i < items.count; ++i) {
      SetOperand(items[i], user, operand.items[i]);
    }
    program_.SetArg(at, Arg::OfList(operand.tag, items), /*keep_label=*/true);
  } else {
    program_.SetArg(at, operand.literal, /*keep_label=*/true);
  }
}

std::vector<ValueId> NodeBuilder::Finish(NodeId n,
                                         std::span<const TypeId> types) {
  const ValueRange results =
      program_.NewResults(n, static_cast<uint32_t>(types.size()));
  std::vector<ValueId> out;
  for (uint32_t i = 0; i < results.count; ++i) {
    program_.mutable_value(results[i]).type = types[i];
    out.push_back(results[i]);
  }
  program_.InsertBefore(graph_, source_, n);
  return out;
}

ValueId NodeBuilder::Call(std::string_view op, std::vector<Operand> operands,
                          std::initializer_list<Named> named, TypeId type) {
  const NodeId n = NewNode(op);
  const OpSchema* schema = program_.schema(n);
  TENON_ASSERT(schema != nullptr, "rewrites call operators with schemas");
  TENON_ASSERT(operands.size() <= schema->args.size(),
               "rewrites pass no more than the schema takes");
  const auto positional = static_cast<uint32_t>(operands.size());
  const ArgRange args =
      program_.NewArgs(positional + static_cast<uint32_t>(named.size()));
  program_.SetArgRange(n, args);
  for (uint32_t i = 0; i < positional; ++i) {
    program_.SetArgLabel(args[i],
                         program_.context().Intern(schema->args[i].name),
                         PassOf(schema->args[i]));
    SetOperand(args[i], n, operands[i]);
  }
  uint32_t at = positional;
  for (const auto& [name, operand] : named) {
    program_.SetArgLabel(args[at], program_.context().Intern(name),
                         PassKind::kKeyword);
    SetOperand(args[at++], n, operand);
  }
  return Finish(n, {&type, 1})[0];
}

ValueId NodeBuilder::Call(std::string_view op, std::vector<Operand> operands,
                          TypeId type) {
  return Call(op, std::move(operands), {}, type);
}

std::vector<ValueId> NodeBuilder::CallMany(std::string_view op,
                                           std::vector<Operand> operands,
                                           std::span<const TypeId> types) {
  const NodeId n = NewNode(op);
  const OpSchema* schema = program_.schema(n);
  TENON_ASSERT(schema != nullptr, "rewrites call operators with schemas");
  const ArgRange args =
      program_.NewArgs(static_cast<uint32_t>(operands.size()));
  program_.SetArgRange(n, args);
  for (uint32_t i = 0; i < args.count; ++i) {
    program_.SetArgLabel(args[i],
                         program_.context().Intern(schema->args[i].name),
                         PassOf(schema->args[i]));
    SetOperand(args[i], n, operands[i]);
  }
  if (schema->returns.size() == 1 && schema->returns[0].is_list) {
    FormItem item;
    item.kind = FormItem::Kind::kList;
    item.list_size = static_cast<uint32_t>(types.size());
    program_.mutable_node(n).form = program_.context().InternForm({item});
  }
  return Finish(n, types);
}

ValueId NodeBuilder::CallPython(std::string_view op,
                                std::vector<Operand> operands, TypeId type) {
  const NodeId n = NewNode(op);
  const ArgRange args =
      program_.NewArgs(static_cast<uint32_t>(operands.size()));
  program_.SetArgRange(n, args);
  for (uint32_t i = 0; i < args.count; ++i) SetOperand(args[i], n, operands[i]);
  return Finish(n, {&type, 1})[0];
}

SymInt NodeBuilder::ProductOf(const Shape& sizes) {
  SymInt product = SymInt::Literal(1);
  for (const SymInt& size : sizes) {
    product = Product(product, size, &program_.context());
  }
  return product;
}

SymInt NodeBuilder::SumOf(const SymInt& a, const SymInt& b) {
  Context& context = program_.context();
  if (a.is_literal() && b.is_literal()) {
    return SymInt::Literal(CheckedAdd(a.value, b.value).value_or(0));
  }
  const auto expr_of = [&](const SymInt& s) {
    return s.is_literal() ? context.exprs.Integer(s.value) : s.expr;
  };
  std::optional<int64_t> hint;
  if ((a.is_literal() || a.has_hint) && (b.is_literal() || b.has_hint)) {
    hint = CheckedAdd(a.value, b.value);
  }
  return SymInt::Symbolic(context.exprs.Call("Add", {expr_of(a), expr_of(b)}),
                          hint);
}

Operand NodeBuilder::AddInts(const Operand& a, const Operand& b) {
  Context& context = program_.context();
  if (a.literal_int() && b.literal_int()) {
    return Operand::Int(
        CheckedAdd(*a.literal_int(), *b.literal_int()).value_or(INT64_MAX));
  }
  const auto expr_of = [&](const Operand& o) {
    if (!o.value.valid()) {
      return context.exprs.Integer(o.literal_int().value_or(0));
    }
    const SymInt& sym = program_.type(o.value).sym;
    return sym.is_literal() ? context.exprs.Integer(sym.value) : sym.expr;
  };
  Type type;
  type.kind = TypeKind::kSymInt;
  type.sym = SymInt::Symbolic(
      context.exprs.Call("Add", {expr_of(a), expr_of(b)}), std::nullopt);
  return CallPython("_operator.add", {a, b}, context.types.Intern(type));
}

Operand NodeBuilder::Size(ValueId v, int64_t d) {
  const SymInt size = TypeOf(v).sizes[static_cast<size_t>(d)];
  if (size.is_literal()) return Operand::Int(size.value);
  Type type;
  type.kind = TypeKind::kSymInt;
  type.sym = size;
  return Call("aten.sym_size.int", {v, Operand::Int(d)},
              program_.context().types.Intern(type));
}

std::optional<Operand> NodeBuilder::Sizes(const Shape& sizes,
                                          std::span<const ValueId> from) {
  std::vector<Operand> items;
  bool has_open = false;
  for (const SymInt& size : sizes) {
    if (size.is_literal()) {
      items.push_back(Operand::Int(size.value));
      continue;
    }
    std::optional<Operand> found;
    for (const ValueId v : from) {
      const Type& type = TypeOf(v);
      if (!type.is_tensor() || found) continue;
      for (size_t d = 0; d < type.sizes.size(); ++d) {
        if (!SameSize(type.sizes[d], size)) continue;
        found = Size(v, static_cast<int64_t>(d));
        break;
      }
    }
    if (!found && has_open) return std::nullopt;
    if (!found) has_open = true;
    items.push_back(found.value_or(Operand::Int(-1)));
  }
  return Operand::Sizes(std::move(items));
}

std::optional<ValueId> NodeBuilder::Reshape(ValueId v, const Shape& sizes) {
  const Type& type = TypeOf(v);
  if (std::equal(type.sizes.begin(), type.sizes.end(), sizes.begin(),
                 sizes.end(), SameSize)) {
    return v;
  }
  const DType dtype = type.dtype;
  const std::optional<Operand> list = Sizes(sizes, {&v, 1});
  if (!list) return std::nullopt;
  return Call("aten.view_copy.default", {v, *list}, TensorType(dtype, sizes));
}

ValueId NodeBuilder::Cast(ValueId v, DType dtype) {
  if (TypeOf(v).dtype == dtype) return v;
  return Call("aten._to_copy.default", {v}, {{"dtype", Operand::Dtype(dtype)}},
              TypeLike(v, dtype));
}

ValueId NodeBuilder::Scalar(const Arg& number, DType dtype) {
  return Call("aten.full.default",
              {Operand::List(ListTag::kInts, {}), Operand(number)},
              {{"dtype", Operand::Dtype(dtype)}}, TensorType(dtype, {}));
}

ValueId NodeBuilder::Permute(ValueId v, std::span<const int64_t> dims) {
  const Type& type = TypeOf(v);
  Shape sizes;
  for (const int64_t d : dims) sizes.push_back(type.sizes[d]);
  const DType dtype = type.dtype;
  return Call("aten.permute_copy.default", {v, Operand::Ints(dims)},
              TensorType(dtype, sizes));
}

}  // namespace tenon::lower
