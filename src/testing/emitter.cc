#include "testing/emitter.h"

#include <algorithm>
#include <utility>

namespace tenon::testing {

Operand Operand::List(ListTag tag, std::vector<Operand> items) {
  Operand out;
  out.is_list = true;
  out.literal = Arg::OfList(tag, {});
  out.items = std::move(items);
  return out;
}

Operand Operand::Ints(std::vector<Operand> items) {
  const bool is_symbolic =
      std::any_of(items.begin(), items.end(),
                  [](const Operand& o) { return o.value.valid(); });
  return List(is_symbolic ? ListTag::kSymInts : ListTag::kInts,
              std::move(items));
}

Operand Operand::Tensors(std::span<const ValueId> values) {
  return List(ListTag::kTensors, {values.begin(), values.end()});
}

Operand Operand::OptionalTensors(std::vector<Operand> items) {
  return List(ListTag::kOptionalTensors, std::move(items));
}

StringId Emitter::ParameterName(OpId op, size_t position) {
  std::vector<StringId>& names = parameters_[op];
  Context& context = program_->context();
  if (names.empty()) {
    const OpInfo& info = context.op(op);
    if (info.schema != nullptr) {
      for (const SchemaArg& arg : info.schema->args) {
        names.push_back(context.Intern(arg.name));
      }
    } else if (info.is_python_function) {
      names = {context.Intern("a"), context.Intern("b")};
    }
    names.push_back(context.Intern(""));
  }
  return names[std::min(position, names.size() - 1)];
}

void Emitter::Set(ArgId at, NodeId user, const Operand& operand) {
  if (operand.value.valid()) {
    program_->SetValueArg(at, user, operand.value);
    return;
  }
  Arg literal = operand.literal;
  if (operand.is_list) {
    literal.list =
        program_->NewArgs(static_cast<uint32_t>(operand.items.size()));
    for (size_t i = 0; i < operand.items.size(); ++i) {
      Set(literal.list[i], user, operand.items[i]);
    }
  }
  program_->SetArg(at, literal, /*keep_label=*/true);
}

NodeId Emitter::Append(NodeId node, std::span<const TypeId> results) {
  const ValueRange values =
      program_->NewResults(node, static_cast<uint32_t>(results.size()));
  for (size_t i = 0; i < results.size(); ++i) {
    program_->mutable_value(values[i]).type = results[i];
  }
  program_->Append(graph_, node);
  return node;
}

NodeId Emitter::Emit(OpId op, std::span<const Operand> positional,
                     std::span<const Keyword> keywords,
                     std::span<const TypeId> results) {
  const NodeId node = program_->NewOp(op, StringId());
  const ArgRange args = program_->NewArgs(
      static_cast<uint32_t>(positional.size() + keywords.size()));
  program_->SetArgRange(node, args);
  for (size_t i = 0; i < positional.size(); ++i) {
    program_->SetArgLabel(args[i], ParameterName(op, i), PassKind::kPositional);
    Set(args[i], node, positional[i]);
  }
  for (size_t i = 0; i < keywords.size(); ++i) {
    const ArgId at = args[positional.size() + i];
    program_->SetArgLabel(at, program_->context().Intern(keywords[i].name),
                          PassKind::kKeyword);
    Set(at, node, keywords[i].operand);
  }
  return Append(node, results);
}

NodeId Emitter::Emit(std::string_view op,
                     std::initializer_list<Operand> positional,
                     std::initializer_list<Keyword> keywords,
                     std::initializer_list<TypeId> results) {
  return Emit(
      program_->context().InternOp(op), {positional.begin(), positional.size()},
      {keywords.begin(), keywords.size()}, {results.begin(), results.size()});
}

ValueId Emitter::Emit(std::string_view op,
                      std::initializer_list<Operand> positional, TypeId type,
                      std::initializer_list<Keyword> keywords) {
  return result(Emit(op, positional, keywords, {type}));
}

NodeId Emitter::EmitListReturn(std::string_view op,
                               std::initializer_list<Operand> positional,
                               std::span<const TypeId> results) {
  Context& context = program_->context();
  const NodeId node =
      Emit(context.InternOp(op), {positional.begin(), positional.size()}, {},
           results);
  program_->mutable_node(node).form = context.InternForm(
      {{FormItem::Kind::kList, static_cast<uint32_t>(results.size())}});
  return node;
}

NodeId Emitter::EmitCall(GraphId child, std::span<const ValueId> operands,
                         std::span<const TypeId> results) {
  const NodeId node = program_->NewNode(NodeKind::kChildCall);
  program_->mutable_node(node).child = child;
  const ArgRange args =
      program_->NewArgs(static_cast<uint32_t>(operands.size()));
  program_->SetArgRange(node, args);
  for (size_t i = 0; i < operands.size(); ++i) {
    program_->SetArgLabel(args[i], StringId(), PassKind::kPositional);
    program_->SetValueArg(args[i], node, operands[i]);
  }
  return Append(node, results);
}

void Emitter::Return(std::span<const Operand> operands) {
  const NodeId output = program_->graph(graph_).output;
  const ArgRange args =
      program_->NewArgs(static_cast<uint32_t>(operands.size()));
  program_->SetOutputs(graph_, args);
  for (size_t i = 0; i < operands.size(); ++i) {
    Set(args[i], output, operands[i]);
  }
}

TypeId TensorType(Context& context, DType dtype,
                  std::span<const int64_t> sizes) {
  Type type;
  type.kind = TypeKind::kTensor;
  type.dtype = dtype;
  type.device.type = context.Intern("cpu");
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    type.sizes.insert(type.sizes.begin(), SymInt::Literal(sizes[i]));
    type.strides.insert(type.strides.begin(), SymInt::Literal(stride));
    stride *= std::max<int64_t>(sizes[i], 1);
  }
  return context.types.Intern(std::move(type));
}

TypeId TensorType(Context& context, DType dtype,
                  std::initializer_list<int64_t> sizes) {
  return TensorType(context, dtype,
                    std::span<const int64_t>(sizes.begin(), sizes.size()));
}

}  // namespace tenon::testing
